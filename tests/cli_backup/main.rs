//! Backups and the way back, with the whole program on simulated cards of every image format.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod before_a_burn;
#[path = "../cli_common/mod.rs"]
mod cli_common;
mod damaged;
mod full_disk;
mod image_alone;
#[path = "../one_card/mod.rs"]
mod one_card;
mod restore;
mod save;
mod secure;
mod way_back;
mod whose;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cli_common::{Ran, TestLab};
use cxfw::image;
use cxfw::lab::Lab;
use cxfw::lab::host::CardSpec;
use one_card::{FLASH, newer, published};
use serde_json::Value;

/// A lab of one card with a small flash.
struct Bench {
    lab: TestLab,
    card: CardSpec,
    device: String,
}

impl Bench {
    fn new(name: &str) -> Self {
        Self::with(name, |_| ())
    }

    fn with(name: &str, change: impl FnOnce(&mut CardSpec)) -> Self {
        let host = one_card::host(name, change);
        let card = host.cards[0].clone();
        Self {
            lab: TestLab::of(&host),
            device: card.address.to_string(),
            card,
        }
    }

    /// `command -d DEV args`.
    fn run(&self, command: &str, args: &[&str]) -> Ran {
        self.lab
            .run(&[&[command, "-d", &self.device], args].concat())
    }

    fn query(&self) -> Value {
        let document = self.lab.query();
        assert_eq!(
            document["errors"].as_array().unwrap().len(),
            0,
            "{document}"
        );
        document["cards"][0].clone()
    }

    /// A file beside the lab.
    fn file(&self, name: &str) -> String {
        self.lab.beside(name).to_str().unwrap().to_owned()
    }

    /// Saves the whole flash into a file beside the lab.
    fn backup(&self, name: &str) -> String {
        let file = self.file(name);
        let ran = self.run("backup", &["-o", &file]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        file
    }

    /// An image of this board that is `minor` newer, in a file.
    fn image(&self, minor: u16) -> String {
        let file = self.file(&format!("image-{minor}.bin"));
        fs::write(&file, published(&self.card, newer(&self.card, minor))).unwrap();
        file
    }

    /// Burns a newer firmware and restarts into it.
    fn update(&self) {
        let image = self.image(1);
        let ran = self.run("update", &["--yes", "--no-backup", "--image", &image]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        self.lab.reset();
    }

    fn flash(&self) -> Vec<u8> {
        let lab = Lab::open(&self.lab.path()).unwrap();
        let chip = lab.chip(&self.card.name).unwrap();
        chip.read_flash(0, FLASH).unwrap()
    }

    /// The bytes of the image that boots from a flash.
    fn image_on(&self, flash: &[u8]) -> Vec<u8> {
        let format = self.card.image_spec().unwrap().model.format;
        let layout = image::flash_layout(&flash, format).unwrap();
        image::whole_at(&flash, layout.start).unwrap().bytes
    }

    /// The backups that burns have left.
    fn automatic(&self) -> Vec<PathBuf> {
        files(&self.lab.path().join("backups"))
    }
}

/// What is in a folder, hidden or not, oldest first; nothing where there is none. Names do not tell:
/// two of one second end in `Z.bin` and `Z-2.bin`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    files
}

/// Who a card is, in the JSON of a query: its addresses, and its board.
fn identity(card: &Value) -> (Vec<Value>, Value, Value) {
    (
        cli_common::identity(card),
        card["psid"].clone(),
        card["part_number"].clone(),
    )
}

fn stored(card: &Value) -> String {
    card["firmware"]["stored"].as_str().unwrap().to_owned()
}

/// The `n`-th text between backquotes.
fn quoted(text: &str, n: usize) -> String {
    text.split('`').nth(2 * n + 1).unwrap().to_owned()
}

/// Runs a command as a user types it.
fn shell(bench: &Bench, command: &str, more: &str) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_cxfw")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{command} {more}")])
        .env("PATH", path)
        .current_dir(bench.lab.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
