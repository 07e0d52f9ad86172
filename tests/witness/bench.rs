//! A lab of one running card, both programs on it, and what the chip counted.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cxfw::image::{self, ImageInfo};
use cxfw::lab::Lab;
use cxfw::lab::build::{ImageSpec, build_image};
use cxfw::lab::chip::{Chip, ReadBack, Violations};
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::version::{Date, FwVersion};
use serde_json::Value;
use tempfile::TempDir;

use crate::cli_common::Ran;
pub use crate::cli_common::witness::{Way, tool, witness};

/// Code in the images here, bytes: the witness burns some 5 KB a second.
const CODE_SIZE: u64 = 0x2000;

/// A card of the lab, and how mstflint gets at it.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Name in the default host.
    pub name: &'static str,
    /// Ways that differ.
    pub ways: &'static [Way],
    /// Its firmware shows the flash to nobody.
    pub flash_is_closed: bool,
}

/// FS2.
pub const CONNECTX_3: Subject = Subject {
    name: "cx3-10g",
    ways: &[Way::Firmware, Way::Gateway],
    flash_is_closed: false,
};
/// FS3.
pub const CONNECTX_4_LX: Subject = Subject {
    name: "cx4lx",
    ways: &[Way::Firmware, Way::Registers, Way::Gateway],
    flash_is_closed: false,
};
/// FS4.
pub const CONNECTX_5: Subject = Subject {
    name: "cx5-recovery",
    ways: &[Way::Firmware, Way::Registers, Way::Gateway],
    flash_is_closed: false,
};
/// FS4; secure firmware lets nobody at the flash.
pub const CONNECTX_6_DX: Subject = Subject {
    name: "cx6dx",
    ways: &[Way::Firmware],
    flash_is_closed: true,
};

/// Whether tests that can be shortened must not be (`CXFW_WITNESS=full`).
pub fn full() -> bool {
    std::env::var("CXFW_WITNESS").is_ok_and(|value| value == "full")
}

/// A lab with one card.
pub struct Bench {
    dir: TempDir,
    lab: Lab,
    host: HostSpec,
    address: String,
    name: &'static str,
}

impl Bench {
    pub fn new(subject: Subject) -> Self {
        Self::with_code(subject, CODE_SIZE)
    }

    /// With `code_size` bytes of code in every image.
    pub fn with_code(subject: Subject, code_size: u64) -> Self {
        Self::with(subject, code_size, |_| ())
    }

    /// With secure firmware that hands out what it is said to.
    pub fn handing_out(subject: Subject, read_back: ReadBack) -> Self {
        Self::with(subject, CODE_SIZE, |card| card.read_back = read_back)
    }

    /// With a flash of `size` bytes and slots of 2^`slot_log2`.
    pub fn with_flash(subject: Subject, size: u32, slot_log2: u8) -> Self {
        Self::with(subject, CODE_SIZE, |card| {
            card.flash.size = size;
            card.flash.slot_log2 = Some(slot_log2);
        })
    }

    fn with(subject: Subject, code_size: u64, change: impl FnOnce(&mut CardSpec)) -> Self {
        let mut host = HostSpec::default_host().unwrap();
        host.cards.retain(|card| card.name == subject.name);
        host.adapters.clear();
        host.cards[0].recovery = false;
        host.cards[0].firmware.code_size = code_size;
        change(&mut host.cards[0]);
        host.offers.retain(|offer| offer.psid == host.cards[0].psid);
        host.offers[0].firmware.code_size = code_size;
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::create(&dir.path().join("lab"), &host).unwrap();
        Self {
            dir,
            lab,
            address: host.cards[0].address.to_string(),
            host,
            name: subject.name,
        }
    }

    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    pub fn chip(&self) -> &Chip {
        self.lab.chip(self.name).unwrap()
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// An image for the card, newer than what it runs, in a file.
    pub fn image(&self, version: FwVersion) -> PathBuf {
        let mut spec: ImageSpec = self.host.offers[0].image_spec().unwrap();
        spec.version = version;
        spec.slot_log2 = self.host.cards[0].image_spec().unwrap().slot_log2;
        spec.date = Date {
            year: 2024,
            month: 11,
            day: 7,
        };
        spec.product_version = "rel-witness".to_owned();
        let path = self.beside(&format!("{version}.bin"));
        std::fs::write(&path, build_image(&spec).unwrap()).unwrap();
        path
    }

    /// The version the card was made with, and one after it.
    pub fn versions(&self) -> (FwVersion, FwVersion) {
        let old = self.host.cards[0].firmware.version;
        (old, FwVersion::new(old.major, old.minor + 1, 2020))
    }

    /// What stands on the flash, seen past every lock.
    pub fn flash(&self) -> ImageInfo {
        let chip = self.chip();
        let size = chip.spec().flash_size;
        let bytes = chip.read_flash(0, size).unwrap();
        let format = self.host.cards[0].model().unwrap().format;
        image::query_flash(&bytes.as_slice(), format).unwrap()
    }

    /// The program on this lab, not started.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cxfw"));
        command
            .arg(format!("--lab={}", self.lab.dir().display()))
            .args(args)
            .stdin(Stdio::null());
        command
    }

    pub fn cxfw<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        finish(self.command(args))
    }

    /// What cxfw says of the card. Nothing it did may be what a tool must never do.
    pub fn query(&self) -> Value {
        let ran = self.cxfw(&["query", "--format", "json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        self.assert_well_behaved();
        ran.json()["cards"][0].clone()
    }

    /// The witness, not started.
    pub fn mstflint_command<S: AsRef<OsStr>>(&self, way: Way, args: &[S]) -> Command {
        let mut command = self.command(&["lab", "exec", "--", "mstflint", "-d"]);
        // "03:00.0", as administrators type it
        command
            .arg(self.address.trim_start_matches("0000:"))
            .args(way.options())
            .args(args);
        command
    }

    pub fn mstflint<S: AsRef<OsStr>>(&self, way: Way, args: &[S]) -> Ran {
        finish(self.mstflint_command(way, args))
    }

    /// What the witness says of the card.
    pub fn witness_query(&self, way: Way) -> String {
        let ran = self.mstflint(way, &["query", "full"]);
        assert_eq!(ran.code, Some(0), "{way:?}: {ran:?}");
        ran.stdout
    }

    /// Burns the image in `file` by writing the flash, past the firmware's update.
    pub fn burn_directly(&self, file: &Path) {
        let image = file.to_str().unwrap();
        let ran = self.cxfw(&[
            "update",
            "-d",
            &self.address,
            "--image",
            image,
            "--method",
            "direct",
            "--no-backup",
            "--yes",
            "--format",
            "json",
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.json()["cards"][0]["method"], "direct");
        self.assert_well_behaved();
    }

    pub fn reset(&self) {
        self.lab.reset().unwrap();
    }

    pub fn assert_well_behaved(&self) {
        assert_eq!(self.chip().violations(), Violations::default());
    }
}

pub fn finish(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
