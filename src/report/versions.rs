//! The version table of a card: what it has beside what is on offer.

use super::CardView;
use crate::plan::Offer;
use crate::version::FwVersion;

/// One row. A side that is not there is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionRow {
    /// `FW`, `FW (Running)`, `PXE` ….
    pub kind: String,
    /// On the card.
    pub current: Option<String>,
    /// On offer.
    pub available: Option<String>,
}

/// `FW` first (what is on flash), then the others by the bytes of their names: the union of what
/// card and image have (mft-compat 2.1). `FW (Running)` is there when it differs.
pub(super) fn rows(view: &CardView<'_>) -> Vec<VersionRow> {
    let firmware = &view.card.firmware;
    let text = |version: FwVersion| version.to_string();
    let mut others = rom_rows(view);
    if let (Some(stored), Some(running)) = (firmware.stored, firmware.running)
        && stored != running
    {
        others.push(VersionRow {
            kind: "FW (Running)".to_owned(),
            current: Some(text(running)),
            available: None,
        });
    }
    others.sort_by(|a, b| a.kind.as_bytes().cmp(b.kind.as_bytes()));
    let mut rows = vec![VersionRow {
        kind: "FW".to_owned(),
        current: firmware.stored.or(firmware.running).map(text),
        available: view.offer.and_then(|offer| offer.version()).map(text),
    }];
    rows.append(&mut others);
    rows
}

/// Rows of the expansion ROMs. Where one side holds a kind more than once (one UEFI driver a
/// function class), the n-th of the card stands beside the n-th of the image.
pub(super) fn rom_rows(view: &CardView<'_>) -> Vec<VersionRow> {
    let mut rows: Vec<VersionRow> = view
        .card
        .roms
        .iter()
        .map(|rom| VersionRow {
            kind: rom.kind.clone(),
            current: Some(rom.version_text()),
            available: None,
        })
        .collect();
    for (kind, version) in view.offer.map(Offer::roms).unwrap_or_default() {
        let version = Some(version);
        match rows
            .iter_mut()
            .find(|row| row.kind == kind && row.available.is_none())
        {
            Some(row) => row.available = version,
            None => rows.push(VersionRow {
                kind,
                current: None,
                available: version,
            }),
        }
    }
    rows
}
