//! Progress of a download, and a user who does not wait for its end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cli_common::schema;
use crate::server::certificate::Kind;
use crate::server::{Fault, Reply, Server};
use crate::{Site, file};

const WORDS: [&str; 6] = [
    "update",
    "--yes",
    "-d",
    "0000:03:00.0",
    "--progress",
    "json",
];

/// The JSON lines of stderr about transfers.
fn transfers(stderr: &str) -> Vec<Value> {
    let lines = stderr
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines
        .filter(|line: &Value| {
            let event = line["event"].as_str();
            event.is_some_and(|event| event.starts_with("transfer"))
        })
        .collect()
}

#[test]
fn progress_tells_how_far_a_download_is() {
    let site = Site::new();
    let server = site.server(file);
    let ran = site.online(&server, &WORDS);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = transfers(&ran.stderr);
    let total = site.bundle.len();
    assert_eq!(told[0]["event"], "transfer_started", "{told:?}");
    assert_eq!(told[0]["file"], "lab.mfa");
    assert_eq!(told[0]["total"], total);
    assert_eq!(told[told.len() - 1]["event"], "transfer_done");
    let last = &told[told.len() - 2];
    assert_eq!(
        (&last["done"], &last["total"]),
        (&total.into(), &total.into())
    );
    assert!(last["seconds_left"].is_u64() || last["seconds_left"].is_null());
    // For people it is a line or a bar; none when none is wanted.
    let ran = site.online(
        &server,
        &["update", "--dry-run", "--reinstall", "--refresh"],
    );
    assert!(ran.stderr.contains("Downloading lab.mfa - OK\n"), "{ran:?}");
    let ran = site.online(
        &server,
        &["update", "--dry-run", "--refresh", "--reinstall", "-q"],
    );
    assert!(!ran.stderr.contains("Downloading"), "{ran:?}");
}

#[test]
fn a_download_that_is_interrupted_leaves_no_file_and_is_continued_by_the_next_run() {
    let site = Site::new();
    std::fs::write(site.lab.beside("config.toml"), "[timeouts]\nstall = 60\n").unwrap();
    let server = site.server_with_a_fault(|size| Fault::StallAt(size / 2));
    let mut words = site.words(&WORDS);
    words.extend([
        "--online".to_owned(),
        format!("--server-url={}", server.url),
    ]);
    words.push("--format=json".to_owned());
    let mut command = site.lab.command(&words);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let arrived = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        let (done, total) = (line["done"].as_u64(), line["total"].as_u64());
        line["event"] == "transfer"
            && done
                .zip(total)
                .is_some_and(|(done, total)| done > total / 3)
    };
    let mut lines = stderr.lines();
    assert!(lines.any(|line| arrived(&line.unwrap())));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(
        rest.iter()
            .any(|line| line.starts_with("interrupted; nothing was burned; a download")),
        "{rest:?}"
    );
    let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
    schema::check(&document, "update.json");
    assert_eq!(document["errors"][0]["code"], "interrupted", "{document}");
    assert_eq!(site.kept(), [""; 0]);
    site.assert_untouched("interrupted");

    let ran = site.online(&server, &WORDS);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 burned"), "{ran:?}");
    let requests = server.requests();
    let last = requests.iter().rfind(|request| request.method == "GET");
    let range = last.unwrap().header("range").unwrap();
    assert_ne!(range, "bytes=0-", "{range}");
    assert_eq!(site.kept(), ["lab.mfa", "lab.mfa.sha256"]);
}

#[test]
fn whoever_waits_for_a_server_that_stalls_is_told_that_it_was_interrupted() {
    let site = Site::new();
    std::fs::write(site.lab.beside("config.toml"), "[timeouts]\nstall = 60\n").unwrap();
    for (words, told) in [
        (&["query"][..], "interrupted while asking"),
        (
            &["download", "--psid=MT_2420110034", "--to=x"],
            "interrupted; the download",
        ),
    ] {
        let server = Server::start(&site.authority, Kind::Good, |_| {
            Reply::new(200, "[]").fault(Fault::StallAt(1))
        });
        let url = format!("--server-url={}", server.url);
        let words = site.words(&[words, &["--online", &url, "--format=json"]].concat());
        let mut command = site.lab.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let since = Instant::now();
        while server.asked().is_empty() {
            assert!(since.elapsed() < Duration::from_secs(30), "{words:?}");
            thread::sleep(Duration::from_millis(10));
        }
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{words:?}");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(stderr.contains(told), "{words:?}: {stderr}");
        let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(document["errors"][0]["code"], "interrupted", "{document}");
    }
}
