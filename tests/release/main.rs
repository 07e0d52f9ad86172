//! Releases from real servers on loopback: the vendor's protocol over TLS, downloads that go
//! wrong in every way, indexes and mirrors, a web server and a proxy of the system where there are
//! some.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

mod connection;
mod download;
mod firmware;
mod mirror;
mod server;
mod service;

use std::path::PathBuf;
use std::time::Duration;

use cxfw::release::http::{AllowedHosts, Client, Proxies, Retries, Settings, Timeouts};
use server::certificate::Authority;

/// Short waits, so that a test of a stall does not stall the tests.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_millis(2000),
    stall: Duration::from_millis(700),
    grace: Duration::from_millis(1500),
    slowest: 1 << 20,
};

/// Hardly any pause.
const RETRIES: Retries = Retries {
    attempts: 3,
    attempts_in_all: 20,
    pause: Duration::from_millis(5),
};

/// Settings that believe only what the test says, whatever the environment.
fn settings(ca_files: Vec<PathBuf>) -> Settings {
    Settings {
        ca_files,
        proxies: Proxies::none(),
        allowed_hosts: AllowedHosts::default(),
        timeouts: TIMEOUTS,
        retries: RETRIES,
    }
}

/// A folder, an authority with its file in the folder, and a client that believes it.
struct Site {
    folder: tempfile::TempDir,
    authority: Authority,
    client: Client,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let client = Client::new(settings(vec![authority.file(folder.path())])).unwrap();
        Self {
            folder,
            authority,
            client,
        }
    }
}
