//! What a query and a burn cost in config cycles, both programs on equal cards, counted by the chip.

use std::fmt::Write as _;

use crate::bench::{
    Bench, CONNECTX_3, CONNECTX_4_LX, CONNECTX_5, CONNECTX_6_DX, Subject, Way, witness,
};
use crate::cli_common::Ran;

/// Config reads and writes of both programs for the same job.
#[derive(Debug, Clone, Copy)]
struct Cost {
    witness: u32,
    cxfw: u32,
}

impl Cost {
    /// A row of the table.
    fn row(self, job: &str, card: &str) -> String {
        let Self { witness, cxfw } = self;
        let share = f64::from(cxfw) / f64::from(witness);
        format!("| {job} | {card} | {witness} | {cxfw} | {share:.2} |\n")
    }

    /// cxfw needs at most `parts` of `whole` of the witness's cycles.
    fn is_at_most(self, parts: u32, whole: u32) -> bool {
        u64::from(self.cxfw) * u64::from(whole) <= u64::from(self.witness) * u64::from(parts)
    }
}

/// Cycles of a run that must succeed.
fn count(bench: &Bench, run: impl FnOnce() -> Ran) -> u32 {
    bench.chip().reset_counters().unwrap();
    let ran = run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let counters = bench.chip().counters();
    counters.config_reads + counters.config_writes
}

fn query(subject: Subject) -> Cost {
    let bench = Bench::new(subject);
    let witness = count(&bench, || bench.mstflint(Way::Firmware, &["query"]));
    let cxfw = count(&bench, || bench.cxfw(&["query"]));
    bench.assert_well_behaved();
    Cost { witness, cxfw }
}

/// The same image on two equal cards.
fn burn(subject: Subject) -> Cost {
    let bench = Bench::new(subject);
    let image = bench.image(bench.versions().1);
    let image = image.to_str().unwrap();
    let witness = count(&bench, || {
        bench.mstflint(Way::Firmware, &["-i", image, "-y", "burn"])
    });
    let bench = Bench::new(subject);
    let cxfw = count(&bench, || {
        // the witness makes no backup either
        bench.cxfw(&["update", "--yes", "--no-backup", "--image", image])
    });
    bench.assert_well_behaved();
    Cost { witness, cxfw }
}

#[test]
fn cxfw_costs_a_card_less_than_the_witness() {
    if !witness() {
        return;
    }
    let mut table = String::from(
        "| job | card | mstflint | cxfw | cxfw / mstflint |\n| --- | --- | ---: | ---: | ---: |\n",
    );
    let mut missed = String::new();
    let mut note = |cost: Cost, (job, card): (&str, &str), (parts, whole): (u32, u32)| {
        let row = cost.row(job, card);
        table.push_str(&row);
        if !cost.is_at_most(parts, whole) {
            let _ = write!(missed, "{row}");
        }
    };
    let cards = [
        ("ConnectX-3", CONNECTX_3),
        ("ConnectX-4 Lx", CONNECTX_4_LX),
        ("ConnectX-5", CONNECTX_5),
        ("ConnectX-6 Dx", CONNECTX_6_DX),
    ];
    for (name, subject) in cards {
        // A third, but where every byte of the ROM has to be read: see docs/performance.md.
        let goal = if name == "ConnectX-3" {
            (68, 100)
        } else {
            (1, 3)
        };
        note(query(subject), ("query", name), goal);
    }
    for (name, subject) in &cards[1..] {
        note(burn(*subject), ("burn", name), (7, 10));
    }
    println!("{table}");
    assert!(missed.is_empty(), "over the goal:\n{missed}");
}
