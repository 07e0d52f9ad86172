//! `cxfw update --online` against a server of the vendor's protocol on loopback, over TLS.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

#[path = "../cli_common/mod.rs"]
mod cli_common;
mod faults;
mod index_faults;
mod interrupt;
mod options;
#[path = "../release/server/mod.rs"]
#[allow(dead_code, reason = "made for the tests of the library too")]
mod server;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use cli_common::{Ran, TestLab, card, schema};
use serde_json::{Value, json};
use server::certificate::{Authority, Kind};
use server::{Fault, Reply, Request, Server};

/// Board that is out of date in the lab.
const BOARD: &str = "MT_2420110034";
const NOTES: &str = "https://docs.example.invalid/14.32.1010\nSecond line";

/// A lab, a server that has the lab's own bundle, and what the program needs to get there.
struct Site {
    lab: TestLab,
    authority: Authority,
    ca: PathBuf,
    bundle: Vec<u8>,
}

impl Site {
    fn new() -> Self {
        let lab = TestLab::new();
        let authority = Authority::new();
        let ca = authority.file(lab.path().parent().unwrap());
        let bundle = fs::read(lab.bundle()).unwrap();
        // Patient enough for a busy machine, and not more.
        let config = "[timeouts]\nconnect = 5\nstall = 1\ngrace = 3\nslowest = 1048576\nattempts = 2\npause = 0.01\n";
        fs::write(lab.beside("config.toml"), config).unwrap();
        Self {
            lab,
            authority,
            ca,
            bundle,
        }
    }

    /// A server that lists the board's new firmware, and whose file is `file`.
    fn server(&self, file: impl Fn(&Request, &[u8]) -> Reply + Send + Sync + 'static) -> Server {
        let bundle = self.bundle.clone();
        Server::start(&self.authority, Kind::Good, move |request| {
            if request.method == "POST" {
                Reply::new(200, answer(request).to_string())
            } else {
                file(request, &bundle)
            }
        })
    }

    /// The same, but the first answer with the file, of so many bytes, has a fault.
    fn server_with_a_fault(
        &self,
        fault: impl Fn(usize) -> Fault + Send + Sync + 'static,
    ) -> Server {
        let requests = AtomicUsize::new(0);
        self.server(move |request, bytes| {
            let reply = file(request, bytes);
            match requests.fetch_add(1, Ordering::SeqCst) {
                0 => reply.fault(fault(bytes.len())),
                _ => reply,
            }
        })
    }

    /// Runs `command --online` on the lab with this server.
    fn online(&self, server: &Server, words: &[&str]) -> Ran {
        let url = server.url.clone();
        self.at(&url, words)
    }

    fn at(&self, url: &str, words: &[&str]) -> Ran {
        self.with(&[words, &["--online", "--server-url", url]].concat())
    }

    fn with(&self, words: &[&str]) -> Ran {
        self.lab.run(&self.words(words))
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let option = |name: &str, path: PathBuf| format!("--{name}={}", path.display());
        let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        all.extend([
            option("cafile", self.ca.clone()),
            option("cache-dir", self.cache()),
            option("config", self.lab.beside("config.toml")),
            "--proxy=none".to_owned(),
        ]);
        all
    }

    fn cache(&self) -> PathBuf {
        self.lab.beside("cache")
    }

    /// Nothing was written to any card since the lab was made, and no update was begun.
    fn assert_untouched(&self, about: &str) {
        let ran = self.lab.run(&["lab", "status", "--format", "json"]);
        for card in ran.json()["cards"].as_array().unwrap() {
            for counter in ["flash_erases", "flash_programs"] {
                assert_eq!(card["counters"][counter], 0, "{about}: {card}");
            }
            let registers = card["registers"].as_array().unwrap();
            let update = registers.iter().find(|register| register["name"] == "MCC");
            assert_eq!(update, None, "{about}: {card}");
        }
    }

    /// Files in the cache under names of their own: whole ones.
    fn kept(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut queue = vec![self.cache().join("files")];
        while let Some(folder) = queue.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                if path.is_dir() {
                    queue.push(path);
                } else if !name.starts_with('.') {
                    names.push(name);
                }
            }
        }
        names.sort();
        names
    }
}

/// What the service answers: new firmware for one board, nothing for the others.
fn answer(request: &Request) -> Value {
    let asked: Value = serde_json::from_slice(&request.body).unwrap();
    let psids = asked["psids"].as_str().unwrap();
    let one = |psid: &str| {
        if psid == BOARD {
            json!({"PSID": psid, "Found": 1, "Type": "MFA", "Name": "lab.mfa", "URL": "fw/lab.mfa",
                   "Release_note": NOTES, "Ver": {"FW": "14.32.1010", "PXE": "3.6.0502"}})
        } else {
            json!({"PSID": psid, "Found": 0})
        }
    };
    psids.split(',').map(one).collect()
}

fn file(request: &Request, bytes: &[u8]) -> Reply {
    Reply::file(request, bytes, "\"1\"")
}

#[test]
fn an_update_finds_fetches_verifies_and_burns_and_fetches_nothing_twice() {
    let site = Site::new();
    let server = site.server(file);
    let ran = site.online(&server, &["update", "--yes", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "update.json");
    let burned = card(&document, "ConnectX4LX");
    assert_eq!(burned["result"], "burned", "{burned}");
    assert_eq!(burned["to"], "14.32.1010");
    assert_eq!(
        burned["source"],
        json!({"kind": "online", "name": "online", "file": "lab.mfa", "notes": NOTES})
    );
    assert_eq!(
        document["sources"],
        json!([{"kind": "online", "name": "online", "error": null}])
    );
    assert_eq!(
        site.lab.card("ConnectX4LX")["firmware"]["stored"],
        "14.32.1010"
    );
    // All boards in one question; one file.
    let asked = server.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[1], "GET /fw/lab.mfa");
    assert_eq!(site.kept(), ["lab.mfa", "lab.mfa.sha256"]);

    // Burned once more from what is here.
    let words = ["update", "--yes", "--reinstall", "-d", "0000:03:00.0"];
    site.lab.reset();
    let ran = site.online(&server, &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 burned"), "{ran:?}");
    let asked = server.asked();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[2].starts_with("POST "), "{asked:?}");
    let ran = site.online(&server, &["update", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.asked().len(), 4);
    // Unless that was asked for.
    let ran = site.online(&server, &[&words[..], &["--refresh"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(server.asked().len(), 6);
}

#[test]
fn a_query_tells_what_is_listed_and_fetches_no_file() {
    let site = Site::new();
    let server = site.server(file);
    let ran = site.online(&server, &["query", "--format", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "query.json");
    let listed = card(&document, "ConnectX4LX");
    assert_eq!(listed["status"], "update_required");
    assert_eq!(listed["firmware"]["available"], "14.32.1010");
    let other = card(&document, "ConnectX6DX");
    assert_eq!(other["status"], "no_image");
    assert_eq!(other["firmware"]["available"], Value::Null);
    assert_eq!(server.asked().len(), 1);
    let ran = site.online(&server, &["query"]);
    assert!(
        ran.stdout
            .contains("     FW             14.25.1020     14.32.1010    "),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("Not listed"), "{ran:?}");
    assert!(
        ran.stdout.contains(
            "Release notes for the available Firmware:\n\
             -----------------------------------------\n\n  \
             https://docs.example.invalid/14.32.1010\n  Second line\n"
        ),
        "{ran:?}"
    );
    let ran = site.online(&server, &["query", "--full", "-d", "0000:03:00.0"]);
    assert!(
        ran.stdout
            .contains("  Source:           lab.mfa, listed by online\n"),
        "{ran:?}"
    );
    let ran = site.online(&server, &["query", "--exit-code"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}

/// Makes `folder` a mirror with newer firmware for the ConnectX-4 of the lab; its version.
fn newer_cx4(folder: &std::path::Path) -> String {
    use cxfw::identity::Psid;
    use cxfw::lab::build::{ImageSpec, build_image};
    use cxfw::release::mirror;
    let model = cxfw::model::by_pci_id(0x1013).unwrap();
    let psid = Psid::new("MT_2150110033").unwrap();
    let version = "12.28.4704";
    let spec = ImageSpec::new(model, psid, version.parse().unwrap());
    fs::write(folder.join("cx4.bin"), build_image(&spec).unwrap()).unwrap();
    mirror::build(folder, &mirror::Options::default(), &mut |_| ()).unwrap();
    version.to_owned()
}
