//! One card in JSON.

use serde::Serialize;

use super::{Problem, SourceName};
use crate::card::PortType;
use crate::identity::Psid;
use crate::pci::Link;
use crate::plan::Offer;
use crate::report::versions::{self, VersionRow};
use crate::report::{CardView, status};

/// `cards[]`.
#[derive(Serialize)]
pub(super) struct Card<'a> {
    device: &'a str,
    functions: &'a [String],
    names: Names<'a>,
    pci_id: String,
    subsystem_id: String,
    #[serde(rename = "type")]
    kind: Option<&'a str>,
    recovery: bool,
    part_number: Option<&'a str>,
    description: Option<&'a str>,
    serial: Option<&'a str>,
    psid: Option<&'a str>,
    original_psid: Option<&'a str>,
    brand: Option<&'a str>,
    base_mac: Option<String>,
    original_base_mac: Option<String>,
    base_guid: Option<String>,
    port_macs: [Option<String>; 2],
    port_guids: [Option<String>; 2],
    port_types: [Option<&'static str>; 2],
    firmware: Firmware,
    roms: Vec<Rom>,
    security: Vec<String>,
    format: Option<String>,
    access: Option<String>,
    link: Option<LinkFields<'a>>,
    status: &'static str,
    status_text: String,
    status_reason: String,
    source: Option<Source>,
    warnings: &'a [String],
    error: Option<Problem>,
}

#[derive(Serialize)]
struct Names<'a> {
    net: &'a [String],
    rdma: &'a [String],
    mst: Option<&'a str>,
}

#[derive(Serialize)]
struct Firmware {
    running: Option<String>,
    stored: Option<String>,
    date: Option<String>,
    available: Option<String>,
}

#[derive(Serialize)]
struct Rom {
    #[serde(rename = "type")]
    kind: String,
    current: Option<String>,
    available: Option<String>,
}

#[derive(Serialize)]
struct LinkFields<'a> {
    speed: Option<&'a str>,
    width: Option<u32>,
    max_speed: Option<&'a str>,
    max_width: Option<u32>,
    limited_by: Option<String>,
}

/// Where the image on offer is; the whole source where there is none for this card.
#[derive(Serialize)]
struct Source {
    kind: &'static str,
    name: String,
    /// The file, where the source is a list of releases.
    file: Option<String>,
    /// Release notes: text, or where to read it.
    notes: Option<String>,
}

impl Source {
    fn new(source: &SourceName, offer: Option<&Offer>) -> Self {
        let list = offer.and_then(|offer| offer.provenance.as_ref().map(|list| (list, offer)));
        match (list, offer) {
            (Some((list, offer)), _) => Self {
                kind: list.kind,
                name: list.name.clone(),
                file: Some(offer.place()),
                notes: list.notes.clone(),
            },
            (None, offer) => Self {
                kind: source.kind,
                name: offer.map_or_else(|| source.name.clone(), Offer::place),
                file: None,
                notes: None,
            },
        }
    }
}

impl<'a> Card<'a> {
    pub(super) fn new(view: &CardView<'a>, source: Option<&SourceName>) -> Self {
        let card = view.card;
        Self {
            device: &card.device,
            functions: &card.functions,
            names: Names {
                net: &card.net,
                rdma: &card.rdma,
                mst: card.mst.as_deref(),
            },
            pci_id: id(card.pci_id),
            subsystem_id: id(card.subsystem_id),
            kind: card.model.map(|model| model.name),
            recovery: card.recovery,
            part_number: card.part_number.as_deref(),
            description: card.description.as_deref(),
            serial: card.serial.as_deref(),
            psid: card.psid.as_ref().map(Psid::as_str),
            original_psid: card.original_psid.as_ref().map(Psid::as_str),
            brand: card.psid.as_ref().and_then(brand),
            base_mac: text(card.base_mac),
            original_base_mac: text(card.original_base_mac),
            base_guid: text(card.base_guid),
            port_macs: card.port_macs.map(text),
            port_guids: card.port_guids.map(text),
            port_types: card.port_types.map(|port| port.map(PortType::word)),
            firmware: Firmware::new(view),
            roms: versions::rom_rows(view)
                .into_iter()
                .map(Rom::from)
                .collect(),
            security: card.security.iter().map(ToString::to_string).collect(),
            format: text(card.format),
            access: text(card.access),
            link: card.link.as_ref().map(LinkFields::from),
            status: view.decision.status.word(),
            status_text: status::text(view.decision),
            status_reason: view.decision.reason.to_string(),
            source: source.map(|source| Source::new(source, view.offer)),
            warnings: &card.warnings,
            error: card.error.as_ref().map(|error| Problem {
                code: error.code.to_owned(),
                message: error.message.clone(),
                advice: error.advice.clone(),
            }),
        }
    }
}

impl Firmware {
    fn new(view: &CardView<'_>) -> Self {
        let firmware = &view.card.firmware;
        Self {
            running: text(firmware.running),
            stored: text(firmware.stored),
            date: text(firmware.date),
            available: view.offer.and_then(|offer| text(offer.version())),
        }
    }
}

impl From<VersionRow> for Rom {
    fn from(row: VersionRow) -> Self {
        Self {
            kind: row.kind,
            current: row.current,
            available: row.available,
        }
    }
}

impl<'a> From<&'a Link> for LinkFields<'a> {
    fn from(link: &'a Link) -> Self {
        Self {
            speed: link.speed.as_deref(),
            width: link.width,
            max_speed: link.max_speed.as_deref(),
            max_width: link.max_width,
            limited_by: text(link.limited_by),
        }
    }
}

fn id((vendor, device): (u16, u16)) -> String {
    format!("{vendor:04x}:{device:04x}")
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// Who publishes firmware for the board: its brand, or the chip vendor for its own PSIDs.
fn brand(psid: &Psid) -> Option<&'static str> {
    let own = ["MT_", "NVD"]
        .iter()
        .any(|prefix| psid.as_str().starts_with(prefix));
    psid.brand().or_else(|| own.then_some("NVIDIA"))
}
