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
mod programs;
mod server;
mod service;
mod source;
mod system;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cxfw::release::http::{
    AllowedHosts, Client, Connector, ProxyChoice, Retries, Settings, Timeouts,
};
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
        proxy: ProxyChoice::none(),
        allowed_hosts: AllowedHosts::default(),
        timeouts: TIMEOUTS,
        retries: RETRIES,
    }
}

/// A folder, an authority with its file in the folder, and a client that believes it.
struct Site {
    folder: tempfile::TempDir,
    authority: Authority,
    connector: Arc<Connector>,
    client: Client,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new();
        let settings = settings(vec![authority.file(folder.path())]);
        let connector = Arc::new(Connector::new(settings));
        let client = connector.client().unwrap().clone();
        Self {
            folder,
            authority,
            connector,
            client,
        }
    }
}
