//! One PCI function, as its sysfs directory describes it (device-access 1.1).

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::Address;

/// Most bytes read from a text attribute; the kernel writes at most a page.
const ATTRIBUTE_LIMIT: u64 = 4096;

/// A PCI function: what anybody may read about it, without opening its insides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Where it sits.
    pub address: Address,
    /// Vendor id.
    pub vendor: u16,
    /// Device id; of a chip in recovery its recovery id.
    pub device: u16,
    /// Vendor id of the board maker.
    pub subsystem_vendor: u16,
    /// The board maker's id of the board.
    pub subsystem_device: u16,
    /// Class, 24 bits: base class, subclass, programming interface.
    pub class: u32,
    /// Revision of the chip; `None` where neither `revision` nor `config` can be read.
    pub revision: Option<u8>,
    /// NUMA node; `None` when the system has none or does not say.
    pub numa_node: Option<u32>,
    /// Driver bound to it.
    pub driver: Option<String>,
    /// Network interfaces, sorted by name.
    pub net: Vec<String>,
    /// RDMA devices, sorted by name.
    pub rdma: Vec<String>,
    /// Its directory below `bus/pci/devices`.
    pub path: PathBuf,
}

/// Why a function could not be described. The rest of the host is not affected.
#[derive(Debug, thiserror::Error)]
pub enum FunctionError {
    /// An attribute file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The attribute file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An attribute holds something else than a number.
    #[error("{}: expected a hexadecimal number up to {max:#x}, found `{found}`", path.display())]
    NotANumber {
        /// The attribute file.
        path: PathBuf,
        /// Largest value that fits.
        max: u32,
        /// What it holds, cut to a line.
        found: String,
    },
    /// The directory is not named after a PCI address.
    #[error("{}: the name is not a PCI address", path.display())]
    Misnamed {
        /// The directory.
        path: PathBuf,
    },
}

impl Function {
    /// Describes the function whose directory is `path`, which ends in its address.
    ///
    /// # Errors
    /// [`FunctionError`] when an identifying attribute is missing or no number. Attributes that
    /// old kernels lack (`revision`, `numa_node`) and links that depend on drivers may be absent.
    pub fn read(path: &Path) -> Result<Self, FunctionError> {
        let address = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        Ok(Self {
            address: address.ok_or_else(|| FunctionError::Misnamed {
                path: path.to_owned(),
            })?,
            vendor: id(path, "vendor")?,
            device: id(path, "device")?,
            subsystem_vendor: id(path, "subsystem_vendor")?,
            subsystem_device: id(path, "subsystem_device")?,
            class: number(path, "class", 0xff_ffff)?,
            revision: revision(path),
            numa_node: attribute(path, "numa_node").and_then(|text| text.parse().ok()),
            driver: link_name(&path.join("driver")),
            net: interfaces(path, "net"),
            rdma: interfaces(path, "infiniband"),
            path: path.to_owned(),
        })
    }
}

/// The 16-bit id in attribute `name`.
pub(super) fn id(path: &Path, name: &str) -> Result<u16, FunctionError> {
    let value = number(path, name, u32::from(u16::MAX))?;
    Ok(u16::try_from(value).unwrap_or(u16::MAX))
}

/// The hexadecimal number, at most `max`, in attribute `name`.
pub(super) fn number(path: &Path, name: &str, max: u32) -> Result<u32, FunctionError> {
    let path = path.join(name);
    let text = match read_text(&path) {
        Ok(text) => text,
        Err(source) => return Err(FunctionError::Unreadable { path, source }),
    };
    hex(&text)
        .filter(|&value| value <= max)
        .ok_or_else(|| FunctionError::NotANumber {
            path,
            max,
            found: text.chars().filter(|c| !c.is_control()).take(40).collect(),
        })
}

/// The trimmed text of attribute `name`, if it can be read and is not empty.
pub(super) fn attribute(path: &Path, name: &str) -> Option<String> {
    let text = read_text(&path.join(name)).ok()?;
    (!text.is_empty()).then_some(text)
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(ATTRIBUTE_LIMIT)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn hex(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x")?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// `revision`, or on kernels before 4.10 byte 8 of the configuration header, which anybody may read.
fn revision(path: &Path) -> Option<u8> {
    if let Ok(value) = number(path, "revision", 0xff) {
        return u8::try_from(value).ok();
    }
    let mut header = [0; 9];
    File::open(path.join("config"))
        .and_then(|mut file| file.read_exact(&mut header))
        .ok()?;
    Some(header[8])
}

fn link_name(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

/// Names below the directory `kind` (`net/eth0`), or beside it as very old kernels had them
/// (`net:eth0`).
fn interfaces(path: &Path, kind: &str) -> Vec<String> {
    let below = names(&path.join(kind));
    let mut found: Vec<String> = if below.is_empty() {
        names(path)
            .into_iter()
            .filter_map(|name| Some(name.strip_prefix(kind)?.strip_prefix(':')?.to_owned()))
            .collect()
    } else {
        below
    };
    found.sort();
    found
}

fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect()
}
