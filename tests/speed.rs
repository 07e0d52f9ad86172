//! How long the main jobs take on a lab, as wall time of the whole program.
//!
//! The promise is for a release build (`cargo test --release --test speed`): a query of the
//! default host within 200 ms, a burn of a 4 MiB image within 2 s. A debug build is given twenty
//! times as long, so that a job that became slow by an order is seen there too.

mod cli_common;
mod pace;

use std::time::Duration;

use cli_common::TestLab;
use cxfw::lab::host::HostSpec;
use pace::{allowed, shortest};

/// Runs a job this often.
const RUNS: usize = 3;

#[test]
fn the_default_host_is_queried_in_a_fifth_of_a_second() {
    let lab = TestLab::new();
    let took = shortest(RUNS, || {
        let ran = lab.run(&["query"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    });
    println!("query of the default lab host: {took:?}");
    assert!(took < allowed(Duration::from_millis(200)), "{took:?}");
}

#[test]
fn an_image_of_4_mib_is_burned_in_two_seconds() {
    let mut host = HostSpec::default_host().unwrap();
    host.cards.retain(|card| card.name == "cx4lx");
    host.offers.retain(|offer| offer.psid == host.cards[0].psid);
    assert_eq!((host.cards.len(), host.offers.len()), (1, 1));
    // What stands before and behind the code fills the image up to 4 MiB.
    host.offers[0].firmware.code_size = (4 << 20) - (200 << 10);
    let lab = TestLab::of(&host);
    let took = shortest(RUNS, || {
        let ran = lab.run(&["update", "--yes", "--reinstall"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("1 burned"), "{ran:?}");
        assert_eq!(lab.run(&["lab", "reset"]).code, Some(0));
    });
    println!("burn of a 4 MiB image and the restart of the lab: {took:?}");
    assert!(took < allowed(Duration::from_secs(2)), "{took:?}");
}
