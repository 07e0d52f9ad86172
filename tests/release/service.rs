//! The vendor's protocol over TLS: questions as they are asked, answers in every shape.

use cxfw::identity::Psid;
use cxfw::release::http::{Client, HttpError};
use cxfw::release::service::{BATCH, PUBLIC_KEY};
use cxfw::release::{Asked, Place, Service, ServiceError};
use serde_json::{Value, json};

use crate::Site;
use crate::server::certificate::Kind;
use crate::server::{Fault, Length, Reply, Server};

const ENDPOINT: &str = "POST /downloads/firmware/mlx_fw_online_query.php";

fn asked(psid: &str, version: &str) -> Asked {
    Asked {
        psid: Psid::new(psid).unwrap(),
        version: version.parse().ok(),
    }
}

fn service(client: &Client, server: &str) -> Service {
    Service::new(client.clone(), server, PUBLIC_KEY).unwrap()
}

/// A server that answers every question with this.
fn answering(site: &Site, reply: Reply) -> Server {
    Server::start(&site.authority, Kind::Good, move |_| reply.clone())
}

fn json_reply(answer: &Value) -> Reply {
    Reply::new(200, answer.to_string()).with("Content-Type", "application/json")
}

fn listed(psid: &str, version: &str) -> Value {
    json!({
        "PSID": psid, "Found": 1, "Type": "MFA", "PN": "MCX555A-ECA_Ax", "Name": "x.mfa",
        "URL": "downloads/firmware/mfa/x.mfa", "Release_note": "First line\nSecond line",
        "Ver": {"PXE": "3.6.0902", "FW": version},
    })
}

fn fails(site: &Site, reply: Reply) -> ServiceError {
    let server = answering(site, reply);
    let answer = service(&site.client, &server.url).newest(&[asked("MT_1", "16.35.3006")]);
    match answer {
        Err(error) => error,
        // What makes no sense of one board only is no answer about that board.
        Ok(mut listing) => {
            assert!(listing.releases.is_empty() && listing.unlisted.is_empty());
            listing.faulty.remove(0).1
        }
    }
}

#[test]
fn the_question_is_the_one_of_the_protocol_and_unlisted_is_no_failure() {
    let site = Site::new();
    let answer =
        json!([listed("MT_0000000010", "16.35.4506"), {"PSID": "MT_0000000359", "Found": 0}]);
    let server = answering(&site, json_reply(&answer));
    let boards = [
        asked("mt_0000000010", "16.35.3006"),
        asked("MT_0000000359", "22.38.1002"),
        asked("MT_X", ""),
    ];
    let listing = service(&site.client, &server.url).newest(&boards).unwrap();

    let request = &server.requests()[0];
    assert_eq!(server.asked(), [ENDPOINT]);
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    let question: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        question,
        json!({"devs": ",,", "key": "last_release", "mode": 0,
            "psids": "MT_0000000010,MT_0000000359,MT_X", "versions": "16.35.3006,22.38.1002,"})
    );
    let unlisted: Vec<&str> = listing.unlisted.iter().map(Psid::as_str).collect();
    assert_eq!(unlisted, ["MT_0000000359", "MT_X"]);
    let release = &listing.releases[0];
    assert_eq!(release.psid.as_str(), "mt_0000000010");
    assert_eq!(release.firmware(), "16.35.4506".parse().ok());
    assert_eq!(release.notes.as_deref(), Some("First line\nSecond line"));
    assert_eq!(release.part_numbers, ["MCX555A-ECA_Ax"]);
    let place = format!("{}/downloads/firmware/mfa/x.mfa", server.url);
    assert!(matches!(&release.place, Place::Remote(url) if url.as_str() == place));
    assert_eq!(&*release.source, "online");
}

#[test]
fn many_boards_are_asked_for_in_batches_each_once() {
    let site = Site::new();
    let server = answering(&site, json_reply(&json!([])));
    let boards: Vec<Asked> = (0..BATCH * 2 + 1)
        .map(|n| asked(&format!("MT_{}", n % 101), ""))
        .collect();
    let listing = service(&site.client, &server.url).newest(&boards).unwrap();
    assert_eq!(listing.unlisted.len(), 101);
    let sizes: Vec<usize> = server
        .requests()
        .iter()
        .map(|request| {
            let question: Value = serde_json::from_slice(&request.body).unwrap();
            question["psids"].as_str().unwrap().split(',').count()
        })
        .collect();
    assert_eq!(sizes, [50, 50, 1]);
}

#[test]
fn a_redirected_question_is_asked_again_in_full() {
    let site = Site::new();
    let server = Server::start(&site.authority, Kind::Good, |request| {
        match request.path.as_str() {
            "/moved/here" => json_reply(&json!([listed("MT_1", "16.35.4506")])),
            _ => Reply::redirect("/moved/here"),
        }
    });
    let listing = service(&site.client, &server.url)
        .newest(&[asked("MT_1", "")])
        .unwrap();
    assert_eq!(listing.releases.len(), 1);
    let requests = server.requests();
    assert_eq!(server.asked(), [ENDPOINT, "POST /moved/here"]);
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn what_is_no_answer_is_never_taken_for_unlisted() {
    let site = Site::new();
    let whole = json!([listed("MT_1", "16.35.4506")]).to_string();
    let truncated = Reply::new(200, &whole.as_bytes()[..whole.len() / 2]);
    let error = fails(&site, truncated);
    assert!(matches!(error, ServiceError::BadAnswer { .. }), "{error:?}");
    assert!(
        error.to_string().contains("not JSON at line 1, column"),
        "{error}"
    );

    let error = fails(&site, Reply::html(200, "Please log in"));
    assert!(
        error
            .to_string()
            .contains("a web page (`Please log in`) in place of the answer"),
        "{error}"
    );
    assert_eq!(error.class(), "web_page");

    let error = fails(&site, json_reply(&json!([{"PSID": "MT_1", "Found": [1]}])));
    assert!(
        error
            .to_string()
            .ends_with("bad answer: what it says of MT_1: [0].Found is an array, expected 0 or 1"),
        "{error}"
    );

    let error = fails(&site, Reply::html(404, "Not found"));
    assert!(
        matches!(error, ServiceError::Http(HttpError::Status { .. })),
        "{error:?}"
    );

    let error = fails(
        &site,
        Reply::new(200, whole.clone()).fault(Fault::CutAt(20)),
    );
    assert!(
        matches!(error, ServiceError::Http(HttpError::Lost { .. })),
        "{error:?}"
    );

    let huge = Reply::new(200, whole).length(Length::Announced(2 << 30));
    let error = fails(&site, huge);
    assert!(
        matches!(error, ServiceError::Http(HttpError::TooLarge { .. })),
        "{error:?}"
    );

    let error = fails(&site, Reply::new(200, ""));
    assert!(matches!(error, ServiceError::BadAnswer { .. }), "{error:?}");
}

#[test]
fn firmware_of_another_chip_and_of_boards_nobody_asked_for_is_left_out_with_a_warning() {
    let site = Site::new();
    let answer = json!([listed("MT_1", "28.39.5124"), listed("MT_2", "16.35.4506")]);
    let server = answering(&site, json_reply(&answer));
    let listing = service(&site.client, &server.url)
        .newest(&[asked("MT_1", "20.38.1002")])
        .unwrap();
    assert!(listing.releases.is_empty());
    assert_eq!(listing.unlisted.len(), 1);
    assert_eq!(
        listing.warnings,
        [
            "online: an answer for MT_2, which nobody asked for",
            "online: 28.39.5124 for MT_1 is for another chip, left out",
        ]
    );
}

#[test]
fn a_file_is_fetched_from_the_server_and_hosts_on_the_list_only() {
    let site = Site::new();
    for url in [
        "https://evil.example/x.mfa",
        "http://127.0.0.1/x.mfa",
        "file:///etc/passwd",
    ] {
        let mut answer = listed("MT_1", "16.35.4506");
        answer["URL"] = json!(url);
        let error = fails(&site, json_reply(&json!([answer])));
        assert!(
            error
                .to_string()
                .contains("bad answer: what it says of MT_1: MT_1.URL is "),
            "{error}"
        );
    }
    let mut answer = listed("MT_1", "16.35.4506");
    answer["Name"] = json!("../..");
    let error = fails(&site, json_reply(&json!([answer])));
    assert!(
        error
            .to_string()
            .contains("MT_1.Name is ../.., expected a file name"),
        "{error}"
    );
}

#[test]
fn plain_http_is_for_servers_on_this_host_only() {
    let client = Site::new().client;
    for bad in [
        "http://www.example",
        "ftp://www.example",
        "www.example",
        "https://",
        "",
    ] {
        let error = Service::new(client.clone(), bad, PUBLIC_KEY).unwrap_err();
        assert!(
            matches!(error, ServiceError::BadServer { .. }),
            "{bad}: {error:?}"
        );
    }
    assert!(Service::new(client.clone(), "http://[::1]:80", PUBLIC_KEY).is_ok());
    let server = Server::plain(|_| json_reply(&json!([])));
    assert!(
        service(&client, &server.url)
            .newest(&[asked("MT_1", "")])
            .is_ok()
    );
}

#[test]
fn psids_and_files_are_looked_up_without_cards() {
    let site = Site::new();
    let server = answering(&site, json_reply(&json!([listed("MT_1", "16.35.4506")])));
    let listing = service(&site.client, &server.url)
        .look_up(&[Psid::new("MT_1").unwrap()])
        .unwrap();
    assert_eq!(listing.releases.len(), 1);
    let files = service(&site.client, &server.url).files().unwrap();
    assert_eq!(files[0].url, "downloads/firmware/mfa/x.mfa");
    let questions: Vec<Value> = server
        .requests()
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    assert_eq!(
        questions[0],
        json!({"mode": 3, "psids": "MT_1", "key": "last_release"})
    );
    assert_eq!(
        questions[1],
        json!({"mode": 2, "psids": "", "os": "all", "type": "all", "devs": "all", "key": "last_release"})
    );
}
