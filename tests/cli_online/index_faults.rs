//! What can be wrong with an index on a web server, and with the files it lists.

use std::fs;
use std::path::PathBuf;

use crate::cli_common::{Ran, card};
use crate::server::certificate::Kind;
use crate::server::{Fault, Reply, Request, Server};
use crate::{BOARD, Site, file};

/// A mirror of the lab's firmware in a folder.
fn mirror(site: &Site) -> PathBuf {
    use cxfw::release::mirror;
    let folder = site.lab.beside("mirror");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("lab.mfa"), &site.bundle).unwrap();
    mirror::build(&folder, &mirror::Options::default(), &mut |_| ()).unwrap();
    folder
}

/// Serves the mirror; `spoil` may answer in its place.
fn serve(
    site: &Site,
    folder: &std::path::Path,
    spoil: impl Fn(&Request, &[u8]) -> Option<Reply> + Send + Sync + 'static,
) -> Server {
    let folder = folder.to_owned();
    Server::start(&site.authority, Kind::Good, move |request| {
        let path = folder.join(request.path.trim_start_matches('/'));
        match fs::read(path) {
            Ok(bytes) => spoil(request, &bytes).unwrap_or_else(|| file(request, &bytes)),
            Err(_) => Reply::new(404, ""),
        }
    })
}

fn update(site: &Site, server: &Server) -> Ran {
    let words = ["update", "--yes", "-d", "0000:03:00.0", "--format", "json"];
    site.with(&[&words[..], &["--index", &server.url]].concat())
}

#[test]
fn each_fault_of_an_index_or_its_files_is_its_own_error_and_nothing_is_burned() {
    let site = Site::new();
    let folder = mirror(&site);
    type Spoil = Box<dyn Fn(&[u8]) -> Reply + Send + Sync>;
    let changed = |at: usize| -> Spoil {
        Box::new(move |bytes| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 4;
            Reply::new(200, bytes)
        })
    };
    let cases: Vec<(&str, &str, Spoil)> = vec![
        (
            "/index.xml",
            "http_status",
            Box::new(|_| Reply::new(404, "")),
        ),
        (
            "/index.xml",
            "http_status",
            Box::new(|_| Reply::new(503, "")),
        ),
        (
            "/index.xml",
            "web_page",
            Box::new(|_| Reply::html(200, "Sign in")),
        ),
        (
            "/index.xml",
            "wrong_digest",
            Box::new(|bytes| Reply::new(200, &bytes[..bytes.len() / 2])),
        ),
        ("/index.xml", "wrong_digest", changed(200)),
        ("/index.xml.sha256", "wrong_digest", changed(5)),
        (
            "/index.xml",
            "connection_lost",
            Box::new(|bytes| Reply::new(200, bytes).fault(Fault::CutAt(300))),
        ),
        ("/lab.mfa", "http_status", Box::new(|_| Reply::new(404, ""))),
        ("/lab.mfa", "wrong_digest", changed(5000)),
        (
            "/lab.mfa",
            "wrong_length",
            Box::new(|bytes| Reply::new(200, &bytes[1..])),
        ),
        (
            "/lab.mfa",
            "time_out",
            Box::new(|bytes| Reply::new(200, bytes).fault(Fault::StallAt(5000))),
        ),
    ];
    for (number, (path, code, spoil)) in cases.into_iter().enumerate() {
        let server = serve(&site, &folder, move |request, bytes| {
            (request.path == path).then(|| spoil(bytes))
        });
        let ran = update(&site, &server);
        let about = format!("{path}, {code} ({number})");
        assert_eq!(ran.code, Some(1), "{about}: {ran:?}");
        assert_eq!(ran.json()["errors"][0]["code"], code, "{about}: {ran:?}");
        assert!(
            ran.json()["errors"][0]["advice"].is_string(),
            "{about}: {ran:?}"
        );
        site.assert_untouched(&about);
        assert_eq!(site.kept(), [""; 0], "{about}");
    }
    let server = serve(&site, &folder, |_, _| None);
    let ran = update(&site, &server);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let burned = card(&ran.json(), "ConnectX4LX");
    assert_eq!(
        (&burned["result"], &burned["psid"]),
        (&"burned".into(), &BOARD.into())
    );
}

#[test]
fn a_file_that_cannot_be_had_fails_its_card_and_the_others_are_burned() {
    let site = Site::new();
    let folder = mirror(&site);
    crate::newer_cx4(&folder);
    let server = serve(&site, &folder, |request, _| {
        (request.path == "/lab.mfa").then(|| Reply::new(404, ""))
    });
    let words = ["update", "--yes", "--index", &server.url];
    let ran = site.with(&[&words[..], &["--format", "json"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    let failed = card(&document, "ConnectX4LX");
    assert_eq!(
        (&failed["result"], &failed["code"]),
        (&"failed".into(), &"http_status".into())
    );
    assert_eq!(card(&document, "ConnectX4")["result"], "burned", "{ran:?}");
    assert_eq!(document["summary"]["burned"], 1, "{ran:?}");
    site.lab.reset();
    // For people: every card's block, the failure with card and address, the summary.
    let ran = site.with(&words);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout.contains("Failed (the download failed: "),
        "{ran:?}"
    );
    // The ConnectX-3 of the lab needs that file, too.
    assert!(ran.stdout.contains("2 failed"), "{ran:?}");
    for card in ["0000:01:00.0", "0000:03:00.0"] {
        let mut lines = ran.stderr.lines().filter(|line| line.contains(card));
        assert!(
            lines.any(|line| line.contains("404") && line.contains("/lab.mfa")),
            "{ran:?}"
        );
    }
}
