//! Labs for tests that run the program as users do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot make or run a lab has failed"
)]
#![allow(
    dead_code,
    reason = "every test binary uses another part of this module"
)]

pub mod schema;
pub mod witness;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use cxfw::lab::host::{BridgeSpec, HostSpec};
use serde_json::Value;
use tempfile::TempDir;

/// What a run of the program left behind.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// stderr from its first advice on, which there must be.
    pub fn advice(&self) -> &str {
        let at = self.stderr.find("advice: ");
        let at = at.unwrap_or_else(|| panic!("no advice: {self:?}"));
        self.stderr[at..].trim_end()
    }
}

/// A lab of the default host in a folder of its own.
pub struct TestLab {
    dir: TempDir,
}

impl TestLab {
    /// As new. Making one takes a moment, so it is made once and copied.
    pub fn new() -> Self {
        static TEMPLATE: OnceLock<TestLab> = OnceLock::new();
        let template = TEMPLATE.get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            let lab = Self { dir };
            let made = lab.run(&["lab", "new"]);
            assert_eq!(made.code, Some(0), "{made:?}");
            lab
        });
        template.copy()
    }

    /// The same once more, in a folder of its own.
    pub fn copy(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .args(["-a", "--sparse=always"])
            .arg(self.path())
            .arg(dir.path())
            .status()
            .unwrap();
        assert!(copied.success());
        Self { dir }
    }

    /// A lab of this host.
    pub fn of(host: &HostSpec) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let description = dir.path().join("host.json");
        fs::write(&description, serde_json::to_vec(host).unwrap()).unwrap();
        let lab = Self { dir };
        let made = lab.run(&[
            OsStr::new("lab"),
            OsStr::new("new"),
            OsStr::new("--host"),
            description.as_os_str(),
        ]);
        assert_eq!(made.code, Some(0), "{made:?}");
        lab
    }

    /// The lab's folder.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("lab")
    }

    /// A path beside the lab, for files of a test.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The lab's own bundle.
    pub fn bundle(&self) -> PathBuf {
        let folder = fs::read_dir(self.path().join("firmware")).unwrap();
        let mut files: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1);
        files.remove(0)
    }

    /// Runs the program on this lab.
    pub fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        finish(self.command(args))
    }

    /// The program on this lab, not started.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = program();
        command.arg(lab_option(self.dir.path())).args(args);
        command
    }

    /// What `query` says, as JSON.
    pub fn query(&self) -> Value {
        let ran = self.run(&["query", "--format", "json"]);
        ran.json()
    }

    /// The card of this type in the JSON of `query`.
    pub fn card(&self, kind: &str) -> Value {
        card(&self.query(), kind)
    }

    /// What the lab says of each card: what went by on it, and what is wrong with it.
    pub fn status_of_cards(&self) -> Vec<Value> {
        let ran = self.run(&["lab", "status", "--format", "json"]);
        ran.json()["cards"].as_array().unwrap().clone()
    }

    /// No card has seen what a tool must never do.
    pub fn assert_well_behaved(&self) {
        for card in self.status_of_cards() {
            let violations = card["violations"].as_object().unwrap();
            assert!(!violations.is_empty(), "{card}");
            assert!(violations.values().all(|count| *count == 0), "{card}");
        }
    }

    /// Restarts the host.
    pub fn reset(&self) {
        let ran = self.run(&["lab", "reset"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    /// The contents of every flash.
    pub fn flashes(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let cards = fs::read_dir(self.path().join("cards")).unwrap();
        cards
            .map(|entry| {
                let path = entry.unwrap().path().join("flash.bin");
                let contents = fs::read(&path).unwrap();
                (path, contents)
            })
            .collect()
    }
}

/// The first card of this type.
pub fn card(document: &Value, kind: &str) -> Value {
    let cards = document["cards"].as_array().unwrap();
    let found = cards.iter().find(|card| card["type"] == kind);
    found
        .unwrap_or_else(|| panic!("no {kind} in {document}"))
        .clone()
}

/// What tells one card from every other, in the JSON of a query.
pub fn identity(card: &Value) -> Vec<Value> {
    let fields = [
        "base_mac",
        "base_guid",
        "port_macs",
        "port_guids",
        "original_base_mac",
        "serial",
    ];
    fields.map(|field| card[field].clone()).to_vec()
}

/// Runs the program without a lab.
pub fn run<S: AsRef<OsStr>>(args: &[S]) -> Ran {
    let mut command = program();
    command.args(args);
    finish(command)
}

/// Runs the program without a lab in this folder.
pub fn run_in<S: AsRef<OsStr>>(folder: &Path, args: &[S]) -> Ran {
    let mut command = program();
    command.args(args).current_dir(folder);
    finish(command)
}

/// Runs the program without a lab, `input` coming through a pipe.
pub fn run_with_input<S: AsRef<OsStr>>(args: &[S], input: &[u8]) -> Ran {
    let mut command = program();
    command.args(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    read(&child.wait_with_output().unwrap())
}

fn lab_option(beside: &Path) -> String {
    format!("--lab={}", beside.join("lab").display())
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cxfw"));
    // The configuration of the machine that runs the tests has no say in them.
    command.stdin(Stdio::null()).env("CXFW_CONFIG", "/dev/null");
    command
}

/// Runs a command to its end.
pub fn finish(mut command: Command) -> Ran {
    read(&command.output().unwrap())
}

fn read(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ran {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// An image of the ConnectX-4 Lx that is older than any the lab has.
pub fn old_lx_image(psid: &str) -> Vec<u8> {
    use cxfw::identity::Psid;
    use cxfw::lab::build::{ImageSpec, build_image};
    use cxfw::version::FwVersion;
    let model = cxfw::model::by_pci_id(0x1015).unwrap();
    let version = FwVersion::new(14, 20, 1030);
    build_image(&ImageSpec::new(model, Psid::new(psid).unwrap(), version)).unwrap()
}

/// A host of `count` ConnectX-4 Lx of one board on buses of their own, 0x20 and up, with a small
/// image on offer for it. A config cycle takes `cycle` nanoseconds.
pub fn equal_cards(count: u8, cycle: u64) -> HostSpec {
    let mut host = HostSpec::default_host().unwrap();
    let board = "MT_2420110034";
    let model = host.cards.iter().find(|card| card.psid.as_str() == board);
    let mut model = model.unwrap().clone();
    model.cycle_delay_ns = cycle;
    model.firmware.code_size = SMALL_CODE;
    host.offers.retain(|offer| offer.psid.as_str() == board);
    host.offers[0].firmware.code_size = SMALL_CODE;
    let root = host.bridge_to(0, model.address.bus).unwrap().clone();
    host.adapters.clear();
    host.bridges.clear();
    host.cards.clear();
    for number in 0..count {
        let bus = 0x20 + number;
        let mut card = model.clone();
        card.name = format!("card-{number}");
        card.address.bus = bus;
        card.serial = format!("MT2000X{number:05}");
        card.mac = format!("0c42a100{number:02x}00").parse().unwrap();
        card.guid = format!("0c42a1030000{number:02x}00").parse().unwrap();
        for (port, function) in card.functions.iter_mut().enumerate() {
            function.net = vec![format!("enp{bus}s0f{port}np{port}")];
            function.rdma = Some(format!("mlx5_{}", usize::from(number) * 2 + port));
        }
        host.cards.push(card);
        host.bridges.push(BridgeSpec {
            address: format!("0000:00:{number:02x}.0").parse().unwrap(),
            secondary_bus: bus,
            ..root.clone()
        });
    }
    host
}

/// Bytes of code in a small image.
const SMALL_CODE: u64 = 0x4000;
