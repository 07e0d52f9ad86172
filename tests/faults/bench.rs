//! Labs of one card each, a new image and a backup for it, and the commands that are tried on it.

use std::sync::OnceLock;
use std::{fs, process};

use cxfw::lab::Lab;
use cxfw::lab::host::HostSpec;
use serde_json::Value;

use crate::cli_common::{self, Ran, TestLab, finish};
use crate::one_card::{self, FLASH, newer, published};

/// A card and the way to its flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// ConnectX-3 (FS2): by the legacy gateway, the only way.
    ConnectX3,
    /// ConnectX-4 Lx (FS3): through the running firmware (MFBA, MFBE).
    Lx,
    /// ConnectX-5 (FS4): through the running firmware.
    ConnectX5,
    /// ConnectX-5 in recovery: by the flash gateway.
    Recovery,
}

pub use Way::{ConnectX3, ConnectX5, Lx, Recovery};

impl Way {
    const fn card(self) -> &'static str {
        match self {
            ConnectX3 => "cx3-10g",
            Lx => "cx4lx",
            ConnectX5 | Recovery => "cx5-recovery",
        }
    }

    fn host(self, minor: u16) -> HostSpec {
        one_card::host(self.card(), |card| {
            // with new firmware no card is in recovery
            card.recovery = self == Recovery && minor == 0;
            card.firmware.version = newer(card, minor);
            card.firmware.code_size = 0x1000;
            card.firmware.roms.clear();
        })
    }
}

/// What is made once for a way, and copied.
struct Made {
    lab: TestLab,
    host: HostSpec,
    image: Vec<u8>,
    /// The flash of the same card with the new firmware.
    flash: Vec<u8>,
}

impl Made {
    fn of(way: Way) -> &'static Self {
        static MADE: [OnceLock<Made>; 4] = [const { OnceLock::new() }; 4];
        MADE[way as usize].get_or_init(|| {
            let host = way.host(0);
            let card = &host.cards[0];
            let updated = TestLab::of(&way.host(1));
            let opened = Lab::open(&updated.path()).unwrap();
            let chip = opened.chip(way.card()).unwrap();
            Self {
                lab: TestLab::of(&host),
                image: published(card, newer(card, 1)),
                flash: chip.read_flash(0, FLASH).unwrap(),
                host,
            }
        })
    }
}

/// What is done with a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `update --method direct`; of a card in recovery and of ConnectX-3 without the option.
    Direct,
    /// `update` through the firmware.
    Component,
    Restore,
    /// `backup`: everything, twice.
    Backup,
    /// `update` with the copy before it: what is in use.
    Saving,
}

impl Command {
    pub const fn burns(self) -> bool {
        !matches!(self, Self::Backup)
    }
}

/// A lab of one card.
pub struct Bench {
    pub lab: TestLab,
    pub way: Way,
    /// Its address.
    pub device: String,
    /// What the card boots.
    pub old: String,
    /// What a burn brings.
    pub new: String,
}

impl Bench {
    pub fn new(way: Way) -> Self {
        let made = Made::of(way);
        let card = &made.host.cards[0];
        let lab = made.lab.copy();
        fs::write(lab.beside("new.bin"), &made.image).unwrap();
        fs::write(lab.beside("backup.bin"), &made.flash).unwrap();
        Self {
            lab,
            way,
            device: card.address.to_string(),
            old: card.firmware.version.to_string(),
            new: newer(card, 1).to_string(),
        }
    }

    /// `lab fault CARD KIND`.
    pub fn break_card(&self, kind: &str) {
        let kind: Vec<&str> = kind.split(' ').collect();
        let ran = self
            .lab
            .run(&[&["lab", "fault", self.way.card()], &kind[..]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    /// Makes every config cycle take so many nanoseconds.
    pub fn slow_down(&self, cycle: u32) {
        let path = self.lab.path().join("lab.json");
        let mut made: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        made["host"]["cards"][0]["cycle_delay_ns"] = cycle.into();
        fs::write(&path, serde_json::to_vec(&made).unwrap()).unwrap();
    }

    /// Runs a command on the card.
    pub fn run(&self, command: Command) -> Ran {
        finish(self.command(command, &["--no-progress"]))
    }

    /// The same, not started.
    pub fn command(&self, command: Command, more: &[&str]) -> process::Command {
        let file = |name: &str| self.lab.beside(name).to_str().unwrap().to_owned();
        let (image, backup) = (file("new.bin"), file("backup.bin"));
        let copy = file("copy.bin");
        let update = ["update", "--yes", "--no-backup", "--image", &image];
        let args = match command {
            Command::Direct if matches!(self.way, Lx | ConnectX5) => {
                [&update[..], &["--method", "direct"]].concat()
            }
            Command::Direct | Command::Component => update.to_vec(),
            Command::Restore => vec!["restore", "--yes", "--no-backup", &backup],
            Command::Backup => vec!["backup", "-o", &copy],
            Command::Saving => [&update[..2], &update[3..]].concat(),
        };
        let card = ["-d", &self.device, "--format", "json"];
        self.lab.command(&[&args[..], &card, more].concat())
    }

    /// The card in the JSON of a query.
    pub fn card(&self) -> Value {
        self.lab.query()["cards"][0].clone()
    }

    /// Who the card is.
    pub fn identity(&self) -> Vec<Value> {
        cli_common::identity(&self.card())
    }

    /// The old firmware boots, or nothing does where nothing did.
    pub fn assert_boots_old(&self) {
        let card = self.card();
        if self.way == Recovery {
            assert_eq!(card["recovery"], true, "{card}");
        } else {
            assert_eq!(card["firmware"]["stored"], *self.old, "{card}");
            assert_eq!(card["firmware"]["running"], *self.old, "{card}");
        }
    }

    /// The card restarts into the new firmware.
    pub fn assert_runs_new(&self) {
        self.lab.reset();
        let card = self.card();
        assert_eq!(card["recovery"], false, "{card}");
        assert_eq!(card["firmware"]["running"], *self.new, "{card}");
        assert_eq!(card["error"], Value::Null, "{card}");
    }
}
