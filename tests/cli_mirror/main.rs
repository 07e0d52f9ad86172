//! `cxfw mirror` and `cxfw download`: firmware for hosts without internet, from a folder, through
//! a web server, signed, and with every byte of it in doubt.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

#[path = "../cli_common/mod.rs"]
mod cli_common;
mod download;
#[path = "../release/server/mod.rs"]
#[allow(dead_code, reason = "made for the tests of the library too")]
mod server;
#[path = "../release/system.rs"]
mod system;
mod trust;

use std::fs;
use std::path::{Path, PathBuf};

use cli_common::{Ran, TestLab, card, equal_cards, run, schema};
use serde_json::Value;

/// A lab of one card, and the firmware for it in a folder that is carried around.
struct Site {
    lab: TestLab,
    folder: PathBuf,
}

impl Site {
    fn new() -> Self {
        let lab = TestLab::of(&equal_cards(1, 0));
        let folder = lab.beside("mirror");
        fs::create_dir(&folder).unwrap();
        fs::copy(lab.bundle(), folder.join("lab.mfa")).unwrap();
        fs::write(folder.join("README"), "not firmware\n").unwrap();
        Self { lab, folder }
    }

    fn mirror(&self, options: &[&str]) -> Value {
        let words = [
            &["mirror", self.folder.to_str().unwrap(), "--format", "json"],
            options,
        ];
        let ran = run(&words.concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let document = ran.json();
        schema::check(&document, "mirror.json");
        document
    }

    fn index(&self) -> PathBuf {
        self.folder.join("index.xml")
    }

    /// `update --index FOLDER --yes`, with a cache of its own.
    fn update(&self, options: &[&str]) -> Ran {
        self.update_from(self.folder.to_str().unwrap(), options)
    }

    fn update_from(&self, place: &str, options: &[&str]) -> Ran {
        let cache = format!("--cache-dir={}", self.lab.beside("cache").display());
        let words = [
            "update", "--yes", "--index", place, &cache, "--format", "json",
        ];
        self.lab.run(&[&words[..], options].concat())
    }

    fn stored(&self) -> String {
        let card = self.lab.card("ConnectX4LX");
        card["firmware"]["stored"].as_str().unwrap().to_owned()
    }
}

fn result(ran: &Ran) -> String {
    let document = ran.json();
    let card = card(&document, "ConnectX4LX");
    card["result"].as_str().unwrap().to_owned()
}

/// Flips a bit of the byte at `at`.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 4;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_folder_becomes_a_mirror_that_updates_a_host_without_network() {
    let site = Site::new();
    let made = site.mirror(&[]);
    assert_eq!(made["changed"], true, "{made}");
    assert_eq!(made["releases"], 1);
    assert_eq!(made["examined"], serde_json::json!(["lab.mfa"]));
    assert_eq!(made["signature"], "none");
    let bytes = fs::read(site.index()).unwrap();
    let again = site.mirror(&[]);
    assert_eq!(again["changed"], false, "{again}");
    assert_eq!(again["examined"], serde_json::json!([]));
    assert_eq!(fs::read(site.index()).unwrap(), bytes);

    let ran = site.update(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let burned = card(&ran.json(), "ConnectX4LX");
    assert_eq!(burned["result"], "burned", "{burned}");
    assert_eq!(burned["source"]["kind"], "index");
    assert_eq!(burned["source"]["file"], "lab.mfa");
    assert_eq!(site.stored(), "14.32.1010");
    // A file that is here is used where it is.
    assert!(!site.lab.beside("cache/files").exists());
    assert_eq!(result(&site.update(&[])), "already_staged");
}

#[test]
fn a_damaged_file_is_left_out_and_told_of_each_time() {
    let site = Site::new();
    fs::write(site.folder.join("cut.bin"), {
        let image = cli_common::old_lx_image("MT_2420110034");
        image[..image.len() / 2].to_vec()
    })
    .unwrap();
    for _ in 0..2 {
        let ran = run(&["mirror", site.folder.to_str().unwrap()]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stdout.contains("cut.bin: left out, "), "{ran:?}");
        assert!(ran.stdout.contains("1 release(s) in 1 file(s)"), "{ran:?}");
    }
    let ran = run(&["mirror", "/nowhere", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.json()["errors"][0]["code"], "not_a_directory");
}

#[test]
fn a_folder_without_firmware_is_said_to_have_none() {
    let site = Site::new();
    fs::remove_file(site.folder.join("lab.mfa")).unwrap();
    let ran = run(&["mirror", site.folder.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("no firmware in it"), "{ran:?}");
}

#[test]
fn nginx_serves_a_mirror_through_tinyproxy() {
    let site = Site::new();
    site.mirror(&[]);
    let (web, proxy) = (system::free_port(), system::free_port());
    let Some(_nginx) = system::nginx(&site.folder, &site.lab.beside("nginx"), web) else {
        return;
    };
    let Some(_proxy) = system::tinyproxy(&site.lab.beside("tinyproxy"), proxy) else {
        return;
    };
    let place = format!("http://127.0.0.1:{web}/");
    let through = format!("--proxy=http://127.0.0.1:{proxy}");
    let ran = site.update_from(&place, &[&through]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(result(&ran), "burned", "{ran:?}");
    assert!(
        ran.stderr.contains("neither signed nor over https"),
        "{ran:?}"
    );
    assert!(site.lab.beside("cache/files").exists());
}
