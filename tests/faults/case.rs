//! A row of a table: a fault, what is said of it, and what helps.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::bench::{Bench, Command, Recovery, Way};
use crate::cli_common::Ran;

/// A fault of a card and what the user hears of it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The card.
    pub on: Way,
    /// Arguments of `lab fault`.
    pub fault: &'static str,
    /// The word for programs.
    pub word: &'static str,
    /// What happened.
    pub says: &'static str,
    /// Where a burn stopped; `""`: before it began.
    pub at: &'static str,
    /// What is advised, and done.
    pub helps: Help,
}

/// A row of a table: the card, its fault, the word for programs with what happened, where a burn
/// stopped, and what helps.
pub const fn row(
    on: Way,
    fault: &'static str,
    (word, says): (&'static str, &'static str),
    at: &'static str,
    helps: Help,
) -> Case {
    Case {
        on,
        fault,
        word,
        says,
        at,
        helps,
    }
}

/// What mends a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Help {
    /// The machine is restarted.
    Restart,
    /// The machine is restarted without power.
    PowerOff,
    /// The lock is freed with the very command of the advice.
    Release,
    /// What set the write protection takes it away.
    Unprotect,
    /// It was a whim of the flash.
    TryAgain,
}

/// Plays every row, side by side.
pub fn play(command: Command, cases: &[Case]) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || case.play(command));
        }
    });
}

impl Case {
    fn play(&self, command: Command) {
        let bench = Bench::new(self.on);
        let before = bench.identity();
        bench.break_card(self.fault);
        let ran = bench.run(command);
        bench.lab.assert_well_behaved();
        self.check(&bench, command, &ran);
        self.helps.mend(&bench, &Told::by(&ran).advice);
        bench.assert_boots_old();
        // a whole backup takes seconds, and shows no more than that the card can be read and burned
        let again = bench.run(match command {
            Command::Backup => Command::Saving,
            burn => burn,
        });
        assert_eq!(again.code, Some(0), "{self:?}: {again:?}");
        bench.assert_runs_new();
        if self.on != Recovery {
            assert_eq!(bench.identity(), before, "{self:?}");
        }
        bench.lab.assert_well_behaved();
    }

    /// What the user and his programs are told.
    fn check(&self, bench: &Bench, command: Command, ran: &Ran) {
        assert_eq!(ran.code, Some(1), "{self:?}: {ran:?}");
        let told = Told::by(ran);
        let context = format!("{self:?}: {told:?} {}", ran.stderr);
        assert_eq!(told.word, self.word, "{context}");
        let heard = without_times(&ran.stderr);
        assert!(heard.contains(&bench.device), "{context}");
        assert!(heard.contains(self.says), "{context}");
        assert!(
            without_times(&told.message).contains(self.says),
            "{context}"
        );
        assert!(told.advice.contains(self.helps.advised()), "{context}");
        assert!(heard.contains(&without_times(&told.advice)), "{context}");
        if command.burns() {
            let state = told.state.as_deref().unwrap_or(&told.message);
            assert!(state.contains(&self.state(bench)), "{context}");
            assert!(heard.contains(&self.state(bench)), "{context}");
            let stopped = format!("stopped at {}", self.at);
            assert!(self.at.is_empty() || state.contains(&stopped), "{context}");
        }
    }

    /// The state that a burn leaves.
    fn state(&self, bench: &Bench) -> String {
        match (self.at, self.on) {
            ("", _) => "nothing was".to_owned(),
            (_, Recovery) => "the card has no firmware to boot and stays in recovery".to_owned(),
            _ => format!("the card still boots {}", bench.old),
        }
    }
}

impl Help {
    /// The heart of the advice.
    pub const fn advised(self) -> &'static str {
        match self {
            Self::Restart => "restart the machine",
            Self::PowerOff => "restart the machine without power for a moment",
            Self::Release => " --release-lock`",
            Self::Unprotect => "remove the write protection",
            Self::TryAgain => "again; if it stays so, the flash part",
        }
    }

    /// Does as `advice` says.
    pub fn mend(self, bench: &Bench, advice: &str) {
        match self {
            Self::Restart | Self::PowerOff => bench.lab.reset(),
            Self::Unprotect | Self::TryAgain => bench.break_card("--clear"),
            Self::Release => {
                let command = advice.split('`').nth(1).unwrap();
                let words: Vec<&str> = command.split(' ').skip(1).collect();
                let free = || bench.lab.run(&[&words[..], &["--yes"]].concat());
                let mut freed = free();
                // a mstflint in another lab of this machine has a card of the same address open
                for _ in 0..30 {
                    if freed.code != Some(4) {
                        break;
                    }
                    thread::sleep(Duration::from_secs(1));
                    freed = free();
                }
                assert_eq!(freed.code, Some(0), "{freed:?}");
                assert!(freed.stderr.contains("freed"), "{freed:?}");
            }
        }
    }
}

/// What a command that failed says to programs.
#[derive(Debug)]
pub struct Told {
    pub word: String,
    pub message: String,
    pub state: Option<String>,
    pub advice: String,
}

impl Told {
    pub fn by(ran: &Ran) -> Self {
        let document = ran.json();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let must = |value: &Value| text(value).unwrap_or_else(|| panic!("no text: {document}"));
        let card = &document["cards"][0];
        if let Some(problem) = document["errors"].get(0) {
            Self {
                word: must(&problem["code"]),
                message: must(&problem["message"]),
                state: None,
                advice: must(&problem["advice"]),
            }
        } else if card.get("result").is_some() {
            assert_eq!(card["result"], "failed", "{document}");
            Self {
                word: must(&card["code"]),
                message: must(&card["reason"]),
                state: Some(must(&card["state"])),
                advice: must(&card["advice"]),
            }
        } else {
            let error = &card["error"];
            Self {
                word: must(&error["code"]),
                message: must(&error["message"]),
                state: None,
                advice: must(&error["advice"]),
            }
        }
    }
}

/// Every `1234 ms` as `N ms`.
pub fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let follows = |at: usize| words.get(at + 1).is_some_and(|next| next.starts_with("ms"));
    let shown: Vec<&str> = words
        .iter()
        .enumerate()
        .map(|(at, word)| match word.parse::<u32>() {
            Ok(_) if follows(at) => "N",
            _ => word,
        })
        .collect();
    shown.join(" ")
}
