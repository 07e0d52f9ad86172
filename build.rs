//! Emits the names of vendor 15b3's devices and subsystems, as two sorted tables, so that the
//! program carries these few and not the names of every vendor.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, error, fs};

use pci_ids::{FromId, Vendor};

/// Mellanox, now NVIDIA networking.
const VENDOR: u16 = 0x15b3;

fn main() -> Result<(), Box<dyn error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let vendor = Vendor::from_id(VENDOR).ok_or("pci-ids does not know vendor 15b3")?;
    let mut devices: Vec<_> = vendor.devices().collect();
    devices.sort_by_key(|device| device.id());

    let mut names = String::from("static DEVICES: &[(u16, &str)] = &[\n");
    let mut boards = String::from("static SUBSYSTEMS: &[((u16, u16, u16), &str)] = &[\n");
    for device in devices {
        writeln!(names, "({:#06x}, {:?}),", device.id(), device.name())?;
        let mut subsystems: Vec<_> = device.subsystems().collect();
        subsystems.sort_by_key(|board| (board.subvendor(), board.subdevice()));
        for board in subsystems {
            let (vendor, id) = (board.subvendor(), board.subdevice());
            let key = format!("({:#06x}, {vendor:#06x}, {id:#06x})", device.id());
            writeln!(boards, "({key}, {:?}),", board.name())?;
        }
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    fs::write(out.join("pci_names.rs"), format!("{names}];\n{boards}];\n"))?;
    Ok(())
}
