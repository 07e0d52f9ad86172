//! Sources asked as one: what each has, which one failed, and what is fetched from where.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cxfw::identity::Psid;
use cxfw::release::download::Limits;
use cxfw::release::index::Keys;
use cxfw::release::mirror::{self, Options};
use cxfw::release::service::PUBLIC_KEY;
use cxfw::release::{
    Asked, Cache, Freshness, How, IndexPlace, IndexSource, Release, Source, Sources,
};
use serde_json::json;

use crate::Site;
use crate::firmware::{BOARD, VERSION, bundle, image};
use crate::server::certificate::Kind;
use crate::server::{Reply, Request, Server};

const LIMITS: Limits = Limits {
    file: 64 << 20,
    reserve: 0,
    patience: std::time::Duration::from_secs(10),
};

pub fn sources(site: &Site, list: Vec<Source>) -> Sources {
    let cache = Cache::open(&site.folder.path().join("cache")).unwrap();
    Sources::new(list, Arc::clone(&site.connector), cache, LIMITS)
}

pub fn index_at(place: &str, name: &str) -> Source {
    Source::Index(IndexSource {
        place: IndexPlace::parse(place).unwrap(),
        keys: Keys::default(),
        name: name.into(),
    })
}

fn online(server: &Server) -> Source {
    Source::Online {
        server: server.url.clone(),
        key: PUBLIC_KEY.to_owned(),
        name: "online".into(),
    }
}

pub fn asked(psids: &[&str]) -> Vec<Asked> {
    let one = |psid: &&str| Asked {
        psid: Psid::new(psid).unwrap(),
        version: None,
    };
    psids.iter().map(one).collect()
}

/// A mirror of the files given, in a folder of the site.
pub fn mirror_of(site: &Site, name: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = site.folder.path().join(name);
    for (file, bytes) in files {
        let path = folder.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    mirror::build(&folder, &Options::default(), &mut |_| ()).unwrap();
    folder
}

/// A server of the vendor's protocol that lists `BOARD` and has its file.
fn vendor(site: &Site) -> Server {
    let bytes = bundle(&[(BOARD, VERSION)]);
    Server::start(&site.authority, Kind::Good, move |request: &Request| {
        if request.method == "POST" {
            let answer = json!([{"PSID": BOARD, "Found": 1, "Name": "new.mfa", "URL": "fw/new.mfa",
                "Release_note": "What is new", "Ver": {"FW": VERSION}}]);
            return Reply::new(200, answer.to_string());
        }
        Reply::file(request, &bytes, "\"1\"")
    })
}

fn versions(releases: &[Release]) -> Vec<String> {
    let word = |release: &Release| {
        let version = release.firmware().unwrap();
        format!("{} {version} from {}", release.psid, release.source)
    };
    releases.iter().map(word).collect()
}

#[test]
fn all_sources_are_asked_and_the_newest_comes_first_with_where_it_is_from() {
    let site = Site::new();
    let server = vendor(&site);
    let old = image(BOARD, "16.28.1002");
    let one = mirror_of(
        &site,
        "one",
        &[
            ("a/old.bin", old.clone()),
            ("two.bin", image("MT_2", "16.30.1004")),
        ],
    );
    let other = mirror_of(&site, "other", &[("same.bin", old)]);
    let sources = sources(
        &site,
        vec![
            index_at(one.to_str().unwrap(), "one"),
            index_at(other.to_str().unwrap(), "other"),
            online(&server),
        ],
    );
    let findings = sources.find(&asked(&["MT_2", "mt_0000000010", "MT_9"]));
    assert!(findings.is_complete());
    assert_eq!(
        versions(&findings.releases),
        [
            "MT_2 16.30.1004 from one",
            "mt_0000000010 16.35.4506 from online",
            "mt_0000000010 16.28.1002 from one",
        ]
    );
    assert_eq!(findings.of(&Psid::new("MT_9").unwrap()).count(), 0);
    assert_eq!(sources.everything().releases.len(), 2);
}

#[test]
fn a_source_that_fails_hides_no_other_and_is_told_of() {
    let site = Site::new();
    let folder = mirror_of(&site, "one", &[("old.bin", image(BOARD, "16.28.1002"))]);
    let missing = site.folder.path().join("missing");
    let broken = Server::start(&site.authority, Kind::Expired, |_| Reply::new(200, "[]"));
    let sources = sources(
        &site,
        vec![
            online(&broken),
            index_at(missing.to_str().unwrap(), "missing"),
            index_at(folder.to_str().unwrap(), "one"),
        ],
    );
    let findings = sources.find(&asked(&[BOARD]));
    assert!(!findings.is_complete());
    assert_eq!(
        versions(&findings.releases),
        ["MT_0000000010 16.28.1002 from one"]
    );
    let went: Vec<_> = findings
        .searched
        .iter()
        .map(|source| {
            (
                &*source.name,
                source.failure.as_ref().map(|error| error.class()),
            )
        })
        .collect();
    assert_eq!(
        went,
        [
            ("online", Some("tls")),
            ("missing", Some("io")),
            ("one", None)
        ]
    );
}

#[test]
fn what_is_found_is_fetched_once_and_kept() {
    let site = Site::new();
    let server = vendor(&site);
    let sources = sources(&site, vec![online(&server)]);
    let findings = sources.find(&asked(&[BOARD]));
    let release = &findings.releases[0];
    let fetch = || {
        sources
            .fetch(release, Freshness::Keep, &mut |_| ())
            .unwrap()
    };
    let first = fetch();
    assert_eq!(first.how, How::Downloaded);
    assert!(
        first.path.starts_with(
            site.folder
                .path()
                .canonicalize()
                .unwrap()
                .join("cache/files")
        )
    );
    assert_eq!(fetch().how, How::Kept);
    assert_eq!(server.requests().len(), 2);
    let folder = site.folder.path().join("out");
    let fetched = sources
        .fetch_to(&folder, release, Freshness::Keep, &mut |_| ())
        .unwrap();
    assert_eq!(fetched.path, folder.join("new.mfa"));
    let built = mirror::build(&folder, &Options::default(), &mut |_| ()).unwrap();
    assert_eq!((built.releases, built.problems.len()), (1, 0));
    let mirrored = self::sources(&site, vec![index_at(folder.to_str().unwrap(), "out")]);
    assert_eq!(
        mirrored.everything().releases[0].notes.as_deref(),
        Some("What is new")
    );
}

#[test]
fn one_changed_byte_of_a_file_or_of_the_index_and_nothing_is_offered() {
    let site = Site::new();
    let folder = mirror_of(&site, "one", &[("new.mfa", bundle(&[(BOARD, VERSION)]))]);
    let fetch = || {
        let sources = sources(&site, vec![index_at(folder.to_str().unwrap(), "one")]);
        let findings = sources.find(&asked(&[BOARD]));
        let failure = findings.searched.into_iter().next().unwrap().failure;
        if let Some(error) = failure {
            return Err(error.class().to_owned());
        }
        let fetched = sources.fetch(&findings.releases[0], Freshness::Keep, &mut |_| ());
        fetched.map_err(|error| error.class().to_owned())
    };
    fetch().unwrap();
    let flip = |path: &Path, at: usize| {
        let mut bytes = fs::read(path).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 0x04;
        fs::write(path, bytes).unwrap();
    };
    let (file, index) = (folder.join("new.mfa"), folder.join("index.xml"));
    for step in 0..20 {
        let at = step * 997;
        flip(&file, at);
        assert_eq!(
            fetch().unwrap_err(),
            "wrong_digest",
            "byte {at} of the file"
        );
        flip(&file, at);
        flip(&index, at);
        assert_eq!(
            fetch().unwrap_err(),
            "wrong_digest",
            "byte {at} of the index"
        );
        flip(&index, at);
    }
    fetch().unwrap();
    fs::remove_file(file).unwrap();
    assert_eq!(fetch().unwrap_err(), "io");
}
