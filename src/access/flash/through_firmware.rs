//! The flash as the running firmware lets tools at it: MFPA says what it is, MFBA reads and
//! programs, MFBE erases, MFMC tells the protection (burn 8.7).

use std::borrow::Cow;

use super::{EraseUnit, FlashAccess, FlashError, FlashOperation, Protection, check_range, pages};
use crate::access::exchange::{RegisterAccess, RegisterError, post_register, read_register};
use crate::access::gateway::{GatewayError, Part};
use crate::bytes::{ByteSource, ReadError};
use crate::model::Model;
use crate::registers::{Mfba, Mfbe, Mfmc, Mfpa};

/// Bytes one MFBA moves; ConnectX-3, which takes more, has no such registers here.
const BLOCK: u64 = 128;

/// End of what three address bytes reach.
const THREE_BYTE_END: u64 = 1 << 24;

/// Register statuses with which firmware refuses to change the flash.
const BAD_PARAMETER: u8 = 0x07;
const NOT_AVAILABLE: u8 = 0x08;

/// The flash behind the firmware.
pub struct FirmwareFlash<'a> {
    registers: &'a dyn RegisterAccess,
    device: String,
    part: Part,
    sector_erase: bool,
    four_byte: bool,
}

impl<'a> FirmwareFlash<'a> {
    /// Asks the firmware for the part. `device` names the card in messages.
    ///
    /// # Errors
    /// [`FlashError::Register`] when the firmware has no such registers,
    /// [`FlashError::FirmwareRefuses`] when it keeps the flash to itself,
    /// [`GatewayError::NoFlash`].
    pub fn open(
        registers: &'a dyn RegisterAccess,
        device: String,
        model: &Model,
    ) -> Result<Self, FlashError> {
        let mfpa = match read_register(registers, &Mfpa::default()) {
            Ok(mfpa) => mfpa,
            Err(error) => return Err(refusal(&device, FlashOperation::Read, 0, error)),
        };
        // MFPA has the vendor in the low byte
        let [_, capacity, kind, vendor] = mfpa.jedec_id.to_be_bytes();
        let jedec = u32::from_be_bytes([0, vendor, kind, capacity]);
        if jedec == 0 || jedec == 0xff_ffff {
            return Err(GatewayError::NoFlash { device, jedec }.into());
        }
        let Some(part) = Part::from_jedec(jedec, model) else {
            return Err(GatewayError::UnknownCapacity { device, jedec }.into());
        };
        Ok(Self {
            registers,
            device,
            part,
            sector_erase: mfpa.bulk_64kb_erase_en,
            four_byte: model.four_byte_address && part.size > THREE_BYTE_END,
        })
    }

    fn address(&self, address: u64, len: u64) -> Result<u32, FlashError> {
        check_range(&self.device, address, len, self.size())?;
        u32::try_from(address).map_err(|_| FlashError::OutOfRange {
            device: self.device.clone(),
            address,
            len,
            size: self.size(),
        })
    }

    /// Parts of no known family are read only.
    fn check_part(&self) -> Result<(), FlashError> {
        if self.part.name.is_some() {
            return Ok(());
        }
        Err(FlashError::UnknownPart {
            device: self.device.clone(),
            jedec: self.part.jedec,
        })
    }

    fn read_block(&self, address: u64, len: u64) -> Result<Vec<u8>, FlashError> {
        let request = Mfba {
            four_byte_address: self.four_byte,
            address: self.address(address, len)?,
            data: vec![0; usize::try_from(len).unwrap_or(0)],
            ..Mfba::default()
        };
        let answer = read_register(self.registers, &request)
            .map_err(|error| refusal(&self.device, FlashOperation::Read, address, error))?;
        Ok(answer.data)
    }
}

/// What a failed register means.
fn refusal(
    device: &str,
    operation: FlashOperation,
    address: u64,
    error: RegisterError,
) -> FlashError {
    let device = device.to_owned();
    match error.status() {
        Some(status @ (BAD_PARAMETER | NOT_AVAILABLE)) => FlashError::FirmwareRefuses {
            device,
            operation,
            address,
            status,
        },
        _ => FlashError::Register {
            device,
            source: error,
        },
    }
}

impl ByteSource for FirmwareFlash<'_> {
    fn size(&self) -> u64 {
        if self.four_byte {
            self.part.size
        } else {
            self.part.size.min(THREE_BYTE_END)
        }
    }

    fn read(&self, offset: u64, len: u64) -> Result<Cow<'_, [u8]>, ReadError> {
        let end = offset
            .checked_add(len)
            .filter(|&end| end <= self.size())
            .ok_or(ReadError::OutOfRange {
                offset,
                wanted: len,
                size: self.size(),
            })?;
        let mut bytes = Vec::new();
        let mut at = offset;
        while at < end {
            let piece = (BLOCK - at % BLOCK).min(end - at);
            // the register moves whole dwords
            let (first, last) = (at - at % 4, (at + piece).next_multiple_of(4));
            let block =
                self.read_block(first, last - first)
                    .map_err(|error| ReadError::Failed {
                        offset: at,
                        reason: error.into(),
                    })?;
            let skip = usize::try_from(at - first).unwrap_or(0);
            let take = usize::try_from(piece).unwrap_or(0);
            bytes.extend(block.into_iter().skip(skip).take(take));
            at += piece;
        }
        if bytes.len() as u64 == len {
            return Ok(Cow::Owned(bytes));
        }
        Err(ReadError::Failed {
            offset,
            reason: format!(
                "{}: the firmware gave {} of {len} bytes",
                self.device,
                bytes.len()
            )
            .into(),
        })
    }
}

impl FlashAccess for FirmwareFlash<'_> {
    fn part(&self) -> &Part {
        &self.part
    }

    fn page_size(&self) -> u64 {
        BLOCK
    }

    fn can_erase(&self, unit: EraseUnit) -> bool {
        match unit {
            EraseUnit::SubSector => unit.size() >= u64::from(self.part.erase_size),
            EraseUnit::Sector => self.sector_erase,
        }
    }

    fn erase(&self, address: u64, unit: EraseUnit) -> Result<(), FlashError> {
        self.check_part()?;
        let size = unit.size();
        let request = Mfbe {
            four_byte_address: self.four_byte,
            bulk_64kb_erase: unit == EraseUnit::Sector,
            address: self.address(address, size)?,
            ..Mfbe::default()
        };
        if !self.can_erase(unit) || !address.is_multiple_of(size) {
            return Err(FlashError::NoUnit {
                device: self.device.clone(),
                address,
                size,
            });
        }
        post_register(self.registers, &request)
            .map_err(|error| refusal(&self.device, FlashOperation::Erase, address, error))
    }

    fn program(&self, address: u64, bytes: &[u8]) -> Result<(), FlashError> {
        self.check_part()?;
        self.address(address, bytes.len() as u64)?;
        for (at, page) in pages(address, bytes, BLOCK) {
            // whole dwords; ones around the bytes change nothing
            let first = at - at % 4;
            let skip = usize::try_from(at - first).unwrap_or(0);
            let mut data = vec![0xff; (skip + page.len()).next_multiple_of(4)];
            for (byte, new) in data.iter_mut().skip(skip).zip(page) {
                *byte = *new;
            }
            let request = Mfba {
                four_byte_address: self.four_byte,
                address: self.address(first, data.len() as u64)?,
                data,
                ..Mfba::default()
            };
            post_register(self.registers, &request)
                .map_err(|error| refusal(&self.device, FlashOperation::Program, at, error))?;
        }
        Ok(())
    }

    /// Firmware without MFMC does not tell; what it does not let be written shows when it is read
    /// back.
    fn protection(&self) -> Result<Option<Protection>, FlashError> {
        match read_register(self.registers, &Mfmc::default()) {
            Ok(mfmc) => Ok(mfmc.wrp_en.then_some(Protection::Firmware {
                blocks_log2: mfmc.wrp_block_count,
            })),
            Err(error) if error.status().is_some() => Ok(None),
            Err(source) => Err(FlashError::Register {
                device: self.device.clone(),
                source,
            }),
        }
    }
}

impl std::fmt::Debug for FirmwareFlash<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirmwareFlash")
            .field("device", &self.device)
            .field("part", &self.part)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::access::exchange::{Method, Way};
    use crate::model::by_hw_id;
    use crate::registers::Register;

    /// Firmware with a flash of 64 KiB shown as a 16 MiB part; refuses changes with `refuses`.
    struct Firmware {
        flash: Mutex<Vec<u8>>,
        jedec: u32,
        refuses: Option<u8>,
        protected: Option<u8>,
    }

    impl Default for Firmware {
        fn default() -> Self {
            Self {
                flash: Mutex::new((0..=255).cycle().take(0x1_0000).collect()),
                jedec: 0x18_40ef,
                refuses: None,
                protected: None,
            }
        }
    }

    impl Firmware {
        fn status(id: u16, method: Method, status: u8) -> RegisterError {
            RegisterError::Status {
                register: id,
                method,
                status,
            }
        }

        fn block(&self, method: Method, image: &mut [u8]) {
            let mut block = Mfba::decode(image).unwrap();
            let at = usize::try_from(block.address).unwrap();
            assert!(block.data.len() <= 128 && at.is_multiple_of(4));
            let mut flash = self.flash.lock().unwrap();
            let cells = &mut flash[at..at + block.data.len()];
            if method == Method::Write {
                for (cell, byte) in cells.iter_mut().zip(&block.data) {
                    *cell &= byte;
                }
            }
            block.data = cells.to_vec();
            image.copy_from_slice(&block.encode());
        }

        fn erase(&self, image: &[u8]) {
            let request = Mfbe::decode(image).unwrap();
            let size = if request.bulk_64kb_erase {
                0x1_0000
            } else {
                0x1000
            };
            let at = usize::try_from(request.address).unwrap();
            self.flash.lock().unwrap()[at..at + size].fill(0xff);
        }
    }

    impl RegisterAccess for Firmware {
        fn send(
            &self,
            id: u16,
            method: Method,
            image: &mut [u8],
            _: usize,
        ) -> Result<(), RegisterError> {
            let write = method == Method::Write;
            match (id, self.refuses, self.protected) {
                (Mfba::ID | Mfbe::ID, Some(status), _) if write => {
                    return Err(Self::status(id, method, status));
                }
                (Mfba::ID, ..) => self.block(method, image),
                (Mfbe::ID, ..) => self.erase(image),
                (Mfpa::ID, ..) => {
                    let mfpa = Mfpa {
                        jedec_id: self.jedec,
                        bulk_64kb_erase_en: true,
                        ..Mfpa::default()
                    };
                    image.copy_from_slice(&mfpa.encode());
                }
                (Mfmc::ID, _, Some(blocks)) => {
                    let mfmc = Mfmc {
                        wrp_en: true,
                        wrp_block_count: blocks,
                        ..Mfmc::default()
                    };
                    image.copy_from_slice(&mfmc.encode());
                }
                _ => return Err(Self::status(id, method, 4)),
            }
            Ok(())
        }

        fn way(&self) -> Way {
            Way::Vsec
        }
    }

    fn open(firmware: &Firmware) -> Result<FirmwareFlash<'_>, FlashError> {
        FirmwareFlash::open(firmware, "card".to_owned(), by_hw_id(0x20b).unwrap())
    }

    #[test]
    fn blocks_are_read_erased_and_programmed_wherever_they_lie() {
        let firmware = Firmware::default();
        let flash = open(&firmware).unwrap();
        assert_eq!(flash.size(), 16 << 20);
        let expected: Vec<u8> = (0..=255).cycle().skip(0x7d).take(0x105).collect();
        assert_eq!(*flash.read(0x7d, 0x105).unwrap(), expected);
        flash.erase(0x1000, EraseUnit::SubSector).unwrap();
        flash.program(0x1042, &[7; 200]).unwrap();
        let mut expected = vec![0xff; 0x1000];
        expected[0x42..0x42 + 200].fill(7);
        assert_eq!(*flash.read(0x1000, 0x1000).unwrap(), expected);
        assert_eq!(*flash.read(0x2000, 2).unwrap(), [0, 1]);
        assert!(flash.read(16 << 20, 1).is_err());
    }

    #[test]
    fn a_refused_change_names_the_place_and_the_status() {
        let firmware = Firmware {
            refuses: Some(0x08),
            ..Firmware::default()
        };
        let flash = open(&firmware).unwrap();
        assert_eq!(
            flash.erase(0, EraseUnit::Sector).unwrap_err().to_string(),
            "card: the firmware refuses to erase flash at 0x0 (status 0x08, resource not available)"
        );
        assert!(matches!(
            flash.program(0, &[0; 4]),
            Err(FlashError::FirmwareRefuses { status: 8, .. })
        ));
    }

    #[test]
    fn unknown_parts_are_not_written_and_protection_is_told() {
        let firmware = Firmware {
            jedec: 0x18_6655,
            ..Firmware::default()
        };
        let flash = open(&firmware).unwrap();
        assert!(flash.read(0, 4).is_ok());
        assert!(matches!(
            flash.program(0, &[0; 4]),
            Err(FlashError::UnknownPart {
                jedec: 0x55_6618,
                ..
            })
        ));
        let firmware = Firmware::default();
        assert_eq!(open(&firmware).unwrap().protection().unwrap(), None);
        let firmware = Firmware {
            protected: Some(5),
            ..Firmware::default()
        };
        let protection = open(&firmware).unwrap().protection().unwrap().unwrap();
        assert_eq!(
            protection.to_string(),
            "the firmware says that 2^5 blocks are protected"
        );
    }
}
