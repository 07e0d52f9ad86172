//! The witness, mstflint, is shown the cards that cut burns left: it must read them and burn them.

use std::cell::Cell;
use std::path::PathBuf;

use cxfw::version::FwVersion;

use super::bench::Bench;
use super::cuts::Extent;
use super::run::Failure;
use super::state::{Seen, digest};
use super::tool::Tool;
use super::way::Way;

/// Number of the image the witness burns: newer than any of cxfw's.
const NUMBER: u16 = 90;
/// One of so many states of a full cell is shown although one that looks equal was.
const AGAIN: u32 = 600;

/// How many states were shown, and what was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    pub queried: u32,
    pub burned: u32,
}

/// Runs the witness on the card of a bench, from the thread that made it.
pub struct Witness<'a> {
    bench: &'a Bench,
    tool: Tool,
    image: PathBuf,
    seen: &'a Seen,
    extent: Extent,
    looked: Cell<u32>,
    shown: Cell<Shown>,
}

impl<'a> Witness<'a> {
    /// Puts the bench's lab where the hardware is, for this thread.
    pub fn new(bench: &'a Bench, seen: &'a Seen, extent: Extent) -> Self {
        let image = bench.beside("witness.bin");
        std::fs::write(&image, bench.image(NUMBER)).unwrap();
        Self {
            tool: Tool::new(bench, bench.config_source()),
            bench,
            image,
            seen,
            extent,
            looked: Cell::new(0),
            shown: Cell::new(Shown::default()),
        }
    }

    pub fn shown(&self) -> Shown {
        self.shown.get()
    }

    /// Shows it the card, which boots `boots`, unless it saw an equal one; the card is afterwards
    /// as before.
    pub fn look(&self, boots: FwVersion) -> Result<(), Failure> {
        let flash = self.bench.flash();
        let looked = self.looked.get();
        self.looked.set(looked + 1);
        if !self.is_to_be_shown(&flash, boots, looked) {
            return Ok(());
        }
        self.bench.well_behaved()?;
        let mut shown = self.shown.get();
        self.query(boots)?;
        if self.is_to_be_burned() {
            shown.burned += 1;
            self.burn()?;
        }
        shown.queried += 1;
        self.shown.set(shown);
        self.bench.put_back(&flash);
        Ok(())
    }

    fn is_to_be_shown(&self, flash: &[u8], boots: FwVersion, looked: u32) -> bool {
        let card = format!("{} {boots}", self.bench.psid());
        let new = self.seen.is_new(self.bench.slots().state(flash, &card));
        let again = self.extent == Extent::Full && looked % AGAIN == AGAIN / 2;
        new || again && self.seen.is_new(digest(flash, &card))
    }

    fn is_to_be_burned(&self) -> bool {
        match self.extent {
            Extent::Full => true,
            // one card of each chip, whichever way comes first: a burn of the witness takes longer
            // than all else in a cell
            Extent::Sampled => {
                let card = format!("{} burned", self.bench.psid());
                self.bench.boots_first_pattern() && self.seen.is_new(digest(&[], &card))
            }
        }
    }

    fn query(&self, boots: FwVersion) -> Result<(), Failure> {
        let (done, text) = self.tool.run(Way::Firmware, &["query"]);
        let shows = |what: &str| text.contains(what);
        if done && shows(&boots.to_string()) && shows(self.bench.psid()) {
            return Ok(());
        }
        Err(Failure::WitnessQuery(text))
    }

    fn burn(&self) -> Result<(), Failure> {
        let image = self.image.to_str().unwrap();
        let (done, text) = self.tool.run(Way::Firmware, &["-i", image, "-y", "burn"]);
        if !done {
            return Err(Failure::WitnessBurn(text));
        }
        let boots = super::run::power_on(self.bench)?;
        if boots != self.bench.version(NUMBER) {
            return Err(Failure::WitnessBurn(format!("boots {boots} afterwards")));
        }
        Ok(())
    }
}
