//! A burn of mstflint, cut everywhere: what boots, and what mstflint says to the card then.

use std::collections::HashSet;
use std::sync::Arc;

use cxfw::lab::build::Slot;
use cxfw::lab::chip::faults::{Accident, Fault, Moment as When, Torn, Unit};
use cxfw::lab::chip::{Boot, BootRule};

use super::recording::{Cut, Moment, Recorder};
use super::{Cell, Way};
use crate::bench::{Bench, generation, version_of};
use crate::cuts::Extent;
use crate::tool::Tool;

/// The image that is burned.
const NUMBER: u16 = 1;
/// At most so many different cards of a cell are shown to mstflint.
const SHOWN: usize = 16;

/// What became of a card, by boot rule.
#[derive(Debug, Clone, Copy, Default)]
pub struct Booted {
    pub old: u32,
    pub new: u32,
    pub dead: u32,
    /// Another image, or a card that is not what it was.
    pub changed: u32,
}

/// A cell, added up.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Flash operations of the burn.
    pub operations: u32,
    /// Cuts: each operation in every way.
    pub states: u32,
    /// What boots when the lowest good image does, and when the first start pattern counts.
    pub booted: [Booted; 2],
    /// Cards that differ to those who look at them.
    pub different: u32,
    /// Of those, shown to mstflint.
    pub shown: u32,
    /// Of those, refused the way they were burned.
    pub refused: u32,
    /// And refused also through the firmware.
    pub refused_by_every_way: u32,
    /// What it said then, each once.
    pub words: Vec<String>,
}

/// Everything a cell needs.
pub struct Sweep {
    cell: Cell,
    extent: Extent,
    /// The card mstflint works on.
    burned: Bench,
    /// Equal cards that are cut and powered on, by boot rule.
    cut: [Arc<Bench>; 2],
    recorder: Recorder,
    tool: Tool,
}

impl Sweep {
    /// To be made and run by a thread of its own, which then sees the lab.
    pub fn new(cell: Cell, extent: Extent) -> Self {
        let bench = |rule| Bench::new(cell.generation, rule, cell.slot);
        let burned = bench(BootRule::LowestGood);
        let rules = [BootRule::LowestGood, BootRule::FirstPattern];
        let cut = rules.map(|rule| Arc::new(bench(rule)));
        let recorder = Recorder::new(&burned, &cut[0]);
        let tool = Tool::new(&burned, Arc::new(recorder.clone()));
        Self {
            cell,
            extent,
            cut,
            burned,
            recorder,
            tool,
        }
    }

    pub fn run(&self) -> Tally {
        let moments = self.record();
        let mut tally = Tally {
            operations: moments.iter().map(Moment::operations).sum(),
            ..Tally::default()
        };
        let different = self.power_on_everywhere(&moments, &mut tally);
        tally.different = u32::try_from(different.len()).unwrap();
        let most = match self.extent {
            Extent::Full => SHOWN,
            Extent::Sampled => 2,
        };
        let step = different.len().div_ceil(most).max(1);
        // from the end: what was cut last differs most from a whole card
        for (moment, cut) in different.iter().rev().step_by(step) {
            self.show(&moment.flash(cut), &mut tally);
        }
        tally
    }

    /// One whole burn.
    fn record(&self) -> Vec<Moment> {
        let image = self.burned.beside("new.bin");
        std::fs::write(&image, self.burned.image(NUMBER)).unwrap();
        let image = image.to_str().unwrap();
        self.recorder.record(|| {
            let (done, text) = self.tool.run(self.cell.way, &["-i", image, "-y", "burn"]);
            assert!(done, "{:?}: {text}", self.cell);
        })
    }

    /// Powers every cut card on; those that differ.
    fn power_on_everywhere<'a>(
        &self,
        moments: &'a [Moment],
        tally: &mut Tally,
    ) -> Vec<(&'a Moment, &'a Cut)> {
        let mut seen = HashSet::new();
        let mut different = Vec::new();
        for moment in moments {
            for cut in &moment.cuts {
                let flash = moment.flash(cut);
                tally.states += 1;
                for (bench, booted) in self.cut.iter().zip(&mut tally.booted) {
                    bench.put_back(&flash);
                    note(bench, booted);
                }
                if seen.insert(self.burned.slots().state(&flash, "")) {
                    different.push((moment, cut));
                }
            }
        }
        different
    }

    /// Shows mstflint a card with this flash.
    fn show(&self, flash: &[u8], tally: &mut Tally) {
        self.burned.put_back(flash);
        tally.shown += 1;
        let (reads, text) = self.tool.run(self.cell.way, &["query"]);
        if reads {
            return;
        }
        tally.refused += 1;
        let word = text.lines().find(|line| line.starts_with("-E-"));
        let word = word.unwrap_or("no word").to_owned();
        if !tally.words.contains(&word) {
            tally.words.push(word);
        }
        let by_firmware = self.cell.way != Way::Firmware;
        if !by_firmware || !self.tool.run(Way::Firmware, &["query"]).0 {
            tally.refused_by_every_way += 1;
        }
    }
}

/// What a card boots that was just powered on.
fn note(bench: &Bench, booted: &mut Booted) {
    match bench.chip().status().unwrap() {
        Some(Boot::Running(running)) => {
            let version = version_of(&running);
            if bench.lost(&running).is_some() {
                booted.changed += 1;
            } else if version == bench.version(0) {
                booted.old += 1;
            } else if version == bench.version(NUMBER) {
                booted.new += 1;
            } else {
                booted.changed += 1;
            }
        }
        Some(Boot::Recovery) | None => booted.dead += 1,
    }
}

/// A cut in the middle and one at the end, once as remade and once as they happen.
pub fn compare_with_a_real_cut() {
    let sweep = Sweep::new(
        Cell {
            generation: generation("cx3-10g"),
            way: Way::Firmware,
            slot: Slot::First,
        },
        Extent::Sampled,
    );
    let moments = sweep.record();
    for (moment, torn) in [
        (moments.len() / 2, Torn::Front),
        (moments.len() - 1, Torn::Back),
    ] {
        let mut cuts = moments[moment].cuts.iter();
        let cut = cuts.find(|cut| cut.number == 1 && cut.torn == torn);
        let remade = moments[moment].flash(cut.unwrap());
        sweep.burned.restore();
        let earlier: u32 = moments[..moment].iter().map(Moment::operations).sum();
        let accident = Accident::PowerLoss(torn);
        let when = When {
            unit: Unit::FlashOperation,
            number: earlier + 1,
        };
        let chip = sweep.burned.chip();
        chip.arm(Fault::Accident {
            accident,
            moment: when,
        })
        .unwrap();
        let image = sweep.burned.beside("new.bin");
        let (done, text) = sweep.tool.run(
            sweep.cell.way,
            &["-i", image.to_str().unwrap(), "-y", "burn"],
        );
        assert!(!done, "{text}");
        assert!(sweep.burned.flash() == remade, "operation {}", earlier + 1);
    }
}
