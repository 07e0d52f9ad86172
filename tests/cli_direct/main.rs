//! Burns past the firmware's update interface: ConnectX-3, `--method direct`, cards in recovery and
//! changes of the board, by the whole program.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program has failed"
)]

mod addresses;
mod broken;
#[path = "../cli_common/mod.rs"]
mod cli_common;
mod methods;
mod other_board;
mod recovery;
mod several;

use std::fs;
use std::path::PathBuf;

use cli_common::{Ran, TestLab, schema};
use cxfw::identity::Psid;
use cxfw::lab::build::build_image;
use cxfw::lab::host::{CardSpec, HostSpec};
use cxfw::version::FwVersion;
use serde_json::Value;

/// Bytes of code in the images here.
const SMALL_CODE: u64 = 0x4000;
const CX3: &str = "01:00.0";
const CX3_40G: &str = "02:00.0";
const LX: &str = "03:00.0";
const CX6DX: &str = "41:00.0";
const CX5: &str = "81:00.0";

/// The default host with small images; its ConnectX-5 runs.
fn small_host() -> HostSpec {
    let mut host = HostSpec::default_host().unwrap();
    for card in &mut host.cards {
        card.firmware.code_size = SMALL_CODE;
        card.recovery = false;
    }
    for offer in &mut host.offers {
        offer.firmware.code_size = SMALL_CODE;
    }
    host
}

fn small() -> TestLab {
    TestLab::of(&small_host())
}

/// The small host with its ConnectX-5 in recovery.
fn with_recovery() -> TestLab {
    let mut host = small_host();
    card_at(&mut host, CX5).recovery = true;
    TestLab::of(&host)
}

fn card_at<'h>(host: &'h mut HostSpec, address: &str) -> &'h mut CardSpec {
    let at = |card: &&mut CardSpec| card.address.to_string().ends_with(address);
    host.cards.iter_mut().find(at).unwrap()
}

impl TestLab {
    /// An update of one card, as JSON, that ends with this code.
    fn update(&self, device: &str, args: &[&str], code: i32) -> Value {
        let ran = self.update_text(device, &[args, &["--yes", "--format", "json"]].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        let document = ran.json();
        schema::check(&document, "update.json");
        document["cards"][0].clone()
    }

    /// Without the copy of the old firmware, which has tests of its own.
    fn update_text(&self, device: &str, args: &[&str]) -> Ran {
        let ran = self.run(&[&["update", "--no-backup", "-d", device], args].concat());
        self.assert_well_behaved();
        ran
    }

    fn one(&self, device: &str) -> Value {
        let ran = self.run(&["query", "--format", "json", "-d", device]);
        ran.json()["cards"][0].clone()
    }

    /// Restarts the host and says what the card runs.
    fn restart(&self, device: &str) -> Value {
        self.reset();
        let card = self.one(device);
        assert_eq!(card["recovery"], false, "{card}");
        card["firmware"]["running"].clone()
    }

    /// Flash operations on a card since the lab was made.
    fn flash_operations(&self, device: &str) -> u64 {
        let cards = self.status_of_cards();
        let at = |card: &&Value| card["device"].as_str().unwrap().ends_with(device);
        let counters = &cards.iter().find(at).unwrap()["counters"];
        let count = |name: &str| counters[name].as_u64().unwrap();
        count("flash_erases") + count("flash_programs")
    }

    /// An image in a file, for a board of the chip of the card called `name`.
    fn image(&self, name: &str, psid: &str, version: FwVersion) -> PathBuf {
        let mut host = small_host();
        let card = host
            .cards
            .iter_mut()
            .find(|card| card.name == name)
            .unwrap();
        card.psid = Psid::new(psid).unwrap();
        card.firmware.version = version;
        let path = self.beside(&format!("{psid}-{version}.bin"));
        fs::write(&path, build_image(&card.image_spec().unwrap()).unwrap()).unwrap();
        path
    }

    /// The image of the lab's bundle for a board, in a file.
    fn extracted(&self, psid: &str) -> PathBuf {
        let path = self.beside(&format!("{psid}.bin"));
        let bundle = self.bundle();
        let ran = self.run(&[
            "extract",
            bundle.to_str().unwrap(),
            "--psid",
            psid,
            "-o",
            path.to_str().unwrap(),
        ]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        path
    }
}
