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

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

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
}

/// A lab of the default host in a folder of its own.
pub struct TestLab {
    dir: TempDir,
}

impl TestLab {
    /// As new. Making one takes a moment, so it is made once and copied.
    pub fn new() -> Self {
        static TEMPLATE: OnceLock<TempDir> = OnceLock::new();
        let template = TEMPLATE.get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            let made = run(&[&lab_option(dir.path()), "lab", "new"]);
            assert_eq!(made.code, Some(0), "{made:?}");
            dir
        });
        let dir = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .args(["-a", "--sparse=always"])
            .arg(template.path().join("lab"))
            .arg(dir.path())
            .status()
            .unwrap();
        assert!(copied.success());
        Self { dir }
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

/// Runs the program without a lab.
pub fn run<S: AsRef<OsStr>>(args: &[S]) -> Ran {
    let mut command = program();
    command.args(args);
    finish(command)
}

fn lab_option(beside: &Path) -> String {
    format!("--lab={}", beside.join("lab").display())
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cxfw"));
    command.stdin(Stdio::null());
    command
}

fn finish(mut command: Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
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
