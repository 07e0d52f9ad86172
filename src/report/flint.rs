//! What the vendor's flash tool prints of an image, line for line: `query full` and `verify`
//! (images 4.4, 5 and 6). Administrators compare the two tools' output, and scripts read it.

use std::fmt::Write as _;

use crate::image::{
    Banner, CheckResult, ImageError, ImageInfo, RomInfo, SectionCheck, Uid, Uids, Verification, rom,
};
use crate::model::ImageFormat;

/// Column the values stand in.
const COLUMN: usize = 23;

/// Vendor id of the chip vendor's own VSDs; 0 is taken for it.
const VENDOR: u16 = 0x15b3;

/// Hardware id of the one chip with a GUID and MAC for a single port in the two-port layout.
const SWITCH_IB: u16 = 0x247;

/// Characters in which PSID and original PSID must agree to count as the same.
const PSID_LENGTH: usize = 13;

/// The text of `query full`.
#[must_use]
pub fn query_full(info: &ImageInfo) -> String {
    let mut page = Page::default();
    page.heading(info);
    page.texts(info);
    page.roms(info);
    if info.format == ImageFormat::Fs2 {
        page.fs2_identity(info);
    } else {
        page.identity(info);
    }
    page.text
}

/// The text of `verify`: every object checked, then the verdict.
#[must_use]
pub fn verification(verification: &Verification) -> String {
    let mut text = verification.banner.map(banner).unwrap_or_default();
    for check in &verification.lines {
        text.push_str(&check_line(check));
    }
    match &verification.failure {
        None => text.push_str("\n-I- FW image verification succeeded. Image is bootable.\n\n"),
        Some(failure) => {
            let reason = match failure {
                ImageError::BlankGuids => {
                    text.push_str("\n\n");
                    "BLANK GUIDS".to_owned()
                }
                other => other.to_string(),
            };
            let _ = writeln!(
                text,
                "-E- FW image verification failed: {reason}. AN HCA DEVICE CAN NOT BOOT FROM THIS IMAGE."
            );
        }
    }
    text
}

fn banner(banner: Banner) -> String {
    match banner {
        Banner::Fs2 {
            start,
            chunk: Some(chunk),
        } => format!(
            "\n     FS2 failsafe image. Start address: {start:#x}. Chunk size {chunk:#x}:\n\n     \
             NOTE: The addresses below are contiguous logical addresses. Physical addresses on\n           \
             flash may be different, based on the image start address and chunk size\n\n"
        ),
        Banner::Fs2 { chunk: None, .. } => "\n     FS2 non failsafe image:\n\n".to_owned(),
        Banner::Fs3 => "\nFS3 failsafe image\n\n".to_owned(),
        Banner::Fs4 => "\nFS4 failsafe image\n\n".to_owned(),
        Banner::Fs5 => "\nFS5 failsafe image\n\n".to_owned(),
    }
}

fn check_line(check: &SectionCheck) -> String {
    let SectionCheck {
        name,
        address,
        size,
        result,
    } = check;
    let last = address.wrapping_add(*size).wrapping_sub(1);
    let verdict = match result {
        CheckResult::Ok => " - OK".to_owned(),
        CheckResult::Ignored => " - CRC IGNORED".to_owned(),
        CheckResult::Blank => " - BLANK CRC (0xffff)".to_owned(),
        CheckResult::Wrong { stored, calculated } => {
            format!(" /{address:#010x}/ - wrong CRC (exp:{calculated:#x}, act:{stored:#x})")
        }
    };
    format!("     /{address:#010x}-{last:#010x} ({size:#08x})/ ({name}){verdict}\n")
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, label: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{label:COLUMN$}{value}");
    }

    fn line_if(&mut self, label: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.line(label, value);
        }
    }

    /// Format, versions, date and configuration.
    fn heading(&mut self, info: &ImageInfo) {
        let version = info.version.map(|version| version.to_string());
        self.line("Image type:", info.format);
        self.line_if(
            "FW ISSU Version:",
            Some(info.issu_version).filter(|&version| version != 0),
        );
        self.line_if("FW Version:", info.branch.clone().or(version));
        self.line_if(
            "FW Release Date:",
            info.date
                .map(|date| format!("{}.{}.{}", date.day, date.month, date.year)),
        );
        self.line_if(
            "Min FIT Version:",
            info.min_fit.map(|(a, b, c, d)| format!("{a}.{b}.{c}.{d}")),
        );
        self.line_if(
            "MIC Version:",
            info.mic_version.map(|(a, b, c)| format!("{a}.{b}.{c}")),
        );
        let set = |value: Option<u32>| value.filter(|&value| value != 0);
        self.line_if("Config Sectors:", set(info.config_sectors));
        self.line_if("Config Pad:", set(info.config_pad));
    }

    /// Names and descriptions, where there are any.
    fn texts(&mut self, info: &ImageInfo) {
        let lines = [
            ("PRS Name:", &info.prs_name),
            ("Orig PRS Name:", &info.original_prs_name),
            ("Part Number:", &info.part_number),
            ("Description:", &info.description),
            ("Product Version:", &info.product_version),
        ];
        for (label, value) in lines {
            self.line_if(label, Some(value).filter(|value| !value.is_empty()));
        }
    }

    fn roms(&mut self, info: &ImageInfo) {
        let remark = info.rom_remark.as_deref();
        let mut value = info
            .roms
            .iter()
            .map(rom_text)
            .collect::<Vec<_>>()
            .join(&format!("\n{:COLUMN$}", ""));
        match (info.roms.is_empty(), remark) {
            (true, None) => return,
            (true, Some(remark)) => value = format!("N/A (-E- {remark})"),
            (false, Some(remark)) => {
                let _ = write!(value, " (-W- {remark})");
            }
            (false, None) => {}
        }
        self.line("Rom Info:", value);
    }

    /// FS2: device id, addresses, VSD and PSID.
    fn fs2_identity(&mut self, info: &ImageInfo) {
        self.line_if("Device ID:", info.device_id);
        let enabled = |set| if set { "Enabled" } else { "Disabled" };
        self.line_if("HW Access Key:", info.hw_access_key.map(enabled));
        if let Some(Uids::Fs2 { entries }) = &info.uids {
            self.fs2_uids(entries, info.blank_guids);
        }
        let vendor = info.vsd_vendor_id.unwrap_or(0);
        if vendor == 0 || vendor == VENDOR {
            self.line("VSD:", &info.vsd);
            self.line("PSID:", info.psid.as_ref().map_or("", |psid| psid.as_str()));
        } else {
            let _ = writeln!(
                self.text,
                "-W- Not a Mellanox FW image (vendor_id = {vendor:#06x}). VSD and PSID are not displayed."
            );
        }
        if info.blank_guids {
            self.text
                .push_str("-W- GUIDs/MACs values and their CRC are not set.\n");
        }
    }

    fn fs2_uids(&mut self, entries: &[u64], blank: bool) {
        self.line(
            "Description:",
            "Node             Port1            Port2            Sys image",
        );
        let guids = entries.iter().take(4);
        let guids: String = guids.map(|guid| format!("{guid:016x} ")).collect();
        let [_, _, _, _, macs @ ..] = entries else {
            self.line("GUIDs:", guids);
            return;
        };
        if macs.len() != 2 {
            self.line(
                "GUIDs:",
                format!(
                    "{guids}-W- Cannot get MAC address: Expecting 6 entries in guid section, got {}. \
                     Probably an old FW image. Please update.\n",
                    entries.len()
                ),
            );
            return;
        }
        self.line("GUIDs:", guids);
        let values: String = macs.iter().map(|mac| format!("     {mac:012x}")).collect();
        let _ = writeln!(self.text, "MACs:{:34}{values}", "");
        if !blank {
            self.text.push_str(&mac_warnings(macs));
        }
    }

    /// FS3 and later: addresses, VSDs, PSIDs and security.
    fn identity(&mut self, info: &ImageInfo) {
        self.uids(info);
        let or_none = |text: &str| if text.is_empty() { "N/A" } else { text }.to_owned();
        self.line("Image VSD:", or_none(&info.vsd));
        self.line(
            "Device VSD:",
            or_none(info.device_vsd.as_deref().unwrap_or("")),
        );
        let psid = info.psid.as_ref().map_or("", |psid| psid.as_str());
        let original = info.original_psid.as_ref().map_or("", |psid| psid.as_str());
        self.line("PSID:", psid);
        let head = |psid: &str| psid.chars().take(PSID_LENGTH).collect::<String>();
        if !info.reduced && head(psid) != head(original) {
            self.line("Orig PSID:", or_none(original));
        }
        let attributes: Vec<String> = info
            .security
            .attributes
            .iter()
            .map(ToString::to_string)
            .collect();
        self.line("Security Attributes:", or_none(&attributes.join(", ")));
        self.line_if(
            "Security Ver:",
            info.security
                .version
                .filter(|_| info.format == ImageFormat::Fs4),
        );
        let method = if info.security.firmware_controlled {
            "fw_ctrl"
        } else {
            "Legacy"
        };
        self.line("Default Update Method:", method);
    }

    fn uids(&mut self, info: &ImageInfo) {
        let none = Uid {
            value: 0,
            count: 0,
            step: 0,
        };
        match (&info.uids, &info.original_uids) {
            (Some(Uids::TwoPorts { guids, macs }), original) => {
                self.line("Description:", "UID                GuidsNumber  Step");
                let original = match original {
                    Some(Uids::TwoPorts { guids, macs }) => Some((guids, macs)),
                    _ => None,
                };
                let single = info.model().is_some_and(|model| model.hw_id == SWITCH_IB);
                let ports = if single { 1 } else { 2 };
                for (name, values, originals) in [
                    ("GUID", guids, original.map(|(guids, _)| guids)),
                    ("MAC", macs, original.map(|(_, macs)| macs)),
                ] {
                    for (index, uid) in values.iter().take(ports).enumerate() {
                        let number = if single {
                            String::new()
                        } else {
                            (index + 1).to_string()
                        };
                        let label = format!("Base {name}{number}:");
                        let before = originals.and_then(|uids| uids.get(index));
                        self.uid_lines(&label, uid, before, Columns::WithStep);
                    }
                }
            }
            (current, original) => {
                self.line("Description:", "UID                GuidsNumber");
                let base = |uids: &Option<Uids>| match uids {
                    Some(Uids::Base { guid, mac }) => Some((*guid, *mac)),
                    _ => None,
                };
                let (guid, mac) = base(current).unwrap_or((none, none));
                let original = base(original);
                let guid_before = original.as_ref().map(|(guid, _)| guid);
                let mac_before = original.as_ref().map(|(_, mac)| mac);
                self.uid_lines("Base GUID:", &guid, guid_before, Columns::Plain);
                self.uid_lines("Base MAC:", &mac, mac_before, Columns::Plain);
            }
        }
    }

    /// One address, and the factory's where that differs.
    fn uid_lines(&mut self, label: &str, uid: &Uid, original: Option<&Uid>, columns: Columns) {
        self.line(label, uid_text(label, uid, columns));
        let differs = |original: &&Uid| {
            (original.value, original.count) != (uid.value, uid.count)
                || (columns == Columns::WithStep && original.step != uid.step)
        };
        if let Some(original) = original.filter(differs) {
            let label = format!("Orig {label}");
            self.line(&label, uid_text(&label, original, columns));
        }
    }
}

/// What stands beside an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// The count.
    Plain,
    /// Count and step.
    WithStep,
}

fn uid_text(label: &str, uid: &Uid, columns: Columns) -> String {
    let value = match uid.value {
        0 => "N/A".to_owned(),
        value if label.contains("MAC") => format!("{value:012x}"),
        value => format!("{value:016x}"),
    };
    let number = |number: u16| match number {
        0 => format!("{:7}N/A", ""),
        number => format!("{:8}{number}", ""),
    };
    let mut text = format!("{value:16}{}", number(uid.count));
    if columns == Columns::WithStep {
        text.push_str(&number(u16::from(uid.step)));
    }
    text
}

/// The warnings behind the MACs: the first MAC's stands after two empty lines, the second's after
/// one, or after none when it is alone.
fn mac_warnings(macs: &[u64]) -> String {
    let mut text = String::new();
    for (index, &mac) in macs.iter().enumerate() {
        let Some(fault) = mac_fault(mac) else {
            continue;
        };
        let gap = match (index, text.is_empty()) {
            (0, _) => "\n\n",
            (_, false) => "\n",
            (_, true) => "",
        };
        let _ = writeln!(text, "{gap}-W- Bad mac address ( {mac:012x} ): {fault}");
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Why a card would not use a MAC; `None` for a good one.
const fn mac_fault(mac: u64) -> Option<&'static str> {
    if mac & (1 << 40) != 0 {
        Some("Multicast bit (bit 40) is set.")
    } else if mac >> 48 != 0 {
        Some("More than 48 bits are used.")
    } else {
        None
    }
}

fn rom_text(rom: &RomInfo) -> String {
    let numbers: Vec<String> = rom.version.iter().map(u32::to_string).collect();
    let version = numbers.join(".");
    if rom.product_id == rom::TEXT_CLP {
        return format!("version_id={version} type={} ", rom.kind);
    }
    if !rom.is_known() {
        return format!("{} - Unknown ROM product ID\n", rom.kind);
    }
    let mut text = format!("type={} version={version}", rom.kind);
    if let Some(port) = rom.port {
        let _ = write!(text, " port={port}");
    }
    if let Some(protocol) = rom.protocol {
        let name = match protocol {
            0 => "IB",
            1 => "ETH",
            2 => "VPI",
            _ => "N/A",
        };
        let _ = write!(text, " proto={name}");
    }
    if let Some(cpu) = rom.cpu {
        let name = match cpu {
            1 => "AMD64",
            2 => "AARCH64",
            3 => "AMD64,AARCH64",
            4 => "IA32",
            _ => "N/A",
        };
        let _ = write!(text, " cpu={name}");
    }
    text
}
