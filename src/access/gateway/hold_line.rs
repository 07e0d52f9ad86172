//! Making the flash of a chip in recovery listen, before the first command (burn 8.6).
//!
//! Firmware sets these lines up when it starts; where none starts, a tool has to. Each write here
//! is what the reference tool does on such chips; none is made while firmware runs.

use crate::access::cr::{Cr, Session};
use crate::access::error::AccessError;
use crate::access::space::Space;
use crate::bytes::with_bits;
use crate::model::Model;

/// ConnectX-3: where the boot ROM waits; above [`BOOT_ROM`] it found no image.
const PROGRAM_COUNTER: u32 = 0x4_1270;
const BOOT_ROM: u32 = 0xfff0_0000;
/// ConnectX-3: what the chip does when the link goes down, `[28:27]`; 2 = no reset. The link of a
/// chip in recovery is not stable.
const LINK_DOWN: u32 = 0xf_3834;
const NO_RESET: u32 = 2;

/// Opens the GPIO registers of ConnectX-6.
const UNLOCK: u32 = 0xd42f;
/// The GPIO at the flash's IO3 (hold) pin.
const HOLD: u32 = 1 << 29;

/// GPIO registers of the ConnectX-6 generation.
struct Gpio {
    lock: u32,
    /// Cleared bits leave the pin to software.
    functional_enable: [u32; 2],
    /// Set bits make it an output.
    mode: [u32; 2],
    /// Sets output bits.
    data_set: u32,
}

const CONNECTX_6: Gpio = Gpio {
    lock: 0xf_1004,
    functional_enable: [0xf_c028, 0xf_c024],
    mode: [0xf_c04c, 0xf_c054],
    data_set: 0xf_c014,
};

const BLUEFIELD_2: Gpio = Gpio {
    lock: 0xf_1084,
    functional_enable: [0xf_a028, 0xf_a024],
    mode: [0xf_a04c, 0xf_a054],
    data_set: 0xf_a014,
};

/// ConnectX-7 and BlueField-3: registers in the order they are written, bits cleared, bits set.
const CONNECTX_7: [(u32, u32, u32); 5] = [
    (0xf_1078, 1 << 16, 0),
    (0xf_1100, 0, 3 << 28),
    (0xf_1078, 0, 3 << 4),
    (0xf_1104, 0, 3 << 28),
    (0xf_1108, 0, 3 << 28),
];

/// Lets go of the flash's hold line, and keeps ConnectX-3 on the bus.
pub(super) fn release(cr: &Cr, model: &Model) -> Result<(), AccessError> {
    match model.hw_id {
        0x1f5 | 0x1f7 => keep_link(&mut cr.hold()?),
        0x20f | 0x212 => CONNECTX_6.drive_high(&mut cr.hold()?),
        0x214 => BLUEFIELD_2.drive_high(&mut cr.hold()?),
        0x218 | 0x21c => {
            let mut session = cr.hold()?;
            CONNECTX_7
                .iter()
                .try_for_each(|&(register, clear, set)| change(&mut session, register, clear, set))
        }
        _ => Ok(()),
    }
}

fn keep_link(session: &mut Session<'_>) -> Result<(), AccessError> {
    if session.read(Space::Cr, PROGRAM_COUNTER)? <= BOOT_ROM {
        return Ok(());
    }
    let value = session.read(Space::Cr, LINK_DOWN)?;
    session.write(Space::Cr, LINK_DOWN, with_bits(value, 28, 27, NO_RESET))
}

impl Gpio {
    fn drive_high(&self, session: &mut Session<'_>) -> Result<(), AccessError> {
        session.write(Space::Cr, self.lock, UNLOCK)?;
        for register in self.functional_enable {
            change(session, register, HOLD, 0)?;
        }
        for register in self.mode {
            change(session, register, 0, HOLD)?;
        }
        session.write(Space::Cr, self.data_set, HOLD)
    }
}

fn change(
    session: &mut Session<'_>,
    register: u32,
    clear: u32,
    set: u32,
) -> Result<(), AccessError> {
    let value = session.read(Space::Cr, register)?;
    session.write(Space::Cr, register, value & !clear | set)
}
