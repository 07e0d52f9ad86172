//! Why a command did not go through.

use crate::access::error::AccessError;

/// A command did not go through.
#[derive(Debug, thiserror::Error)]
pub enum IcmdError {
    /// The way to the mailbox.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The firmware has not started far enough.
    #[error("{device}: the firmware is not configured yet (CR {address:#x} bit {bit} is set)")]
    NotReady {
        /// The function.
        device: String,
        /// CR address of the flag.
        address: u32,
        /// Bit of the flag.
        bit: u32,
    },
    /// More than the mailbox takes.
    #[error("{device}: {bytes} bytes do not fit the command mailbox of {limit}")]
    TooLong {
        /// The function.
        device: String,
        /// Bytes to send or read.
        bytes: usize,
        /// Bytes there are.
        limit: usize,
    },
    /// A command is under way although we hold the semaphore.
    #[error(
        "{device}: the firmware has not finished an earlier command: the mailbox is busy, its semaphore free"
    )]
    Busy {
        /// The function.
        device: String,
    },
    /// Somebody else used the mailbox although we hold its semaphore.
    #[error(
        "{device}: the command mailbox shows opcode {found:#x} in place of {expected:#x}: somebody \
         uses it without its semaphore"
    )]
    Disturbed {
        /// The function.
        device: String,
        /// Opcode written.
        expected: u32,
        /// Opcode found.
        found: u32,
    },
    /// The firmware did not answer.
    #[error("{device}: the firmware did not finish command {opcode:#x} in {} ms", waited.as_millis())]
    Timeout {
        /// The function.
        device: String,
        /// Opcode.
        opcode: u32,
        /// How long cxfw waited.
        waited: std::time::Duration,
    },
    /// The firmware refused the command.
    #[error(
        "{device}: command {opcode:#x} failed with status {status} ({}), syndrome {syndrome:#x}",
        icmd_status(*status)
    )]
    Status {
        /// The function.
        device: String,
        /// Opcode.
        opcode: u32,
        /// Status, 8 bits.
        status: u32,
        /// Syndrome.
        syndrome: u32,
    },
    /// The answer is for another register.
    #[error("{device}: asked for register {expected:#06x}, the answer is for {found:#06x}")]
    Echo {
        /// The function.
        device: String,
        /// Register asked for.
        expected: u16,
        /// Register in the answer.
        found: u16,
    },
    /// A register image that is not whole dwords.
    #[error("{device}: a register image of {bytes} bytes is not whole dwords")]
    Ragged {
        /// The function.
        device: String,
        /// Bytes.
        bytes: usize,
    },
}

/// Meaning of an ICMD status (device-access 3.3).
const fn icmd_status(status: u32) -> &'static str {
    match status {
        1 => "invalid opcode",
        2 => "invalid command",
        3 => "operational error",
        4 => "bad parameter",
        5 => "busy",
        6 => "ICM not available",
        7 => "write protected",
        _ => "unknown status",
    }
}
