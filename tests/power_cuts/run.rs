//! One run: burn, cut, power on again, look, burn again.

use cxfw::flash::Boots;
use cxfw::lab::chip::Boot;
use cxfw::lab::chip::faults::{Accident, Fault};
use cxfw::version::FwVersion;

use super::bench::{Bench, version_of};
use super::cuts::{Cut, Size};
use super::path::{BurnPath, Stopped};
use super::witness::{Shown, Witness};

/// What a cut card booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booted {
    /// The image it had before.
    Old,
    /// The image that was being burned.
    New,
}

/// How a run ended that went as it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Power was lost as planned.
    Cut(Booted),
    /// The burn was over before the moment came.
    NoCut,
}

/// How a run failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No image boots.
    Dead,
    /// The card is not what it was.
    Lost(String),
    /// cxfw does not read it.
    NotQueried(String),
    /// It does not take the next update.
    NotUpdated(String),
    /// cxfw said something about it that is not true.
    Untrue(String),
    /// cxfw did what no tool may do.
    Violation(String),
    /// mstflint does not read it.
    WitnessQuery(String),
    /// mstflint does not burn it.
    WitnessBurn(String),
}

/// The runs of a cell, added up.
#[derive(Debug, Default)]
pub struct Tally {
    pub runs: u32,
    pub old: u32,
    pub new: u32,
    pub no_cut: u32,
    /// What mstflint was shown.
    pub shown: Shown,
    pub failures: Vec<(String, Failure)>,
}

impl Tally {
    pub fn add(&mut self, cuts: &[Cut], result: Result<End, Failure>) {
        self.runs += 1;
        match result {
            Ok(End::Cut(Booted::Old)) => self.old += 1,
            Ok(End::Cut(Booted::New)) => self.new += 1,
            Ok(End::NoCut) => self.no_cut += 1,
            Err(failure) => {
                let cuts: Vec<String> = cuts.iter().map(ToString::to_string).collect();
                self.failures.push((cuts.join(", then "), failure));
            }
        }
    }
}

/// What a whole burn is made of.
pub fn measure(bench: &Bench, path: BurnPath) -> Size {
    bench.restore();
    let card = bench.survey();
    bench.chip().reset_counters().unwrap();
    if let Err(stopped) = path.burn(&card, &bench.roots(), &bench.file(path, 1)) {
        panic!("{} without a cut: {}", path.name(), stopped.message);
    }
    let counters = bench.chip().counters();
    Size {
        flash_operations: counters.flash_operations(),
        registers: counters.register_accesses,
        config_cycles: u32::try_from(counters.config_cycles()).unwrap(),
    }
}

/// Burns image after image with power lost in each, then one without.
pub fn run(
    bench: &Bench,
    witness: Option<&Witness<'_>>,
    path: BurnPath,
    cuts: &[Cut],
) -> Result<End, Failure> {
    bench.restore();
    let mut boots = bench.version(0);
    let mut end = End::NoCut;
    let mut number = 0;
    for cut in cuts {
        number += 1;
        let new = bench.version(number);
        let (struck, now) = cut_burn(bench, path, *cut, (boots, number))?;
        if struck {
            let booted = if now == new { Booted::New } else { Booted::Old };
            end = End::Cut(booted);
            if let Some(witness) = witness {
                witness.look(now)?;
            }
        }
        boots = now;
    }
    whole_burn(bench, path, boots, number + 1)?;
    bench.well_behaved()?;
    Ok(end)
}

/// Burns image `number` on a card that boots `old`, and cuts it. Whether the moment came, and what
/// the card boots then.
fn cut_burn(
    bench: &Bench,
    path: BurnPath,
    cut: Cut,
    (old, number): (FwVersion, u16),
) -> Result<(bool, FwVersion), Failure> {
    let card = bench.survey();
    if let Some(wrong) = bench.wrong_in(&card, old) {
        return Err(Failure::NotQueried(wrong));
    }
    let chip = bench.chip();
    let fault = Fault::Accident {
        accident: Accident::PowerLoss(cut.torn),
        moment: cut.moment,
    };
    chip.arm(fault).unwrap();
    let result = path.burn(&card, &bench.roots(), &bench.file(path, number));
    let struck = chip.status().unwrap().is_none();
    chip.clear_faults().unwrap();
    let boots = power_on(bench)?;
    let new = bench.version(number);
    if boots != old && boots != new {
        return Err(Failure::Lost(format!("boots {boots}, not {old} or {new}")));
    }
    check_word(result, (boots, old, new))?;
    Ok((struck, boots))
}

/// What cxfw said the card boots is what it boots.
fn check_word(
    result: Result<(), Stopped>,
    (boots, old, new): (FwVersion, FwVersion, FwVersion),
) -> Result<(), Failure> {
    let untrue = |said: &str| Err(Failure::Untrue(format!("said {said}, boots {boots}")));
    match result {
        Ok(()) if boots != new => untrue("burned"),
        Err(stopped) => match stopped.boots {
            Boots::Old(Some(version)) if version != old || boots != old => untrue(&stopped.message),
            Boots::Old(None) if boots != old => untrue(&stopped.message),
            Boots::New(_) if boots != new => untrue(&stopped.message),
            _ => Ok(()),
        },
        Ok(()) => Ok(()),
    }
}

/// The next update, which must go through and run.
fn whole_burn(bench: &Bench, path: BurnPath, old: FwVersion, number: u16) -> Result<(), Failure> {
    let card = bench.survey();
    if let Some(wrong) = bench.wrong_in(&card, old) {
        return Err(Failure::NotQueried(wrong));
    }
    path.burn(&card, &bench.roots(), &bench.file(path, number))
        .map_err(|stopped| Failure::NotUpdated(stopped.message))?;
    let boots = power_on(bench)?;
    if boots != bench.version(number) {
        return Err(Failure::NotUpdated(format!("boots {boots} afterwards")));
    }
    Ok(())
}

/// Power returns: what boots, on a card that must be the same as ever.
pub fn power_on(bench: &Bench) -> Result<FwVersion, Failure> {
    match bench.chip().boot().unwrap() {
        Boot::Recovery => Err(Failure::Dead),
        Boot::Running(running) => match bench.lost(&running) {
            Some(lost) => Err(Failure::Lost(lost)),
            None => Ok(version_of(&running)),
        },
    }
}
