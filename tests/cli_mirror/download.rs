//! `cxfw download`, and `cxfw mirror --from-online`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Site;
use crate::cli_common::{Ran, run, schema};
use crate::server::certificate::{Authority, Kind};
use crate::server::{Reply, Request, Server};

const BOARD: &str = "MT_2420110034";

/// A server of the vendor's protocol over the site's firmware, and how to get there.
struct Vendor {
    server: Server,
    ca: PathBuf,
}

impl Vendor {
    fn of(site: &Site) -> Self {
        let authority = Authority::new();
        let bytes = fs::read(site.folder.join("lab.mfa")).unwrap();
        let server = Server::start(&authority, Kind::Good, move |request: &Request| {
            if request.method == "POST" {
                return Reply::new(200, answer(request).to_string());
            }
            Reply::file(request, &bytes, "\"1\"")
        });
        let ca = authority.file(site.lab.path().parent().unwrap());
        Self { server, ca }
    }

    /// Runs the program with the options that lead to this server.
    fn run(&self, site: &Site, words: &[&str]) -> Ran {
        site.lab.run(&[words, &self.options(site)].concat())
    }

    fn options(&self, site: &Site) -> Vec<&str> {
        let leak = |text: String| &*Box::leak(text.into_boxed_str());
        vec![
            "--server-url",
            leak(self.server.url.clone()),
            "--cafile",
            leak(self.ca.display().to_string()),
            "--cache-dir",
            leak(site.lab.beside("cache").display().to_string()),
            "--proxy=none",
            "--format=json",
        ]
    }
}

fn answer(request: &Request) -> Value {
    let asked: Value = serde_json::from_slice(&request.body).unwrap();
    if asked["mode"] == 2 {
        return json!([
            {"Name": "all.mfa", "URL": "fw/all.mfa", "Type": "MFA", "OS": "all"},
            {"Name": "tool", "URL": "fw/tool", "Type": "self_extractor", "OS": "linux_x64"},
        ]);
    }
    let one = |psid: &str| {
        if psid == BOARD {
            json!({"PSID": psid, "Found": 1, "Name": "new.mfa", "URL": "fw/new.mfa",
                   "Release_note": "What is new", "Ver": {"FW": "14.32.1010"}})
        } else {
            json!({"PSID": psid, "Found": 0})
        }
    };
    asked["psids"]
        .as_str()
        .unwrap()
        .split(',')
        .map(one)
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn a_release_is_downloaded_by_board_or_by_card_and_kept_the_second_time() {
    let site = Site::new();
    let vendor = Vendor::of(&site);
    let out = site.lab.beside("out");
    let to = out.to_str().unwrap();
    let words = [
        "download",
        "--psid",
        "mt_2420110034",
        "--to",
        to,
        "--online",
    ];
    let ran = vendor.run(&site, &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "download.json");
    let file = &document["files"][0];
    assert_eq!(file["result"], "downloaded", "{document}");
    assert_eq!(file["version"], "14.32.1010");
    assert_eq!(file["notes"], "What is new");
    assert_eq!(file["file"], format!("{to}/new.mfa"));
    assert_eq!(
        names(&out),
        ["new.mfa", "new.mfa.release.toml", "new.mfa.sha256"]
    );
    assert_eq!(
        fs::read(out.join("new.mfa")).unwrap(),
        fs::read(site.folder.join("lab.mfa")).unwrap()
    );
    let ran = vendor.run(&site, &["download", "-d", "all", "--to", to, "--online"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["files"][0]["result"], "kept");
    let files = vendor.server.asked();
    let files = files.iter().filter(|asked| asked.starts_with("GET"));
    assert_eq!(files.count(), 1);
}

#[test]
fn a_board_that_is_not_listed_hides_no_other() {
    let site = Site::new();
    let vendor = Vendor::of(&site);
    let out = site.lab.beside("out");
    let to = out.to_str().unwrap();
    let psids = ["--psid", "MT_0000000099", "--psid", BOARD];
    let words = [&["download", "--to", to, "--online"][..], &psids].concat();
    let ran = vendor.run(&site, &words);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "download.json");
    assert_eq!(document["not_listed"], json!(["MT_0000000099"]));
    assert_eq!(document["errors"][0]["code"], "not_listed");
    assert_eq!(document["files"].as_array().unwrap().len(), 1);
    for words in [
        &["download", "--to", to, "--online"][..],
        &["download", "--all", "--psid", BOARD, "--to", to],
        &["download", "--all", "--to", to],
    ] {
        let ran = run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
    }
}

#[test]
fn everything_an_index_lists_is_copied_and_is_a_mirror_again() {
    let site = Site::new();
    site.mirror(&[]);
    let out = site.lab.beside("out");
    let cache = format!("--cache-dir={}", site.lab.beside("cache").display());
    let words = ["download", "--all", "--to", out.to_str().unwrap(), &cache];
    let ran = run(&[&words[..], &["--index", site.folder.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.ends_with("Summary: 1 copied\n"), "{ran:?}");
    let ran = run(&["mirror", out.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        fs::read(out.join("index.xml")).unwrap(),
        fs::read(site.index()).unwrap()
    );
}

#[test]
fn everything_the_service_lists_is_its_firmware_and_none_of_its_tools() {
    let site = Site::new();
    let vendor = Vendor::of(&site);
    let out = site.lab.beside("out");
    let words = [
        "download",
        "--all",
        "--to",
        out.to_str().unwrap(),
        "--online",
    ];
    let ran = vendor.run(&site, &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "download.json");
    assert_eq!(document["files"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(document["files"][0]["psids"], json!([]));
    assert_eq!(document["sources"].as_array().unwrap().len(), 1);
    assert_eq!(names(&out), ["all.mfa", "all.mfa.sha256"]);
}

#[test]
fn a_mirror_fetches_what_the_cards_of_this_host_need_and_then_only_what_is_new() {
    let site = Site::new();
    let vendor = Vendor::of(&site);
    let folder = site.lab.beside("made");
    let to = folder.to_str().unwrap();
    let words = ["mirror", to, "--from-online", "--all-cards"];
    let ran = vendor.run(&site, &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "mirror.json");
    assert_eq!(document["files"][0]["result"], "downloaded", "{document}");
    assert_eq!(document["releases"], 1);
    let index = fs::read_to_string(folder.join("index.xml")).unwrap();
    assert!(index.contains("<notes>What is new</notes>"), "{index}");
    let ran = vendor.run(&site, &words);
    let document = ran.json();
    assert_eq!(document["files"][0]["result"], "kept", "{document}");
    assert_eq!(document["changed"], false);
    assert_eq!(document["examined"], json!([]));
    let ran = site.update_from(to, &[]);
    assert_eq!(crate::result(&ran), "burned", "{ran:?}");

    let ran = vendor.run(
        &site,
        &["mirror", to, "--from-online", "--psid", "MT_0000000099"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.json()["errors"][0]["code"], "not_listed");
    assert_eq!(run(&["mirror", to, "--from-online"]).code, Some(2));
    assert_eq!(run(&["mirror", to, "--psid", BOARD]).code, Some(2));
}
