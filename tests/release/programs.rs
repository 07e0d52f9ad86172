//! With programs of the system: nginx serves a mirror, tinyproxy stands in between. Where they are
//! not installed these tests say so and pass.

use std::fs;
use std::net::TcpStream;
use std::sync::Arc;

use cxfw::release::http::{Connector, ProxyChoice};
use cxfw::release::{Freshness, How, Sources};

use crate::firmware::{BOARD, VERSION, bundle};
use crate::server::certificate::Kind;
use crate::server::{Reply, Server};
use crate::source::{asked, index_at, mirror_of, sources};
use crate::system::{free_port, nginx, tinyproxy};
use crate::{Site, settings};

/// Everything a web server has to do: the index, its digest, and files by parts.
fn fetch_newest(sources: &Sources) -> How {
    let findings = sources.find(&asked(&[BOARD]));
    assert!(findings.is_complete(), "{:?}", findings.searched);
    let fetched = sources.fetch(&findings.releases[0], Freshness::Keep, &mut |_| ());
    fetched.unwrap().how
}

#[test]
fn nginx_serves_a_mirror() {
    let site = Site::new();
    let folder = mirror_of(
        &site,
        "mirror",
        &[("cx 5/new.mfa", bundle(&[(BOARD, VERSION)]))],
    );
    let port = free_port();
    let work = site.folder.path().join("nginx");
    let Some(_nginx) = nginx(&folder, &work, port) else {
        return;
    };
    let url = format!("http://127.0.0.1:{port}");
    let list = || vec![index_at(&url, "nginx")];
    assert_eq!(fetch_newest(&sources(&site, list())), How::Downloaded);
    assert_eq!(fetch_newest(&sources(&site, list())), How::Kept);
    let findings = sources(&site, list()).find(&asked(&[BOARD]));
    assert!(
        findings.warnings[0].contains("neither signed nor over https"),
        "{:?}",
        findings.warnings
    );

    // A run that was cut left half of it; nginx gives the rest.
    let target = sources(&site, list())
        .fetch(&findings.releases[0], Freshness::Keep, &mut |_| ())
        .unwrap()
        .path;
    let bytes = fs::read(&target).unwrap();
    let file = format!("{url}/cx%205/new.mfa");
    let tag = tag_of(port);
    fs::remove_file(&target).unwrap();
    let hidden = |suffix: &str| target.with_file_name(format!(".new.mfa{suffix}"));
    fs::write(hidden(".part"), &bytes[..bytes.len() / 2]).unwrap();
    let origin = serde_json::json!({"url": file, "validator": tag, "total": bytes.len()});
    fs::write(hidden(".part.json"), origin.to_string()).unwrap();
    let mut done = Vec::new();
    let sources = sources(&site, list());
    let fetched = sources.fetch(&findings.releases[0], Freshness::Keep, &mut |event| {
        if let cxfw::progress::Transfer::Started { done: at, .. } = event {
            done.push(at);
        }
    });
    assert_eq!(fetched.unwrap().how, How::Downloaded);
    assert_eq!(done, [bytes.len() as u64 / 2]);
    assert_eq!(fs::read(&target).unwrap(), bytes);
}

/// The tag nginx gives the file.
fn tag_of(port: u16) -> String {
    use std::io::{Read, Write};
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = "HEAD /cx%205/new.mfa HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let line = answer.lines().find_map(|line| line.strip_prefix("ETag: "));
    line.unwrap().trim().to_owned()
}

#[test]
fn a_proxy_carries_both_kinds_of_connections_and_is_blamed_for_its_own_failures() {
    let mut site = Site::new();
    let folder = mirror_of(&site, "mirror", &[("new.mfa", bundle(&[(BOARD, VERSION)]))]);
    let (web, proxy) = (free_port(), free_port());
    let Some(_nginx) = nginx(&folder, &site.folder.path().join("nginx"), web) else {
        return;
    };
    let Some(_proxy) = tinyproxy(&site.folder.path().join("tinyproxy"), proxy) else {
        return;
    };
    let secure = Server::start(&site.authority, Kind::Good, move |request| {
        match fs::read(folder.join(request.path.trim_start_matches('/'))) {
            Ok(bytes) => Reply::file(request, &bytes, "\"1\""),
            Err(_) => Reply::new(404, ""),
        }
    });
    let ca = site.authority.file(site.folder.path());
    let mut through = settings(vec![ca]);
    through.proxy = ProxyChoice {
        proxy: Some(format!("127.0.0.1:{proxy}")),
        no_proxy: Vec::new(),
    };
    site.connector = Arc::new(Connector::new(through));
    for url in [format!("http://127.0.0.1:{web}/"), secure.url.clone()] {
        let sources = sources(&site, vec![index_at(&url, "site")]);
        assert_eq!(fetch_newest(&sources), How::Downloaded, "{url}");
    }
    // The proxy cannot reach a port where nobody listens, and says so.
    let nobody = format!("https://127.0.0.1:{}/", free_port());
    let findings = sources(&site, vec![index_at(&nobody, "site")]).find(&asked(&[BOARD]));
    let failure = findings.searched[0].failure.as_ref().unwrap();
    assert_eq!(failure.class(), "proxy", "{failure}");
}
