//! Downloads that go wrong in every way: the whole, verified file is there under its name, or
//! nothing is.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cxfw::identity::Psid;
use cxfw::progress::Transfer;
use cxfw::release::content::Promise;
use cxfw::release::download::{DownloadError, Limits};
use cxfw::release::http::HttpError;
use cxfw::release::{Digest, Downloader, Expected, Fetched, Freshness, How, Order, Place};
use reqwest::Url;

use crate::Site;
use crate::firmware::{BOARD, VERSION, bundle, image};
use crate::server::certificate::Kind;
use crate::server::{Fault, Length, Reply, Request, Server};

const TAG: &str = "\"first\"";

/// A place to download to.
struct Desk {
    site: Site,
    limits: Limits,
}

impl Desk {
    fn new() -> Self {
        let limits = Limits {
            file: 64 << 20,
            reserve: 0,
            patience: Duration::from_secs(10),
        };
        Self {
            site: Site::new(),
            limits,
        }
    }

    fn serve(&self, handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::start(&self.site.authority, Kind::Good, handler)
    }

    fn order(&self, server: &Server) -> Order {
        Order {
            from: Place::Remote(Url::parse(&format!("{}/fw/x.mfa", server.url)).unwrap()),
            target: self.folder().join("x.mfa"),
            expected: Expected {
                promises: vec![promise(BOARD, VERSION)],
                ..Expected::default()
            },
            freshness: Freshness::Keep,
        }
    }

    fn folder(&self) -> std::path::PathBuf {
        self.site.folder.path().join("files")
    }

    /// A server that has this file.
    fn serve_file(&self, bytes: &[u8]) -> Server {
        let bytes = bytes.to_vec();
        self.serve(move |request| Reply::file(request, &bytes, TAG))
    }

    fn downloader(&self) -> Downloader {
        Downloader::new(Arc::clone(&self.site.connector), self.limits)
    }

    fn fetch(&self, order: &Order) -> Result<Fetched, DownloadError> {
        let since = Instant::now();
        let result = self.downloader().fetch(order, &mut |_| ());
        assert!(since.elapsed() < Duration::from_secs(8), "{result:?}");
        result
    }

    /// Fails with this class, and leaves nothing under the final name.
    fn fails(&self, order: &Order, class: &str) -> DownloadError {
        let error = self.fetch(order).unwrap_err();
        assert_eq!(error.class(), class, "{error}");
        assert!(!order.target.exists());
        error
    }

    /// Names in the folder.
    fn names(&self) -> BTreeSet<String> {
        names(&self.folder())
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

fn promise(psid: &str, version: &str) -> Promise {
    Promise {
        psid: Psid::new(psid).unwrap(),
        version: version.parse().ok(),
    }
}

/// Bytes of a good bundle.
fn good() -> Vec<u8> {
    bundle(&[(BOARD, VERSION), ("MT_2", "16.35.4506")])
}

#[test]
fn a_file_is_fetched_once_and_kept_with_its_digest() {
    let desk = Desk::new();
    let bytes = good();
    let server = desk.serve_file(&bytes);
    let order = desk.order(&server);
    let fetched = desk.fetch(&order).unwrap();
    assert_eq!(fetched.how, How::Downloaded);
    assert_eq!(fetched.sha256, Digest::of(&bytes));
    assert_eq!(std::fs::read(&fetched.path).unwrap(), bytes);
    assert_eq!(
        desk.names(),
        BTreeSet::from(["x.mfa".to_owned(), "x.mfa.sha256".to_owned()])
    );
    let beside = std::fs::read_to_string(desk.folder().join("x.mfa.sha256")).unwrap();
    assert_eq!(beside, format!("{}  x.mfa\n", Digest::of(&bytes)));

    assert_eq!(desk.fetch(&order).unwrap().how, How::Kept);
    assert_eq!(server.requests().len(), 1);
    let refresh = Order {
        freshness: Freshness::Refresh,
        ..order
    };
    assert_eq!(desk.fetch(&refresh).unwrap().how, How::Downloaded);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_kept_file_that_changed_or_no_longer_fits_is_fetched_again() {
    let desk = Desk::new();
    let bytes = good();
    let server = desk.serve_file(&bytes);
    let order = desk.order(&server);
    let path = desk.fetch(&order).unwrap().path;
    let mut spoiled = bytes.clone();
    spoiled[100] ^= 1;
    std::fs::write(&path, &spoiled).unwrap();
    assert_eq!(desk.fetch(&order).unwrap().how, How::Downloaded);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    // Whoever promises a newer version under the same address gets an answer from the server.
    let mut newer = order;
    newer.expected.promises = vec![promise(BOARD, "16.35.9999")];
    let error = desk.fetch(&newer).unwrap_err();
    assert_eq!(error.class(), "other_version");
    assert_eq!(server.requests().len(), 3);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_download_that_is_cut_at_every_tenth_goes_on_where_it_ended() {
    let desk = Desk::new();
    let bytes = good();
    let tenth = bytes.len() / 10 + 1;
    let server = {
        let bytes = bytes.clone();
        desk.serve(move |request| Reply::file(request, &bytes, TAG).fault(Fault::CutAt(tenth)))
    };
    let mut events = Vec::new();
    let order = desk.order(&server);
    let fetched = desk
        .downloader()
        .fetch(&order, &mut |event| events.push(event))
        .unwrap();
    assert_eq!(std::fs::read(&fetched.path).unwrap(), bytes);
    let requests = server.requests();
    assert_eq!(requests.len(), 10);
    assert_eq!(
        requests[1].header("range"),
        Some(format!("bytes={tenth}-").as_str())
    );
    assert_eq!(requests[1].header("if-range"), Some(TAG));
    let started = |event: &&Transfer| matches!(event, Transfer::Started { .. });
    assert_eq!(events.iter().filter(started).count(), 10);
    let done: Vec<u64> = events
        .iter()
        .filter_map(|event| match event {
            Transfer::Advanced { done } => Some(*done),
            _ => None,
        })
        .collect();
    assert!(done.is_sorted());
    assert_eq!(done.last(), Some(&(bytes.len() as u64)));
}

#[test]
fn a_cut_at_any_place_ends_in_the_whole_file_or_in_a_part_for_the_next_run() {
    let bytes = good();
    for tenth in 0..10 {
        let desk = Desk::new();
        let at = bytes.len() * tenth / 10;
        // The first run meets a server that never gets beyond `at`.
        let stubborn = Arc::new(AtomicUsize::new(1));
        let server = {
            let (bytes, stubborn) = (bytes.clone(), Arc::clone(&stubborn));
            desk.serve(move |request| {
                let reply = Reply::file(request, &bytes, TAG);
                if stubborn.load(Ordering::Relaxed) == 0 {
                    return reply;
                }
                let from = bytes.len() - reply.body.len();
                reply.fault(Fault::CutAt(at.saturating_sub(from)))
            })
        };
        let order = desk.order(&server);
        let error = desk.fails(&order, "connection_lost");
        assert!(
            matches!(error, DownloadError::Http(HttpError::Lost { received, .. }) if received == at as u64),
            "{error:?}"
        );
        stubborn.store(0, Ordering::Relaxed);
        let before = server.requests().len();
        assert_eq!(desk.fetch(&order).unwrap().sha256, Digest::of(&bytes));
        let again = &server.requests()[before];
        let expected = (at > 0).then(|| format!("bytes={at}-"));
        assert_eq!(again.header("range"), expected.as_deref());
        assert_eq!(desk.names().len(), 2);
    }
}

#[test]
fn a_part_is_never_completed_with_bytes_of_another_file() {
    let desk = Desk::new();
    let (old, new) = (bundle(&[(BOARD, "16.35.3006")]), good());
    let count = AtomicUsize::new(0);
    let server = {
        let new = new.clone();
        desk.serve(move |request| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::file(request, &old, TAG).fault(Fault::CutAt(5000)),
            _ => Reply::file(request, &new, "\"second\""),
        })
    };
    let fetched = desk.fetch(&desk.order(&server)).unwrap();
    assert_eq!(fetched.sha256, Digest::of(&new));
}

#[test]
fn a_server_that_ignores_or_mistakes_ranges_is_read_from_the_beginning() {
    let bytes = good();
    let whole = |bytes: &[u8]| Reply::new(200, bytes).with("ETag", TAG);
    let wrong = |bytes: &[u8]| {
        Reply::new(206, &bytes[10..]).with("ETag", TAG).with(
            "Content-Range",
            format!("bytes 10-{}/{}", bytes.len() - 1, bytes.len()),
        )
    };
    let refused = |_: &[u8]| Reply::new(416, "");
    let answers: [fn(&[u8]) -> Reply; 3] = [whole, wrong, refused];
    for answer in answers {
        let desk = Desk::new();
        let count = AtomicUsize::new(0);
        let server = {
            let bytes = bytes.clone();
            desk.serve(move |request| match count.fetch_add(1, Ordering::Relaxed) {
                0 => whole(&bytes).fault(Fault::CutAt(7000)),
                _ if request.header("range").is_some() => answer(&bytes),
                _ => whole(&bytes),
            })
        };
        let fetched = desk.fetch(&desk.order(&server)).unwrap();
        assert_eq!(fetched.sha256, Digest::of(&bytes));
    }
}

#[test]
fn a_part_without_a_validator_is_not_continued_by_another_run() {
    let desk = Desk::new();
    let bytes = good();
    let short = Arc::new(AtomicUsize::new(1));
    let server = {
        let (bytes, short) = (bytes.clone(), Arc::clone(&short));
        desk.serve(move |_| match short.load(Ordering::Relaxed) {
            0 => Reply::new(200, bytes.as_slice()),
            _ => Reply::new(200, bytes.as_slice()).fault(Fault::CutAt(3000)),
        })
    };
    let order = desk.order(&server);
    desk.fails(&order, "connection_lost");
    short.store(0, Ordering::Relaxed);
    let before = server.requests().len();
    desk.fetch(&order).unwrap();
    assert_eq!(server.requests()[before].header("range"), None);
}

#[test]
fn stall_and_trickle_end_in_their_own_errors_and_can_be_continued() {
    let trickle = Fault::Trickle(Duration::from_millis(20));
    for (first, then, what, requests) in [
        // A stall is tried again until nothing more comes.
        (
            Fault::StallAt(4000),
            Fault::StallAt(0),
            "the transfer stalled",
            3,
        ),
        (trickle, trickle, "the transfer is too slow", 1),
    ] {
        let desk = Desk::new();
        let bytes = good();
        let count = AtomicUsize::new(0);
        let server = desk.serve(move |request| {
            let fault = match count.fetch_add(1, Ordering::Relaxed) {
                0 => first,
                _ => then,
            };
            Reply::file(request, &bytes, TAG).fault(fault)
        });
        let error = desk.fails(&desk.order(&server), "time_out");
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(server.requests().len(), requests);
        assert!(desk.names().contains(".x.mfa.part"));
    }
}

#[test]
fn a_missing_file_and_a_server_with_a_fit() {
    let desk = Desk::new();
    let missing = desk.serve(|_| Reply::html(404, "Not here"));
    desk.fails(&desk.order(&missing), "http_status");
    assert!(desk.names().is_empty());
    assert_eq!(missing.requests().len(), 1);
    let count = AtomicUsize::new(0);
    let bytes = good();
    let fit = desk.serve(move |request| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Reply::new(500, ""),
        _ => Reply::file(request, &bytes, TAG),
    });
    assert_eq!(desk.fetch(&desk.order(&fit)).unwrap().how, How::Downloaded);
}

#[test]
fn what_is_not_the_promised_firmware_is_not_kept() {
    let spoiled = || {
        let mut bytes = image(BOARD, VERSION);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        bytes
    };
    let page = Reply::html(200, "Log in").body;
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("web_page", page, "a web page (`Log in`), not firmware"),
        (
            "no_firmware",
            b"{\"error\": 1, \"reason\": \"none\"}   ".to_vec(),
            "no firmware",
        ),
        (
            "psid_not_found",
            bundle(&[("MT_2", VERSION)]),
            "no image for PSID MT_0000000010 in it; there are images for MT_2",
        ),
        (
            "psid_not_found",
            image("MT_3", VERSION),
            "there are images for MT_3",
        ),
        (
            "other_version",
            image(BOARD, "16.35.3006"),
            "is version 16.35.3006, promised was 16.35.4506",
        ),
        ("bad_image", spoiled(), "wrong CRC"),
        ("empty", Vec::new(), "the file is empty"),
    ];
    for (class, bytes, words) in cases {
        let desk = Desk::new();
        let server = desk.serve(move |request| match request.header("range") {
            None => Reply::new(200, bytes.as_slice()),
            Some(_) => Reply::new(416, ""),
        });
        let error = desk.fails(&desk.order(&server), class);
        assert!(error.to_string().contains(words), "{error}");
        assert!(desk.names().is_empty(), "{:?}", desk.names());
    }
}

#[test]
fn a_page_is_refused_by_its_content_type_before_it_is_stored() {
    let desk = Desk::new();
    let server = desk.serve(|_| Reply::html(200, "Log in"));
    let error = desk.fails(&desk.order(&server), "web_page");
    assert!(
        error
            .to_string()
            .ends_with("a web page (`Log in`), not firmware"),
        "{error}"
    );
    assert!(desk.names().is_empty());
}

#[test]
fn a_file_of_another_size_or_digest_than_listed_is_not_kept() {
    let desk = Desk::new();
    let bytes = good();
    let size = bytes.len() as u64;
    let server = desk.serve_file(&bytes);
    let mut order = desk.order(&server);
    order.expected.size = Some(size + 1);
    desk.fails(&order, "wrong_length");
    order.expected.size = Some(size);
    order.expected.sha256 = Some(Digest::of(b"other"));
    let error = desk.fails(&order, "wrong_digest");
    assert!(
        error.to_string().contains(&Digest::of(&bytes).to_string()),
        "{error}"
    );
    assert!(desk.names().is_empty());
    order.expected.sha256 = Some(Digest::of(&bytes));
    desk.fetch(&order).unwrap();
}

#[test]
fn wrong_lengths_of_the_server_are_found() {
    let desk = Desk::new();
    let bytes = good();
    let longer = {
        let reply = Reply::new(200, bytes.as_slice())
            .with("ETag", TAG)
            .length(Length::Announced(bytes.len() as u64 + 1000));
        desk.serve(move |_| reply.clone())
    };
    desk.fails(&desk.order(&longer), "connection_lost");
    // Cut short by its own header: what arrives is no whole bundle.
    let shorter = {
        let reply = Reply::new(200, bytes.as_slice())
            .with("ETag", "\"other\"")
            .length(Length::Announced(bytes.len() as u64 / 2));
        desk.serve(move |_| reply.clone())
    };
    let error = desk.fetch(&desk.order(&shorter)).unwrap_err();
    assert!(matches!(error, DownloadError::Content { .. }), "{error:?}");
    assert!(
        desk.names()
            .iter()
            .all(|name| name.starts_with(".x.mfa.part")),
        "{:?}",
        desk.names()
    );
}

#[test]
fn two_gigabytes_announced_are_refused_before_a_byte_is_stored() {
    let mut desk = Desk::new();
    let reply = Reply::new(200, good()).length(Length::Announced(2 << 30));
    let server = desk.serve(move |_| reply.clone());
    desk.limits = Limits {
        reserve: 0,
        ..Limits::default()
    };
    let error = desk.fails(&desk.order(&server), "too_large");
    assert!(
        error
            .to_string()
            .ends_with("2147483648 bytes, at most 1073741824 are accepted"),
        "{error}"
    );
    assert!(desk.names().is_empty());
}

#[test]
fn a_full_disk_is_found_before_the_download() {
    let mut desk = Desk::new();
    let bytes = good();
    let server = desk.serve(move |request| Reply::file(request, &bytes, TAG));
    desk.limits.reserve = u64::MAX / 2;
    let error = desk.fails(&desk.order(&server), "no_space");
    assert!(error.to_string().contains("shall stay free"), "{error}");
}

#[test]
fn several_at_once_download_one_file_once() {
    let desk = Arc::new(Desk::new());
    let bytes = good();
    let server = desk.serve(move |request| {
        thread::sleep(Duration::from_millis(200));
        Reply::file(request, &bytes, TAG)
    });
    let order = desk.order(&server);
    let results = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (desk, order, results) = (Arc::clone(&desk), order.clone(), Arc::clone(&results));
            thread::spawn(move || {
                let fetched = desk.fetch(&order).unwrap();
                results.lock().unwrap().push(fetched.how);
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let downloaded = results
        .lock()
        .unwrap()
        .iter()
        .filter(|how| **how == How::Downloaded)
        .count();
    assert_eq!((downloaded, server.requests().len()), (1, 1));
    assert_eq!(desk.names().len(), 2);
}

#[test]
fn a_body_of_untold_length_is_taken_as_it_comes_and_judged_by_its_contents() {
    let desk = Desk::new();
    let bytes = good();
    let cut = Arc::new(AtomicUsize::new(bytes.len() / 2));
    let server = {
        let cut = Arc::clone(&cut);
        desk.serve(move |_| {
            let at = cut.load(Ordering::Relaxed);
            Reply::new(200, &bytes[..at]).length(Length::Untold)
        })
    };
    let error = desk.fetch(&desk.order(&server)).unwrap_err();
    assert!(!desk.order(&server).target.exists(), "{error}");
    cut.store(good().len(), Ordering::Relaxed);
    assert_eq!(
        desk.fetch(&desk.order(&server)).unwrap().how,
        How::Downloaded
    );
}

#[test]
fn a_file_of_another_folder_is_copied_under_the_same_rules() {
    let desk = Desk::new();
    let bytes = good();
    let from = desk.site.folder.path().join("from.mfa");
    std::fs::write(&from, &bytes).unwrap();
    let mut order = Order {
        from: Place::Local(from.clone()),
        target: desk.folder().join("sub/x.mfa"),
        expected: Expected {
            size: Some(bytes.len() as u64),
            sha256: Some(Digest::of(&bytes)),
            promises: vec![promise(BOARD, VERSION)],
        },
        freshness: Freshness::Keep,
    };
    assert_eq!(desk.fetch(&order).unwrap().how, How::Copied);
    assert_eq!(desk.fetch(&order).unwrap().how, How::Kept);
    assert_eq!(names(&desk.folder().join("sub")).len(), 2);
    order.target = desk.folder().join("other/x.mfa");
    std::fs::write(&from, &bytes[1..]).unwrap();
    desk.fails(&order, "wrong_length");
    let mut changed = bytes;
    changed[500] ^= 1;
    std::fs::write(&from, &changed).unwrap();
    let error = desk.fails(&order, "wrong_digest");
    assert!(
        error.to_string().starts_with(from.to_str().unwrap()),
        "{error}"
    );
    assert!(names(&desk.folder().join("other")).is_empty());
}
