//! Queries of cards that break: what could be read is shown, and why the rest is missing.
//!
//! A card that does not answer is a failure. One that only keeps its flash to itself is shown with
//! what else is known of it, and a warning.

use std::thread;

use crate::bench::{Bench, ConnectX3, Lx, Recovery, Way};
use crate::case::{Help, without_times};

/// A fault and what a query says of it.
struct Row {
    on: Way,
    fault: &'static str,
    code: i32,
    says: &'static str,
    helps: Help,
}

const fn row(on: Way, fault: &'static str, (code, says): (i32, &'static str), helps: Help) -> Row {
    Row {
        on,
        fault,
        code,
        says,
        helps,
    }
}

/// Side by side, for some of them wait.
#[test]
fn a_query_says_why_it_could_not_read_a_card_and_reads_it_when_the_advice_was_followed() {
    let rows = gone().into_iter().chain(hanging()).chain(held());
    thread::scope(|scope| {
        for row in rows.chain(unsteady()) {
            scope.spawn(move || row.play());
        }
    });
}

fn gone() -> Vec<Row> {
    let gone = (1, "reads all ones; the function is gone from the bus");
    vec![
        row(Lx, "vanish", gone, Help::Restart),
        row(Lx, "power-loss --at 300", gone, Help::Restart),
        row(Lx, "vanish --of register --at 3", gone, Help::Restart),
        row(ConnectX3, "vanish --at 400", gone, Help::Restart),
    ]
}

fn hanging() -> Vec<Row> {
    let flag = (
        1,
        "did not finish: the flag did not change in 2048 reads, N ms",
    );
    let mailbox = (
        1,
        "the firmware has not finished an earlier command: the mailbox is busy",
    );
    let gateway = (
        0,
        "(0xf0400) is busy: an earlier command did not finish in 5000 reads, N ms",
    );
    vec![
        row(Lx, "hang capability", flag, Help::Restart),
        row(Lx, "hang firmware", mailbox, Help::PowerOff),
        row(ConnectX3, "hang gateway", gateway, Help::PowerOff),
        row(Recovery, "hang gateway", gateway, Help::PowerOff),
    ]
}

fn held() -> Vec<Row> {
    let ticket = "was held by ticket 0x5ead0001 (no process known here) for N ms, which blocks every \
                  access to the card";
    let token = "was held by token 0x5ead0001 (no process known here) for N ms, which blocks every \
                 access to the card's firmware";
    let locked = |register| (0, register);
    vec![
        row(Lx, "hold capability", (1, ticket), Help::Release),
        row(Lx, "hold icmd", (1, token), Help::Release),
        row(
            ConnectX3,
            "hold flash",
            locked("(0xf03a0) was locked for N ms"),
            Help::Release,
        ),
        row(
            ConnectX3,
            "hold gateway",
            locked("(0xf03fc) was locked for N ms"),
            Help::Release,
        ),
        row(
            Recovery,
            "hold gateway",
            locked("(0xf0400) was locked for N ms"),
            Help::Release,
        ),
    ]
}

fn unsteady() -> Vec<Row> {
    let always = (0, "the flash reads differently each time, first at 0x");
    vec![
        row(ConnectX3, "bit-errors", always, Help::TryAgain),
        row(Recovery, "bit-errors --every 40", always, Help::TryAgain),
    ]
}

impl Row {
    fn play(&self) {
        let bench = Bench::new(self.on);
        let context = format!("{:?} {}", self.on, self.fault);
        bench.break_card(self.fault);
        let query = ["query", "-d", &bench.device, "--format", "json"];
        let ran = bench.lab.run(&query);
        bench.lab.assert_well_behaved();
        assert_eq!(ran.code, Some(self.code), "{context}: {ran:?}");
        let heard = without_times(&ran.stderr);
        assert!(heard.contains(self.says), "{context}: {heard}");
        assert!(heard.contains(self.helps.advised()), "{context}: {heard}");
        let card = &ran.json()["cards"][0];
        let told = without_times(&format!("{}{}", card["error"], card["warnings"]));
        assert!(told.contains(self.says), "{context}: {told}");
        self.helps.mend(&bench, &ran.stderr);
        bench.assert_boots_old();
        let again = bench.lab.run(&query);
        assert_eq!(again.code, Some(0), "{context}: {again:?}");
        let heard = without_times(&again.stderr);
        assert!(!heard.contains(self.says), "{context}: {heard}");
        bench.lab.assert_well_behaved();
    }
}
