//! Write protection of flash parts: which bits of which status register mean it, by vendor
//! (burn 8.5).

use crate::access::gateway::part::{
    ATMEL, CYPRESS, GIGADEVICE, ISSI, MACRONIX, MICRON, Part, WINBOND,
};

/// Sizes from which Winbond and Cypress have four protection bits: 256 Mbit.
const LARGE: u64 = 32 << 20;

/// Read configuration register (Macronix).
const READ_CONFIGURATION: u8 = 0x15;
/// Read function register (ISSI).
const READ_FUNCTION: u8 = 0x48;
/// Read status register 1.
const READ_STATUS: u8 = 0x05;

/// Which end of the flash is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtectedEnd {
    /// The highest addresses.
    Top,
    /// The lowest addresses.
    Bottom,
}

impl std::fmt::Display for ProtectedEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Top => "upper",
            Self::Bottom => "lower",
        })
    }
}

/// Write protection that is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protection {
    /// Blocks at one end of the part.
    Blocks {
        /// Status register 1.
        status: u8,
        /// Which end; the size grows with the value of the protection bits.
        end: ProtectedEnd,
        /// The status register itself is protected (SRP), so that the bits cannot be cleared while
        /// the part's write-protect pin is low.
        locked: bool,
    },
    /// The whole part, or all but some blocks (CMP).
    Complement {
        /// Status register 2.
        status: u8,
    },
    /// The firmware says so (MFMC).
    Firmware {
        /// log2 of the number of blocks.
        blocks_log2: u8,
    },
}

impl std::fmt::Display for Protection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Blocks {
                status,
                end,
                locked,
            } => {
                let srp = if *locked {
                    "; the status register is locked too"
                } else {
                    ""
                };
                write!(
                    f,
                    "block protection of the {end} end is on (status register 1 is {status:#04x}{srp})"
                )
            }
            Self::Complement { status } => write!(
                f,
                "complemented block protection is on (status register 2 is {status:#04x})"
            ),
            Self::Firmware { blocks_log2 } => write!(
                f,
                "the firmware says that 2^{blocks_log2} blocks are protected"
            ),
        }
    }
}

/// Where a part keeps its protection bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::access) struct StatusLayout {
    /// Protection bits of status register 1.
    blocks: u8,
    /// Command that reads the register with the top/bottom bit, and the bit.
    end: (u8, u8),
    /// Status register 2 has a complement bit (CMP).
    pub complement: bool,
}

impl StatusLayout {
    /// Complement bit of status register 2.
    const COMPLEMENT: u8 = 1 << 6;
    /// Status register protection, bit of status register 1 (SRP, SRWD).
    const LOCKED: u8 = 1 << 7;

    /// The layout of a part.
    pub const fn of(part: &Part) -> Self {
        let usual = Self {
            blocks: 0b0001_1100,
            end: (READ_STATUS, 1 << 5),
            complement: false,
        };
        match part.vendor() {
            MICRON => Self {
                blocks: 0b0101_1100,
                ..usual
            },
            MACRONIX => Self {
                blocks: 0b0011_1100,
                end: (READ_CONFIGURATION, 1 << 3),
                ..usual
            },
            ISSI => Self {
                blocks: 0b0011_1100,
                end: (READ_FUNCTION, 1 << 1),
                ..usual
            },
            WINBOND | CYPRESS | GIGADEVICE if part.size >= LARGE => Self {
                blocks: 0b0011_1100,
                end: (READ_STATUS, 1 << 6),
                complement: true,
            },
            WINBOND | CYPRESS | GIGADEVICE => Self {
                complement: true,
                ..usual
            },
            ATMEL => Self {
                blocks: 0b0000_1100,
                ..usual
            },
            _ => Self {
                blocks: 0b0011_1100,
                ..usual
            },
        }
    }

    /// Whether status register 1 has protection bits set.
    pub const fn protects(&self, status: u8) -> bool {
        status & self.blocks != 0
    }

    /// The command that reads the register with the top/bottom bit.
    pub const fn end_register(&self) -> u8 {
        self.end.0
    }

    /// The protection that status register 1 tells, with the register of the top/bottom bit.
    pub const fn blocks(&self, status: u8, end: u8) -> Protection {
        Protection::Blocks {
            status,
            end: if end & self.end.1 != 0 {
                ProtectedEnd::Bottom
            } else {
                ProtectedEnd::Top
            },
            locked: status & Self::LOCKED != 0,
        }
    }

    /// The protection that status register 2 tells when no block bit is set.
    pub fn complement(&self, status: u8) -> Option<Protection> {
        (self.complement && status & Self::COMPLEMENT != 0)
            .then_some(Protection::Complement { status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::by_hw_id;

    fn layout(jedec: u32) -> StatusLayout {
        let part = Part::from_jedec(jedec, by_hw_id(0x212).unwrap()).unwrap();
        StatusLayout::of(&part)
    }

    #[test]
    fn quad_enable_is_no_protection() {
        // quad enable is bit 6 of status register 1 on Macronix and ISSI, where Micron has its
        // fourth protection bit
        assert!(!layout(0xc2_2539).protects(0x40));
        assert!(!layout(0x9d_6018).protects(0x40));
        assert!(layout(0x20_ba18).protects(0x40));
    }

    #[test]
    fn large_winbond_parts_have_a_fourth_bit_where_small_ones_tell_the_end() {
        let (small, large) = (layout(0xef_4018), layout(0xef_4019));
        assert!(!small.protects(0x20));
        assert!(large.protects(0x20));
        assert_eq!(
            small.blocks(0x24, 0x24),
            Protection::Blocks {
                status: 0x24,
                end: ProtectedEnd::Bottom,
                locked: false,
            }
        );
        assert_eq!(
            large.blocks(0x84, 0x84).to_string(),
            "block protection of the upper end is on (status register 1 is 0x84; the status \
             register is locked too)"
        );
    }

    #[test]
    fn write_in_progress_and_write_enable_are_no_protection() {
        for jedec in [0x20_ba18, 0xef_4018, 0xc2_2018, 0x9d_6018, 0xc8_4018] {
            assert!(!layout(jedec).protects(0x83), "{jedec:#x}");
        }
    }

    #[test]
    fn the_complement_protects_without_block_bits() {
        assert!(layout(0xef_4018).complement(0x40).is_some());
        assert!(layout(0xef_4018).complement(0x02).is_none());
        assert!(layout(0x20_ba18).complement(0x40).is_none());
    }
}
