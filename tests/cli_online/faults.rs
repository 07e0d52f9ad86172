//! Everything that can go wrong between here and a server: its own error, exit code 1, within its
//! time-out, no card touched, and nothing under a final name.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::cli_common::{Ran, card, schema};
use crate::server::certificate::Kind;
use crate::server::{Fault, Length, Reply, Request, Server};
use crate::{BOARD, Site, answer, file};

/// The card that the server has something for.
const CARD: [&str; 4] = ["update", "--yes", "-d", "0000:03:00.0"];
/// Longest time a run may take: twice the longest time-out, and the program itself on a busy
/// machine.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs the update and holds it to what every fault has to end in.
fn fails(site: &Site, url: &str, options: &[&str], code: &str, about: &str) -> Ran {
    let words = [&CARD[..], &["--format", "json"], options].concat();
    let since = Instant::now();
    let ran = site.at(url, &words);
    let took = since.elapsed();
    assert!(took < LONGEST, "{about}: {took:?}");
    assert_eq!(ran.code, Some(1), "{about}: {ran:?}");
    let document = ran.json();
    let errors = document["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{about}: {ran:?}");
    assert_eq!(errors[0]["code"], code, "{about}: {ran:?}");
    assert!(!ran.stdout.contains("up_to_date"), "{about}: {ran:?}");
    site.assert_untouched(about);
    assert_eq!(site.kept(), [""; 0], "{about}");
    ran
}

/// The source gave no answer, so the card cannot be compared.
fn fails_at_the_source(site: &Site, url: &str, code: &str, about: &str) -> Ran {
    let ran = fails(site, url, &[], code, about);
    let document = ran.json();
    let cards = document["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 1, "{about}: {ran:?}");
    assert_eq!(cards[0]["status"], "not_compared", "{about}: {ran:?}");
    ran
}

fn service(
    site: &Site,
    kind: Kind,
    reply: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> Server {
    Server::start(&site.authority, kind, reply)
}

#[test]
fn each_fault_of_the_service_is_its_own_error_and_never_looks_like_up_to_date() {
    let site = Site::new();
    let whole = |request: &Request| answer(request).to_string();
    type Answer = Box<dyn Fn(&Request) -> Reply + Send + Sync>;
    let cases: Vec<(&str, Answer)> = vec![
        ("http_status", Box::new(|_| Reply::new(404, ""))),
        ("http_status", Box::new(|_| Reply::html(500, "Oops"))),
        ("web_page", Box::new(|_| Reply::html(200, "Sign in"))),
        (
            "bad_answer",
            Box::new(move |request| Reply::new(200, &whole(request).as_bytes()[..40])),
        ),
        (
            "bad_answer",
            Box::new(|_| Reply::new(200, json!([{"PSID": BOARD, "Found": "maybe"}]).to_string())),
        ),
        ("bad_answer", Box::new(|_| Reply::new(200, "5"))),
        (
            "too_large",
            Box::new(|_| Reply::new(200, "[]").length(Length::Announced(2 << 30))),
        ),
        (
            "connection_lost",
            Box::new(move |request| Reply::new(200, whole(request)).fault(Fault::CutAt(20))),
        ),
        (
            "time_out",
            Box::new(move |request| Reply::new(200, whole(request)).fault(Fault::StallAt(20))),
        ),
        (
            "redirect",
            Box::new(|request| Reply::redirect(&request.path)),
        ),
        (
            "redirect",
            Box::new(|_| Reply::redirect("http://127.0.0.1/")),
        ),
        (
            "redirect",
            Box::new(|_| Reply::redirect("https://other.example/")),
        ),
    ];
    for (number, (code, reply)) in cases.into_iter().enumerate() {
        let server = service(&site, Kind::Good, reply);
        fails_at_the_source(&site, &server.url, code, &format!("{code} ({number})"));
    }
    for kind in [Kind::Expired, Kind::OtherName, Kind::SelfSigned] {
        let server = service(&site, kind, |_| Reply::new(200, "[]"));
        fails_at_the_source(&site, &server.url, "tls", &format!("{kind:?}"));
    }
}

#[test]
fn no_way_to_the_server_is_told_from_no_name_and_no_proxy() {
    let site = Site::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let nobody = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
    drop(listener);
    let url = format!("https://{nobody}");
    let ran = fails_at_the_source(&site, &url, "unreachable", "nobody listens");
    assert!(
        ran.stdout.contains("behind a proxy, set https_proxy"),
        "{ran:?}"
    );
    fails_at_the_source(&site, "https://name.invalid", "dns", "no such name");
    let wants_password = Server::plain(|_| Reply::new(407, ""));
    let proxies = [
        (nobody, "proxy"),
        (
            wants_password.url.replace("http://", ""),
            "proxy_authentication",
        ),
    ];
    for (proxy, code) in proxies {
        let mut words = site.words(&[&CARD[..], &["--format", "json"]].concat());
        words.retain(|word| word != "--proxy=none");
        words.extend([
            "--online".to_owned(),
            "--server-url=https://server.example".to_owned(),
            format!("--proxy={proxy}"),
        ]);
        let ran = site.lab.run(&words);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert_eq!(ran.json()["errors"][0]["code"], code, "{ran:?}");
    }
    site.assert_untouched("proxies");
}

#[test]
fn each_fault_of_a_file_is_its_own_error_and_leaves_no_file() {
    let site = Site::new();
    type Answer = Box<dyn Fn(&Request, &[u8]) -> Reply + Send + Sync>;
    let cases: Vec<(&str, Answer)> = vec![
        ("http_status", Box::new(|_, _| Reply::new(404, ""))),
        ("web_page", Box::new(|_, _| Reply::html(200, "Sign in"))),
        (
            "connection_lost",
            Box::new(|_, bytes| {
                let more = bytes.len() as u64 + 10;
                Reply::new(200, bytes).length(Length::Announced(more))
            }),
        ),
        (
            "too_large",
            Box::new(|_, bytes| Reply::new(200, bytes).length(Length::Announced(2 << 30))),
        ),
        (
            "time_out",
            Box::new(|request, bytes| file(request, bytes).fault(Fault::StallAt(0))),
        ),
        (
            "time_out",
            Box::new(|request, bytes| {
                file(request, bytes).fault(Fault::Trickle(Duration::from_millis(20)))
            }),
        ),
        (
            "connection_lost",
            Box::new(|request, bytes| file(request, bytes).fault(Fault::CutAt(0))),
        ),
        (
            "redirect",
            Box::new(|_, _| Reply::redirect("http://127.0.0.1/x.mfa")),
        ),
    ];
    for (number, (code, reply)) in cases.into_iter().enumerate() {
        let server = site.server(reply);
        fails_at_the_file(&site, &server, code, &format!("{code} ({number})"));
    }
    // Firmware that is whole, but not what was promised; and firmware that is not whole.
    let other = crate::cli_common::old_lx_image(BOARD);
    let server = site.server(move |_, _| Reply::new(200, &other[..]));
    fails_at_the_file(&site, &server, "other_version", "an older version");
    let other = crate::cli_common::old_lx_image("MT_0000000099");
    let server = site.server(move |_, _| Reply::new(200, &other[..]));
    fails_at_the_file(&site, &server, "psid_not_found", "another board");
    let server = site.server(|_, bytes| {
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        Reply::new(200, bytes)
    });
    let words = [&CARD[..], &["--format", "json"]].concat();
    let ran = site.online(&server, &words);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    site.assert_untouched("a changed byte");
    assert_eq!(site.kept(), [""; 0]);
}

fn fails_at_the_file(site: &Site, server: &Server, code: &str, about: &str) {
    let ran = fails(site, &server.url, &[], code, about);
    let document = ran.json();
    schema::check(&document, "update.json");
    let card = card(&document, "ConnectX4LX");
    assert_eq!(
        (&card["result"], &card["code"]),
        (&"failed".into(), &code.into()),
        "{about}: {ran:?}"
    );
    let reason = card["reason"].as_str().unwrap();
    assert!(reason.contains("lab.mfa"), "{about}: {reason}");
    assert!(card["advice"].is_string(), "{about}: {card}");
    assert_eq!(document["summary"]["failed"], 1, "{about}: {ran:?}");
    assert_eq!(document["sources"][0]["error"], serde_json::Value::Null);
    // What arrived of one fault is not what the next one goes on with.
    std::fs::remove_dir_all(site.cache()).unwrap();
}

#[test]
fn a_file_that_is_cut_at_any_tenth_is_completed_and_burned() {
    let site = Site::new();
    for tenth in 0..10 {
        let server = site.server_with_a_fault(move |size| Fault::CutAt(size * tenth / 10));
        let ran = site.online(&server, &["update", "--dry-run", "-d", "0000:03:00.0"]);
        assert_eq!(ran.code, Some(0), "{tenth}: {ran:?}");
        let resumed = server.requests()[2].header("range").is_some();
        assert_eq!(resumed, tenth > 0, "{tenth}");
        assert_eq!(site.kept(), ["lab.mfa", "lab.mfa.sha256"], "{tenth}");
        std::fs::remove_dir_all(site.cache()).unwrap();
    }
    site.assert_untouched("dry runs");
}

#[test]
fn an_error_that_passes_is_tried_again() {
    let site = Site::new();
    let requests = AtomicUsize::new(0);
    let bundle = site.bundle.clone();
    let server = service(&site, Kind::Good, move |request| {
        // Every first one fails: the question, then the file.
        if requests.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) {
            Reply::html(500, "Oops")
        } else if request.method == "POST" {
            Reply::new(200, answer(request).to_string())
        } else {
            file(request, &bundle)
        }
    });
    let ran = site.online(&server, &CARD);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 burned"), "{ran:?}");
}

#[test]
fn a_file_that_stalls_is_completed_and_burned() {
    let site = Site::new();
    let server = site.server_with_a_fault(|size| Fault::StallAt(size / 2));
    let ran = site.online(&server, &CARD);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 burned"), "{ran:?}");
    assert!(server.requests()[2].header("range").is_some());
}

#[test]
fn a_continued_file_that_is_not_whole_is_fetched_once_more_from_its_beginning() {
    let site = Site::new();
    let requests = AtomicUsize::new(0);
    let server = site.server(move |request, bytes| {
        let number = requests.fetch_add(1, Ordering::SeqCst);
        // The first half is of another file, though server and validator say it is the same.
        let mut bytes = bytes.to_vec();
        let middle = bytes.len() / 2;
        if number == 0 {
            bytes[middle / 2] ^= 1;
            return file(request, &bytes).fault(Fault::CutAt(middle));
        }
        file(request, &bytes)
    });
    let ran = site.online(&server, &CARD);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 burned"), "{ran:?}");
    let asked = server.requests();
    assert!(asked[2].header("range").is_some(), "{}", asked.len());
    assert!(asked[3].header("range").is_none(), "{}", asked.len());
}

#[test]
fn a_row_that_makes_no_sense_spoils_only_its_own_board() {
    let site = Site::new();
    let bundle = site.bundle.clone();
    let server = service(&site, Kind::Good, move |request| {
        if request.method != "POST" {
            return file(request, &bundle);
        }
        let mut rows = answer(request);
        for row in rows.as_array_mut().unwrap() {
            if row["PSID"] == "MT_2150110033" {
                *row = json!({"PSID": "MT_2150110033", "Found": 1, "Name": "x.mfa"});
            }
        }
        Reply::new(200, rows.to_string())
    });
    let ran = site.online(&server, &["update", "--yes", "--format", "json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let document = ran.json();
    assert_eq!(
        card(&document, "ConnectX4LX")["result"],
        "burned",
        "{ran:?}"
    );
    let spoiled = card(&document, "ConnectX4");
    assert_eq!(spoiled["status"], "not_compared", "{spoiled}");
    assert_eq!(spoiled["result"], "failed", "{spoiled}");
    assert_eq!(card(&document, "ConnectX6DX")["result"], "skipped");
    let errors = document["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{ran:?}");
    assert_eq!(errors[0]["code"], "bad_answer");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.contains("MT_2150110033"), "{message}");
}
