//! Whether a copy is what is on the flash, although firmware may write to that meanwhile.

use crate::bytes::ByteSource;
use crate::flash::Cancel;
use crate::flash::direct::{CardFacts, Fault};
use crate::image::{self, CrcPlace, Extent};
use crate::progress::{Event, Phase, Sink};

use super::{BackupError, Stopped, check_cancel, pieces};

/// How often a piece is read that differs from what was read first.
const READS: usize = 2;
/// Bytes of the device table.
const TABLE: u64 = 0x1000;

/// What of a flash does not change by itself.
pub(super) struct Fixed {
    extents: Vec<Extent>,
    /// Sections of the image without a checksum.
    pub(super) unchecked: Vec<Extent>,
    /// The image checks out as a whole, with its device data.
    pub(super) sound: bool,
}

impl Fixed {
    /// The image that boots, and device data with a checksum. Of a flash without a good image
    /// everything: no firmware runs from it that could change it.
    pub(super) fn of(bytes: &[u8], card: &CardFacts) -> Self {
        let Ok(layout) = image::flash_layout(&bytes, card.model.format) else {
            return Self {
                extents: vec![Extent::new(0, bytes.len() as u64)],
                unchecked: Vec::new(),
                sound: false,
            };
        };
        let checked = layout
            .sections
            .iter()
            .filter(|section| section.absolute && section.crc != CrcPlace::None)
            .map(image::Section::physical_extent);
        let table = layout.dtoc.map(|at| Extent::new(at, TABLE));
        let unchecked = layout.image_sections();
        let unchecked = unchecked.filter(|section| section.crc == CrcPlace::None);
        Self {
            unchecked: unchecked
                .flat_map(|section| layout.extents(section.address, section.size))
                .collect(),
            extents: layout
                .extents(0, layout.size)
                .chain(checked)
                .chain(table)
                .collect(),
            sound: image::verify_flash(&bytes, layout.start).passed(),
        }
    }

    fn contains(&self, address: u64) -> bool {
        let holds = |extent: &Extent| (extent.address..extent.end()).contains(&address);
        self.extents.iter().any(holds)
    }
}

/// Reads these parts of the flash once more and compares them with what is in the file.
pub(super) fn compare(
    (flash, written): (&dyn ByteSource, &[u8]),
    parts: &[Extent],
    fixed: &Fixed,
    (cancel, sink): (&Cancel, &mut Sink<'_>),
) -> Result<(), Stopped> {
    let total = parts.iter().map(|part| part.size).sum();
    let mut done = 0;
    let mut changed = false;
    for piece in pieces(parts) {
        check_cancel(cancel)?;
        changed |= compare_piece((flash, written), piece, fixed)?;
        done += piece.size;
        sink(Event::Progress {
            phase: Phase::Verify,
            done,
            total,
        });
    }
    if changed {
        sink(Event::Note {
            text: "settings or logs changed while the flash was read; the first reading is kept"
                .to_owned(),
        });
    }
    sink(Event::PhaseDone {
        phase: Phase::Verify,
    });
    Ok(())
}

/// Whether something differs that may change by itself.
fn compare_piece(
    (flash, written): (&dyn ByteSource, &[u8]),
    piece: Extent,
    fixed: &Fixed,
) -> Result<bool, Stopped> {
    let written = written.read(piece.address, piece.size);
    let written = written.map_err(Fault::from)?;
    let mut differs = None;
    for _ in 0..READS {
        let again = flash.read(piece.address, piece.size);
        let again = again.map_err(Fault::from)?;
        let pairs = again.iter().zip(written.iter());
        let wrong = (piece.address..).zip(pairs).filter(|(_, (a, b))| a != b);
        let mut wrong = wrong.map(|(address, _)| address).peekable();
        let any = wrong.peek().is_some();
        differs = wrong.find(|&address| fixed.contains(address));
        if differs.is_none() {
            return Ok(any);
        }
    }
    match differs {
        Some(address) => Err(BackupError::Unsteady { address }.into()),
        None => Ok(false),
    }
}
