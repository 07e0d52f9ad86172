//! Sending access registers: the trait every way to the firmware answers to, and its errors.

use super::icmd::IcmdError;
use crate::registers::{DecodeError, Register};

/// What an access register is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Read it; the request carries the index fields.
    Read,
    /// Write it; the reply carries the new contents.
    Write,
}

/// The way a card was reached, as `--access` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Vendor-specific capability in configuration space.
    Vsec,
    /// The address/data gateway at config 0x58, without a capability.
    LegacyGateway,
    /// The kernel's fwctl character device.
    Fwctl,
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Vsec => "vsec",
            Self::LegacyGateway => "pciconf",
            Self::Fwctl => "fwctl",
        })
    }
}

/// Sends access registers to the firmware that runs on a card.
pub trait RegisterAccess: Send + Sync {
    /// Sends the register `id` with `image` (big-endian dwords, a multiple of 4 bytes) and
    /// replaces the first `reply` bytes of `image` by the answer; the rest is left as sent. A
    /// caller that needs only the head of the answer saves the card's slow read path.
    ///
    /// # Errors
    /// [`RegisterError`]: the transport failed, or the firmware answered with a status.
    fn send(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<(), RegisterError>;

    /// How the card is reached.
    fn way(&self) -> Way;
}

/// Why an access register did not go through. Register ids are those of the firmware's register
/// manual (MGIR is 0x9020).
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The firmware answered with a status of the operation TLV (device-access 3.4).
    #[error("register {register:#06x} ({method:?}): firmware answers status {status:#04x} ({})", tlv_status(*status))]
    Status {
        /// Register id.
        register: u16,
        /// Read or write.
        method: Method,
        /// Status, 7 bits.
        status: u8,
    },
    /// The command interface itself failed.
    #[error("register {register:#06x}: {reason}")]
    Transport {
        /// Register id.
        register: u16,
        /// The underlying failure.
        #[source]
        reason: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer does not have the register's form.
    #[error("register {register:#06x}: {source}")]
    Decode {
        /// Register id.
        register: u16,
        /// What does not fit.
        source: DecodeError,
    },
}

impl RegisterError {
    /// The firmware's status, where it answered with one.
    #[must_use]
    pub const fn status(&self) -> Option<u8> {
        match self {
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The function left the bus.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        let Self::Transport { reason, .. } = self else {
            return false;
        };
        matches!(reason.downcast_ref(), Some(IcmdError::Access(error)) if error.is_gone())
    }

    /// The firmware does not have this register (status 4): a missing feature, not a failure.
    #[must_use]
    pub const fn is_unsupported(&self) -> bool {
        matches!(self.status(), Some(4))
    }
}

/// Meaning of an operation-TLV status (device-access 3.4).
#[must_use]
pub const fn tlv_status(status: u8) -> &'static str {
    match status {
        0x00 => "ok",
        0x01 => "busy",
        0x02 => "version not supported",
        0x03 => "unknown TLV",
        0x04 => "register not supported",
        0x05 => "class not supported",
        0x06 => "method not supported",
        0x07 => "bad parameter",
        0x08 => "resource not available",
        0x09 => "message receipt acknowledged",
        0x0e => "not supported by the secondary",
        0x20 => "bad configuration",
        0x21 => "erase count exceeded",
        0x22 => "configuration corrupt",
        0x24 => "length too small",
        0x70 => "internal error",
        _ => "unknown status",
    }
}

/// Reads a register: sends `request` (its index fields set) and decodes the whole answer.
///
/// # Errors
/// As [`RegisterAccess::send`], and [`RegisterError::Decode`].
pub fn read_register<R: Register>(
    access: &dyn RegisterAccess,
    request: &R,
) -> Result<R, RegisterError> {
    read_register_head(access, request, usize::MAX)
}

/// As [`read_register`], but fetches only the first `bytes` of the answer; what lies behind them
/// is decoded from the request. For a register of which only the head is wanted.
///
/// # Errors
/// As [`read_register`].
pub fn read_register_head<R: Register>(
    access: &dyn RegisterAccess,
    request: &R,
    bytes: usize,
) -> Result<R, RegisterError> {
    exchange(access, request, Method::Read, bytes)
}

/// Writes a register and decodes the answer, which carries its new contents.
///
/// # Errors
/// As [`RegisterAccess::send`], and [`RegisterError::Decode`].
pub fn write_register<R: Register>(
    access: &dyn RegisterAccess,
    request: &R,
) -> Result<R, RegisterError> {
    exchange(access, request, Method::Write, usize::MAX)
}

/// Writes a register and looks at the status of the answer only. For blocks of data, whose
/// contents nobody needs back.
///
/// # Errors
/// As [`RegisterAccess::send`].
pub fn post_register<R: Register>(
    access: &dyn RegisterAccess,
    request: &R,
) -> Result<(), RegisterError> {
    access.send(R::ID, Method::Write, &mut request.encode(), 0)
}

fn exchange<R: Register>(
    access: &dyn RegisterAccess,
    request: &R,
    method: Method,
    reply: usize,
) -> Result<R, RegisterError> {
    let mut image = request.encode();
    let reply = reply.min(image.len());
    access.send(R::ID, method, &mut image, reply)?;
    R::decode(&image).map_err(|source| RegisterError::Decode {
        register: R::ID,
        source,
    })
}
