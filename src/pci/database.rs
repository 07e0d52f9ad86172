//! The host's own `pci.ids`: names of every vendor's devices.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Most bytes read; the database has 1.5 MB.
const SIZE_LIMIT: u64 = 16 << 20;

/// Names by vendor and device id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Database {
    devices: HashMap<(u16, u16), String>,
}

impl Database {
    /// Names of the devices asked for, from the first of these files that can be read; none when
    /// there is no such file.
    #[must_use]
    pub fn load(files: &[impl AsRef<Path>], wanted: &[(u16, u16)]) -> Self {
        let found = files
            .iter()
            .find_map(|path| read(path.as_ref(), wanted).ok());
        Self {
            devices: found.unwrap_or_default(),
        }
    }

    /// Name of a device, if it was asked for and the database has it.
    #[must_use]
    pub fn device(&self, vendor: u16, device: u16) -> Option<&str> {
        self.devices.get(&(vendor, device)).map(String::as_str)
    }
}

/// Lines are `8086  Intel Corporation`, then `<tab>1563  Ethernet Controller X550`; two tabs start
/// a subsystem. The list of classes at the end, whose lines start with `C`, has no ids.
fn read(path: &Path, wanted: &[(u16, u16)]) -> io::Result<HashMap<(u16, u16), String>> {
    let mut devices = HashMap::new();
    let mut vendor = None;
    for line in BufReader::new(File::open(path)?.take(SIZE_LIMIT)).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        match line.strip_prefix('\t') {
            None if line.is_empty() || line.starts_with('#') => {}
            None => vendor = entry(&line).map(|(id, _)| id),
            Some(device) => {
                if let (Some(vendor), Some((id, name))) = (vendor, entry(device))
                    && wanted.contains(&(vendor, id))
                {
                    devices.insert((vendor, id), name.to_owned());
                }
            }
        }
    }
    Ok(devices)
}

/// Four hexadecimal digits, two blanks, a name.
fn entry(line: &str) -> Option<(u16, &str)> {
    let (id, name) = line.split_once("  ")?;
    let digits = id.len() == 4 && id.bytes().all(|b| b.is_ascii_hexdigit());
    Some((
        digits.then(|| u16::from_str_radix(id, 16).ok())??,
        name.trim(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# A list\n\
        8086  Intel Corporation\n\
        \t1048  82597EX 10GbE Ethernet Controller\n\
        \t\t8086 a11f  PRO/10GbE LR Server Adapter\n\
        \t1563  Ethernet Controller X550\n\
        \n\
        1d6a  Aquantia Corp.\n\
        \t07b1  AQtion AQC107 NBase-T\n\
        C 02  Network controller\n\
        \t00  Ethernet controller\n\
        broken\n\
        \t1563  of no vendor\n";

    #[test]
    fn only_what_was_asked_for_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pci.ids");
        std::fs::write(&file, TEXT).unwrap();
        let missing = folder.path().join("nowhere");
        let wanted = [(0x8086, 0x1563), (0x1d6a, 0x07b1), (0x8086, 0x9999)];
        let names = Database::load(&[missing, file], &wanted);
        assert_eq!(
            names.device(0x8086, 0x1563),
            Some("Ethernet Controller X550")
        );
        assert_eq!(names.device(0x1d6a, 0x07b1), Some("AQtion AQC107 NBase-T"));
        assert_eq!(names.device(0x8086, 0x1048), None);
        assert_eq!(names.device(0x8086, 0x9999), None);
    }

    #[test]
    fn a_host_without_the_database_has_no_names() {
        let names = Database::load(&["/nonexistent/pci.ids"], &[(0x8086, 0x1563)]);
        assert_eq!(names, Database::default());
    }
}
