//! The components block: one XZ stream that is only ever read forwards (bundles 2.8).

use super::descriptors::{COMPONENT_MAGIC, Component};
use crate::bundle::error::Fault;
use crate::bundle::meter::Meter;
use crate::bundle::xz::Inflater;

/// Inflates the block once, hands each component without its magic to `visit` in the order of
/// the block, and checks the stream to its end.
///
/// `wanted` holds component numbers with their descriptors. Components that overlap would need a
/// second pass each, so they are refused.
///
/// # Errors
/// [`Fault::BadComponentMagic`], [`Fault::BadComponentDescriptor`] for an overlap,
/// [`Fault::Decompression`].
pub fn walk(
    stored: &[u8],
    plain_size: u64,
    meter: &Meter,
    mut wanted: Vec<(usize, &Component)>,
    mut visit: impl FnMut(usize, Vec<u8>),
) -> Result<(), Fault> {
    wanted.sort_by_key(|(_, component)| component.offset);
    let mut block = Inflater::new("components block", stored)?.metered(meter);
    for (index, component) in wanted {
        let distance = component.offset.checked_sub(block.produced());
        block.skip(distance.ok_or(Fault::BadComponentDescriptor {
            index,
            offset: component.offset,
            reason: "it overlaps the component before it in the block",
        })?)?;
        visit(index, component_bytes(&mut block, index, component)?);
    }
    block.skip(plain_size.saturating_sub(block.produced()))?;
    block.expect_end()
}

fn component_bytes(
    block: &mut Inflater<'_>,
    index: usize,
    component: &Component,
) -> Result<Vec<u8>, Fault> {
    let mut magic = [0; COMPONENT_MAGIC.len()];
    block.read_exact(&mut magic)?;
    if magic != *COMPONENT_MAGIC {
        return Err(Fault::BadComponentMagic {
            index,
            offset: component.offset,
        });
    }
    block.read_vec(component.size)
}
