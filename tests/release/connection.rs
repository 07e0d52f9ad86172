//! Every way a connection can fail is its own error, within its time.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use cxfw::release::http::{
    AllowedHosts, Client, HttpError, ProxyChoice, RedirectFault, TlsFault, Wait,
};
use reqwest::Url;

use crate::server::certificate::Kind;
use crate::server::{Fault, Length, Reply, Server};
use crate::{Site, settings};

const LIMIT: u64 = 1 << 20;

fn get(client: &Client, url: &str) -> Result<Vec<u8>, HttpError> {
    let url = Url::parse(url).unwrap();
    client.get_whole(&url, LIMIT).map(|(body, _)| body)
}

fn fails(client: &Client, url: &str) -> HttpError {
    let since = Instant::now();
    let error = get(client, url).unwrap_err();
    assert!(since.elapsed() < Duration::from_secs(8), "{error}");
    error
}

/// A client with no authority but the built-in and the system's, through this proxy.
fn through(proxy: &str) -> Client {
    let choice = ProxyChoice {
        proxy: Some(proxy.to_owned()),
        no_proxy: Vec::new(),
    };
    let mut settings = settings(Vec::new());
    settings.proxy = choice;
    Client::new(settings).unwrap()
}

/// A port where nobody listens.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_name_without_an_address_is_a_dns_error() {
    let error = fails(&Site::new().client, "https://no-such-host.invalid/");
    assert!(
        matches!(&error, HttpError::Dns { host, .. } if host == "no-such-host.invalid"),
        "{error:?}"
    );
}

#[test]
fn a_port_where_nobody_listens_is_unreachable() {
    let port = free_port();
    let error = fails(&Site::new().client, &format!("https://127.0.0.1:{port}/"));
    assert!(matches!(error, HttpError::Unreachable { .. }), "{error:?}");
    assert!(
        error
            .to_string()
            .starts_with(&format!("127.0.0.1:{port}: cannot connect (")),
        "{error}"
    );
}

#[test]
fn each_bad_certificate_has_its_own_error() {
    let site = Site::new();
    let unbelieving = Client::new(settings(Vec::new())).unwrap();
    let fault = |kind, client: &Client| {
        let server = Server::start(&site.authority, kind, |_| Reply::new(200, "never sent"));
        let error = fails(client, &server.url);
        assert!(server.requests().is_empty());
        match error {
            HttpError::Tls { fault, .. } => fault,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(fault(Kind::Expired, &site.client), TlsFault::Expired);
    assert_eq!(fault(Kind::OtherName, &site.client), TlsFault::WrongName);
    assert_eq!(
        fault(Kind::SelfSigned, &site.client),
        TlsFault::UnknownIssuer
    );
    assert_eq!(fault(Kind::Good, &unbelieving), TlsFault::UnknownIssuer);
}

#[test]
fn a_server_that_speaks_no_tls_is_a_tls_error() {
    let server = Server::plain(|_| Reply::new(200, "hello"));
    let error = fails(&Site::new().client, &server.url.replace("http:", "https:"));
    assert!(
        matches!(
            error,
            HttpError::Tls {
                fault: TlsFault::Handshake(_),
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_status_that_is_no_success_is_told_with_its_number() {
    let server = Server::plain(|_| Reply::html(404, "Not here"));
    let error = fails(&Site::new().client, &server.url);
    assert_eq!(
        error.to_string(),
        format!("{}/: HTTP 404 Not Found", server.url)
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_server_error_is_tried_again_until_it_is_fine_or_has_failed_often_enough() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let server =
        Server::plain(
            move |_| match count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 | 1 => Reply::new(500, "a fit"),
                _ => Reply::new(200, "fine"),
            },
        );
    assert_eq!(get(&Site::new().client, &server.url).unwrap(), b"fine");
    let broken = Server::plain(|_| Reply::new(503, "down"));
    let error = fails(&Site::new().client, &broken.url);
    assert!(
        matches!(error, HttpError::Status { status, .. } if status == 503),
        "{error:?}"
    );
    assert_eq!(broken.requests().len(), 3);
}

#[test]
fn a_redirect_is_followed_within_https_and_the_allowed_hosts_only() {
    let site = Site::new();
    let target = Server::start(&site.authority, Kind::Good, |_| Reply::new(200, "there"));
    let there = format!("{}/there", target.url);
    let elsewhere = there.replace("127.0.0.1", "localhost");
    let plain = there.replace("https:", "http:");
    let (there, port) = (there, target.port);
    let server = {
        let (there, elsewhere) = (there.clone(), elsewhere.clone());
        Server::start(&site.authority, Kind::Good, move |request| {
            match request.path.as_str() {
                "/fine" => Reply::redirect(&there),
                "/relative" => Reply::redirect("fine"),
                "/elsewhere" => Reply::redirect(&elsewhere),
                "/plain" => Reply::redirect(&plain),
                "/loop" => Reply::redirect("/loop2"),
                "/loop2" => Reply::redirect("/loop"),
                "/nowhere" => Reply::new(302, ""),
                path => Reply::redirect(&format!("{path}x")),
            }
        })
    };
    let url = |path: &str| format!("{}{path}", server.url);
    assert_eq!(get(&site.client, &url("/fine")).unwrap(), b"there");
    assert_eq!(get(&site.client, &url("/relative")).unwrap(), b"there");
    let fault = |path: &str| match fails(&site.client, &url(path)) {
        HttpError::Redirect { fault, .. } => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault("/elsewhere"), RedirectFault::Host);
    assert_eq!(fault("/plain"), RedirectFault::Scheme);
    assert_eq!(fault("/loop"), RedirectFault::Loop);
    assert_eq!(fault("/nowhere"), RedirectFault::Address);
    assert_eq!(fault("/on"), RedirectFault::TooMany(5));

    let mut open = settings(vec![site.authority.file(site.folder.path())]);
    open.allowed_hosts = AllowedHosts::new(&["localhost"]);
    let open = Client::new(open).unwrap();
    assert_eq!(get(&open, &url("/elsewhere")).unwrap(), b"there");
    let error = fails(&site.client, &url("/plain"));
    assert_eq!(
        error.to_string(),
        format!(
            "{}/plain: redirect to http://127.0.0.1:{port}/there refused: it leaves https",
            server.url
        )
    );
}

#[test]
fn every_wait_ends() {
    let client = Site::new().client;
    // Accepts and says nothing: for TLS that is no connection.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    thread::spawn(move || {
        let open: Vec<_> = silent.incoming().collect();
        drop(open);
    });
    let wait = |url: &str| match fails(&client, url) {
        HttpError::TimedOut { wait, .. } => wait,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(&format!("http://127.0.0.1:{port}/")), Wait::Answer);
    let stalls = Server::plain(|_| Reply::new(200, "half").fault(Fault::StallAt(2)));
    assert_eq!(wait(&stalls.url), Wait::Stall);
    let trickle = Fault::Trickle(Duration::from_millis(50));
    let trickles = Server::plain(move |_| Reply::new(200, vec![0; 1000]).fault(trickle));
    assert_eq!(wait(&trickles.url), Wait::Total);
}

#[test]
fn a_handshake_that_hangs_is_no_connection_in_time() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    thread::spawn(move || {
        let open: Vec<_> = silent.incoming().collect();
        drop(open);
    });
    let mut settings = settings(Vec::new());
    settings.timeouts.connect = Duration::from_millis(300);
    let client = Client::new(settings).unwrap();
    let error = fails(&client, &format!("https://127.0.0.1:{port}/"));
    assert!(
        matches!(
            error,
            HttpError::TimedOut {
                wait: Wait::Connect,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn more_than_is_accepted_is_refused_when_announced_and_when_sent() {
    let client = Site::new().client;
    let huge = Reply::new(200, "x").length(Length::Announced(2 << 30));
    let announced = Server::plain(move |_| huge.clone());
    let error = fails(&client, &announced.url);
    assert!(
        matches!(
            error,
            HttpError::TooLarge {
                size: 2_147_483_648,
                limit: LIMIT,
                ..
            }
        ),
        "{error:?}"
    );
    let sent = Server::plain(|_| Reply::new(200, vec![0; 2 << 20]).length(Length::Untold));
    let error = fails(&client, &sent.url);
    assert!(matches!(error, HttpError::TooLarge { .. }), "{error:?}");
}

#[test]
fn proxies_that_fail_are_not_servers_that_fail() {
    let port = free_port();
    let error = fails(
        &through(&format!("127.0.0.1:{port}")),
        "https://firmware.example/",
    );
    assert!(
        matches!(&error, HttpError::ProxyUnreachable { proxy, .. } if *proxy == format!("127.0.0.1:{port}")),
        "{error:?}"
    );
    let error = fails(
        &through("no-such-proxy.invalid:3128"),
        "https://firmware.example/",
    );
    assert!(
        matches!(error, HttpError::ProxyUnreachable { .. }),
        "{error:?}"
    );
    for scheme in ["http", "https"] {
        let guarded = Server::plain(|_| Reply::html(407, "Authentication"));
        let error = fails(
            &through(&guarded.url),
            &format!("{scheme}://firmware.example/"),
        );
        assert!(
            matches!(error, HttpError::ProxyAuthentication { .. }),
            "{scheme}: {error:?}"
        );
    }
    let strict = Server::plain(|_| Reply::html(403, "Filtered"));
    let error = fails(&through(&strict.url), "https://firmware.example/");
    assert!(
        matches!(&error, HttpError::ProxyRefused { host, .. } if host == "firmware.example"),
        "{error:?}"
    );
    assert_eq!(strict.asked(), ["CONNECT firmware.example:443"]);
}

#[test]
fn the_password_of_a_proxy_is_sent_and_never_shown() {
    let guarded = Server::plain(|request| match request.header("proxy-authorization") {
        Some("Basic dXNlcjpzZWNyZXQ=") => Reply::new(200, "let in"),
        _ => Reply::new(407, ""),
    });
    let proxy = guarded.url.replace("http://", "http://user:secret@");
    assert_eq!(
        get(&through(&proxy), "http://firmware.example/x").unwrap(),
        b"let in"
    );
    let wrong = guarded.url.replace("http://", "http://user:wrong@");
    let error = fails(&through(&wrong), "http://firmware.example/x");
    assert!(!error.to_string().contains("wrong"), "{error}");
}
