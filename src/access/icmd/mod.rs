//! ICMD: commands to the firmware through a mailbox (device-access 3.2, 3.3).
//!
//! Reached through space 3 of the vendor-specific capability and through nothing else: the same
//! addresses in CR space are other registers (burn 11.4). The semaphore of the mailbox is held
//! from the first dword to the last and freed on every path; the capability's own semaphore is
//! let go whenever there is something to wait for.

mod error;
mod mailbox;

pub use error::IcmdError;

use mailbox::Mailbox;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::frame::{self, Head};
use super::semaphore::Semaphore;
use super::space::Space;
use super::vsec::{Session, Vsec};
use super::{Method, RegisterAccess, RegisterError, Way};
use crate::bytes::bits;
use crate::model::Model;

const MAX_MAILBOX: u32 = 0x1000;
const MAILBOX: u32 = 0x10_0000;

/// Mailbox size where it cannot be read, bytes.
const DEFAULT_MAILBOX: u32 = 0x340;
/// A size beyond this is not believed, bytes.
const LARGEST_MAILBOX: u32 = 0x10_0000;

const ACCESS_REGISTER: u32 = 0x9001;

/// TLV status "busy": send again.
const TLV_BUSY: u8 = 0x1;
/// TLV status "register not supported": on a twin-space device the other half may have it.
const TLV_NOT_SUPPORTED: u8 = 0x4;

/// Where CR space says that the firmware is not configured: address and bit (device-access 3.2).
/// `None` for chips without ICMD or not in the table.
#[must_use]
pub const fn configuration_flag(model: &Model) -> Option<(u32, u32)> {
    match model.hw_id {
        // Connect-IB, ConnectX-4, -4 Lx
        0x1ff | 0x209 | 0x20b => Some((0xb_0004, 31)),
        // ConnectX-5, BlueField
        0x20d | 0x211 => Some((0xb_5e04, 31)),
        // ConnectX-6 to -7, BlueField-2 to -4
        0x20f | 0x212 | 0x214 | 0x216 | 0x218 | 0x21c | 0x220 => Some((0xb_5f04, 31)),
        // ConnectX-8, -9
        0x21e | 0x224 => Some((0xa_0304, 31)),
        // Switch-IB, Spectrum, Switch-IB 2
        0x247 | 0x249 | 0x24b => Some((0x8_0010, 0)),
        // Quantum, Quantum-2, Spectrum-2 to -4
        0x24d | 0x24e | 0x250 | 0x254 | 0x257 => Some((0x10_0010, 0)),
        _ => None,
    }
}

/// One half of a twin-space device: where mailbox and semaphore are.
#[derive(Clone, Copy)]
struct Half {
    mailbox: Space,
    semaphore: Semaphore,
}

const OWN: Half = Half {
    mailbox: Space::Icmd,
    semaphore: Semaphore::ICMD,
};
const PCI: Half = Half {
    mailbox: Space::PciIcmd,
    semaphore: Semaphore {
        space: Space::PciSemaphores,
        ..Semaphore::ICMD
    },
};

/// The command interface of one function.
#[derive(Debug)]
pub struct Icmd {
    vsec: Arc<Vsec>,
    configuration: (u32, u32),
    token: u32,
    mailbox_size: OnceLock<u32>,
    transaction: AtomicU64,
    /// All threads share the token, so the semaphore does not keep them apart.
    turn: Mutex<()>,
}

impl Icmd {
    /// The command interface behind `vsec`; `None` when the chip has none or its firmware does
    /// not run (space 3 is not there).
    #[must_use]
    pub fn new(vsec: &Arc<Vsec>, model: &Model, token: u32) -> Option<Self> {
        vsec.spaces().choose(Space::Icmd)?;
        Some(Self {
            vsec: vsec.clone(),
            configuration: configuration_flag(model)?,
            token,
            mailbox_size: OnceLock::new(),
            transaction: AtomicU64::new(u64::from(token) << 32),
            turn: Mutex::new(()),
        })
    }

    /// Sends `request` and reads the parts of the answer in `reply`: dword offset in the mailbox
    /// and room for the dwords there.
    fn command(
        &self,
        half: Half,
        opcode: u32,
        request: &[u32],
        reply: &mut [(u32, &mut [u32])],
    ) -> Result<(), IcmdError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut session = self.vsec.hold()?;
        self.check_size(&mut session, half, request.len() * 4)?;
        self.await_configuration(&mut session)?;
        let mut mailbox = Mailbox::take(self, half, session)?;
        mailbox.submit(opcode, request)?;
        mailbox.await_answer(opcode)?;
        for (offset, dwords) in reply {
            mailbox.read(MAILBOX + *offset * 4, dwords)?;
        }
        Ok(mailbox.finish()?)
    }

    /// Step 1 of device-access 3.3.
    fn check_size(
        &self,
        session: &mut Session<'_>,
        half: Half,
        bytes: usize,
    ) -> Result<(), IcmdError> {
        let limit = match self.mailbox_size.get() {
            Some(&size) => size,
            None => {
                let size = session.read(half.mailbox, MAX_MAILBOX)?;
                let believable = (1..=LARGEST_MAILBOX).contains(&size);
                let size = if believable { size } else { DEFAULT_MAILBOX };
                *self.mailbox_size.get_or_init(|| size)
            }
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        if bytes <= limit {
            Ok(())
        } else {
            Err(IcmdError::TooLong {
                device: self.vsec.device(),
                bytes,
                limit,
            })
        }
    }

    /// Step 2: the flag must be clear; after a reset it takes a while.
    fn await_configuration(&self, session: &mut Session<'_>) -> Result<(), IcmdError> {
        let (address, bit) = self.configuration;
        let patience = self.vsec.patience();
        for attempt in 0..patience.configuration_tries {
            if attempt > 0 {
                session.rest(patience.configuration_pause)?;
            }
            if bits(session.read(Space::Cr, address)?, bit, bit) == 0 {
                return Ok(());
            }
        }
        Err(IcmdError::NotReady {
            device: self.vsec.device(),
            address,
            bit,
        })
    }

    /// Sends a register once and returns the status of the answer; `image` takes the first
    /// `reply` bytes of it.
    fn exchange(
        &self,
        half: Half,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<u8, IcmdError> {
        let transaction = self.transaction.fetch_add(1, Ordering::Relaxed);
        let request = frame::build(id, method, transaction, image);
        let mut head = [0; frame::HEAD_DWORDS];
        let mut answer = vec![0; reply.min(image.len()).div_ceil(4)];
        let body_offset = u32::try_from(frame::HEADER_DWORDS).unwrap_or(0);
        self.command(
            half,
            ACCESS_REGISTER,
            &request,
            &mut [(0, &mut head), (body_offset, &mut answer)],
        )?;
        let head = Head::parse(head);
        if head.id != id {
            return Err(IcmdError::Echo {
                device: self.vsec.device(),
                expected: id,
                found: head.id,
            });
        }
        if head.status == 0 {
            let bytes = answer.iter().flat_map(|dword| dword.to_be_bytes());
            for (byte, new) in image.iter_mut().zip(bytes) {
                *byte = new;
            }
        }
        Ok(head.status)
    }

    fn send_register(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<u8, IcmdError> {
        let bytes = image.len();
        let device = || self.vsec.device();
        if !bytes.is_multiple_of(4) {
            return Err(IcmdError::Ragged {
                device: device(),
                bytes,
            });
        }
        if bytes > frame::MAX_IMAGE {
            return Err(IcmdError::TooLong {
                device: device(),
                bytes,
                limit: frame::MAX_IMAGE,
            });
        }
        let patience = self.vsec.patience();
        let mut half = OWN;
        let mut status = TLV_BUSY;
        for attempt in 0..patience.busy_register_tries {
            if attempt > 0 {
                std::thread::sleep(patience.busy_register_pause);
            }
            status = self.exchange(half, id, method, image, reply)?;
            if status == TLV_NOT_SUPPORTED && self.vsec.spaces().contains(PCI.mailbox) {
                half = PCI;
                status = self.exchange(half, id, method, image, reply)?;
            }
            if status != TLV_BUSY {
                break;
            }
        }
        Ok(status)
    }
}

impl RegisterAccess for Icmd {
    fn send(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<(), RegisterError> {
        let status = self
            .send_register(id, method, image, reply)
            .map_err(|error| RegisterError::Transport {
                register: id,
                reason: Box::new(error),
            })?;
        if status == 0 {
            Ok(())
        } else {
            Err(RegisterError::Status {
                register: id,
                method,
                status,
            })
        }
    }

    fn way(&self) -> Way {
        Way::Vsec
    }
}
