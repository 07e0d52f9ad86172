//! Which images a flash may boot, in as few reads as tell their versions: start patterns, headers,
//! tables and IMAGE_INFO; no other section, and no device data.

use super::verify::Depth;
use super::{ImageError, marker, run_flash};
use crate::bytes::{ByteSource, ReadError};
use crate::model::ImageFormat;
use crate::version::FwVersion;

/// An image whose start pattern stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Physical address.
    pub start: u64,
    /// Its version.
    pub version: Option<FwVersion>,
}

/// The images of this format whose start patterns stand and that are good as far as this looks,
/// lowest first: the first is what a card boots.
///
/// # Errors
/// When the flash cannot be read.
pub fn standing(source: &dyn ByteSource, format: ImageFormat) -> Result<Vec<Standing>, ReadError> {
    let mut images = Vec::new();
    for found in marker::scan(source) {
        let image = found.and_then(|start| {
            if start.format != format {
                return Ok(None);
            }
            let (_, info) = run_flash(source, start.address, format, Depth::Version).result?;
            Ok(Some(Standing {
                start: start.address,
                version: info.version,
            }))
        });
        match image {
            Ok(image) => images.extend(image),
            Err(ImageError::Read {
                source: failed @ ReadError::Failed { .. },
                ..
            }) => return Err(failed),
            Err(_) => {}
        }
    }
    Ok(images)
}
