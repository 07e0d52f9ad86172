//! Whether the running firmware works from flash (burn 8.8). If it does, a tool that takes the
//! flash hangs it.

use crate::access::cr::Cr;
use crate::access::error::AccessError;
use crate::access::space::Space;
use crate::bytes::bits;
use crate::model::{GatewayLayout, Model};

/// A register and the bits of it that count.
type Field = (u32, u32, u32);

/// Offset and command of the cache's fetches, by chip. ConnectX-3 has none: its semaphores keep
/// firmware and tool apart.
fn fields(model: &Model) -> Option<[Field; 2]> {
    match (model.gateway, model.hw_id) {
        (GatewayLayout::ConnectX3, _) => None,
        // Connect-IB, ConnectX-4, -4 Lx, -5, BlueField, Spectrum
        (GatewayLayout::Old, 0x1ff | 0x209 | 0x20b | 0x20d | 0x211 | 0x249) => {
            Some([(0xf_0408, 25, 0), (0xf_040c, 23, 16)])
        }
        (GatewayLayout::Old, _) => Some([(0xf_0444, 31, 0), (0xf_0448, 23, 16)]),
        (GatewayLayout::Sixth, _) => Some([(0xf_0484, 31, 0), (0xf_0488, 31, 24)]),
        (GatewayLayout::Seventh, _) => Some([(0x8a_1204, 31, 0), (0x8a_1208, 31, 24)]),
    }
}

/// The firmware works from flash: one of the two values is not zero.
pub(super) fn firmware_works_from_flash(cr: &Cr, model: &Model) -> Result<bool, AccessError> {
    let Some(fields) = fields(model) else {
        return Ok(false);
    };
    let mut session = cr.hold()?;
    for (register, hi, lo) in fields {
        if bits(session.read(Space::Cr, register)?, hi, lo) != 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
