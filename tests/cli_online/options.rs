//! Options about sources: what contradicts what, what the configuration adds, what is refused.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::cli_common::{card, run};
use crate::server::certificate::Kind;
use crate::server::{Reply, Server};
use crate::{BOARD, Site, file};

#[test]
fn files_and_lists_of_releases_contradict_each_other() {
    for words in [
        &["query", "--online", "--image", "x.mfa"][..],
        &["update", "--index", "x", "--image-dir", "y"],
        &["update", "--server-url", "https://x.example"],
        &["query", "--index-key", "x", "--online"],
    ] {
        let ran = run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
    }
    let ran = run(&["query", "--online", "--insecure"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("--insecure is refused: what is fetched is firmware"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--cafile FILE"), "{ran:?}");
}

#[test]
fn what_no_source_lists_is_an_error_of_its_own() {
    let site = Site::new();
    let server = site.server(file);
    let ran = site.online(
        &server,
        &["update", "--yes", "-d", "0000:41:00.0", "--format", "json"],
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    assert_eq!(document["errors"][0]["code"], "not_listed");
    assert_eq!(
        document["errors"][0]["message"],
        "MT_0000000359 not listed: looked at online"
    );
    assert_eq!(document["cards"][0]["status"], "no_image");
    site.assert_untouched("not listed");
}

#[test]
fn the_configuration_names_the_sources_and_keeps_cards_on_their_lines() {
    let site = Site::new();
    let server = site.server(file);
    let config = |more: &str| {
        let text = format!(
            "[[source]]\nonline = \"{}\"\nname = \"vendor\"\n{more}",
            server.url
        );
        fs::write(site.lab.beside("config.toml"), text).unwrap();
        let ran = site.with(&["query", "--format", "json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        card(&ran.json(), "ConnectX4LX")
    };
    let listed = config("");
    assert_eq!(listed["source"]["name"], "vendor");
    assert_eq!(listed["status"], "update_required");
    let elsewhere = config("[branches]\n\"ConnectX-4 Lx\" = \"14.31.*\"\n");
    assert_eq!(elsewhere["status"], "no_image");
    assert!(
        elsewhere["status_reason"]
            .as_str()
            .unwrap()
            .ends_with("is on 14.31.*"),
        "{elsewhere}"
    );
    let here = config("[branches]\n\"ConnectX-4 Lx\" = \"14.32.*\"\n");
    assert_eq!(here["status"], "update_required");
    // Without a source anywhere, a lab has its own.
    fs::write(site.lab.beside("config.toml"), "").unwrap();
    let ran = site.with(&["query", "--format", "json"]);
    assert_eq!(ran.json()["sources"][0]["kind"], "lab");
}

#[test]
fn several_sources_are_asked_at_once_and_the_answer_says_which_one_has_what() {
    let site = Site::new();
    let server = site.server(file);
    let mirror = site.lab.beside("mirror");
    fs::create_dir(&mirror).unwrap();
    let newer = crate::newer_cx4(&mirror);
    let mirror = mirror.to_str().unwrap();
    let words = ["query", "--format", "json", "--index", mirror];
    let ran = site.online(&server, &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    assert_eq!(card(&document, "ConnectX4LX")["source"]["kind"], "online");
    let of_mirror = card(&document, "ConnectX4");
    assert_eq!(of_mirror["source"]["kind"], "index", "{of_mirror}");
    assert_eq!(of_mirror["source"]["name"], format!("{mirror}/index.xml"));
    assert_eq!(of_mirror["firmware"]["available"], newer);
    // One that fails hides no other; cards that it may have something for are not compared.
    let broken = Server::start(&site.authority, Kind::Expired, |_| Reply::new(200, "[]"));
    let ran = site.online(&broken, &words);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    assert_eq!(card(&document, "ConnectX4")["status"], "update_required");
    assert_eq!(card(&document, "ConnectX4LX")["status"], "not_compared");
    assert_eq!(document["sources"][1]["error"]["code"], "tls");
    assert_eq!(document["sources"][0]["error"], json!(null));
    assert_eq!(document["errors"][0]["code"], "tls");
    let ran = site.online(&broken, &["query", "-d", "0000:03:00.0"]);
    assert!(
        ran.stdout
            .contains("     FW             14.25.1020     Unknown       "),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("the certificate has expired"),
        "{ran:?}"
    );
}

#[test]
fn firmware_that_anybody_on_the_way_could_change_is_refused() {
    let site = Site::new();
    let index = ["--index", "http://fw.invalid/mirror/"];
    let download = ["download", "--psid", BOARD, "--to", "x"];
    for words in [
        &["update", "--yes"][..],
        &["update", "--dry-run", "-q"],
        &download,
    ] {
        let ran = site.with(&[words, &index, &["--format", "json"]].concat());
        assert_eq!(ran.code, Some(4), "{words:?}: {ran:?}");
        let error = &ran.json()["errors"][0];
        assert_eq!(error["code"], "unsigned_over_http", "{words:?}");
        let advice = error["advice"].as_str().unwrap();
        assert!(advice.contains("--index-key"), "{words:?}: {advice}");
    }
    // A query burns nothing; and what is signed says itself whose it is: both go and look.
    let key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    for words in [&["query"][..], &["update", "--yes", "--index-key", key]] {
        let ran = site.with(&[words, &index, &["--format", "json"]].concat());
        assert_eq!(ran.code, Some(1), "{words:?}: {ran:?}");
        assert_eq!(ran.json()["errors"][0]["code"], "dns", "{words:?}");
    }
    site.assert_untouched("refused");
}

#[test]
fn a_service_that_names_no_version_leaves_it_to_the_image() {
    let site = Site::new();
    for version in [
        json!(null),
        json!({"FW": null}),
        json!({"FW": "14.32"}),
        json!({}),
    ] {
        let bundle = site.bundle.clone();
        let there = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&there);
        let server = Server::start(&site.authority, Kind::Good, move |request| {
            if request.method == "POST" {
                let row = json!([{"PSID": BOARD, "Found": 1, "Name": "lab.mfa",
                                  "URL": "fw/lab.mfa", "Ver": version}]);
                Reply::new(200, row.to_string())
            } else if seen.load(Ordering::SeqCst) {
                file(request, &bundle)
            } else {
                Reply::new(404, "")
            }
        });
        let card = ["-d", "0000:03:00.0", "--format", "json"];
        let ran = site.online(&server, &[&["query"][..], &card].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let listed = &ran.json()["cards"][0];
        assert_eq!(listed["status"], "update_required", "{ran:?}");
        assert_eq!(listed["firmware"]["available"], "14.32.1010");
        let ran = site.online(&server, &[&["update", "--dry-run"][..], &card].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.json()["cards"][0]["to"], "14.32.1010", "{ran:?}");
        // Without the file nobody knows.
        there.store(false, Ordering::SeqCst);
        let update = ["update", "--yes", "--refresh"];
        let ran = site.online(&server, &[&update[..], &card].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let failed = &ran.json()["cards"][0];
        assert_eq!(failed["result"], "failed", "{ran:?}");
        let reason = failed["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("the service names no version"),
            "{reason}"
        );
        std::fs::remove_dir_all(site.cache()).unwrap();
    }
    site.assert_untouched("dry runs");
}
