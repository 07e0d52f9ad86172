//! The moments at which power is lost.

use std::fmt;

use cxfw::lab::chip::faults::{Moment, Torn, Unit};

/// One loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// When.
    pub moment: Moment,
    /// What it leaves of the flash operation it happens in.
    pub torn: Torn,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.moment.unit {
            Unit::ConfigCycle => "config cycle",
            Unit::Register => "register access",
            Unit::FlashOperation => "flash operation",
        };
        write!(f, "{unit} {}", self.moment.number)?;
        match self.torn {
            Torn::Whole => Ok(()),
            torn => write!(f, " ({torn})"),
        }
    }
}

/// What a burn without a cut is made of.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub flash_operations: u32,
    pub registers: u32,
    pub config_cycles: u32,
}

/// How much of the matrix is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A few cuts a cell, most of them where the image changes hands.
    Sampled,
    /// Every flash operation in every way, many register accesses and config cycles, and pairs.
    Full,
}

/// Register accesses cut at in a full cell: with these numbers the matrix is done in ten minutes.
const REGISTERS: u32 = 200;
/// Config cycles cut at in a full cell.
const CYCLES: u32 = 100;
/// Pairs of cuts in a full cell.
const PAIRS: u32 = 60;

impl Extent {
    pub fn from_environment() -> Self {
        match std::env::var("CXFW_MATRIX").as_deref() {
            Ok("full") => Self::Full,
            Ok(other) => panic!("CXFW_MATRIX can be `full`, not `{other}`"),
            Err(_) => Self::Sampled,
        }
    }
}

/// The runs of a cell, each one cut or several one after the other; `cell` varies the sample.
pub fn cut_list(size: &Size, extent: Extent, cell: usize) -> Vec<Vec<Cut>> {
    match extent {
        Extent::Sampled => sampled(size, cell),
        Extent::Full => full(size, cell),
    }
}

fn cut(unit: Unit, number: u32, torn: Torn) -> Cut {
    let moment = Moment { unit, number };
    Cut { moment, torn }
}

fn full(size: &Size, cell: usize) -> Vec<Vec<Cut>> {
    let flash = (1..=size.flash_operations)
        .flat_map(|number| Torn::ALL.map(|torn| cut(Unit::FlashOperation, number, torn)));
    let registers =
        spread(size.registers, REGISTERS).map(|number| cut(Unit::Register, number, Torn::Whole));
    let cycles = spread(size.config_cycles, CYCLES)
        .map(|number| cut(Unit::ConfigCycle, number, Torn::Whole));
    let mut chance = Chance::new(cell);
    let pairs = (0..PAIRS).map(|_| [(); 2].map(|()| chance.flash_cut(size)).to_vec());
    let singles = flash.chain(registers).chain(cycles).map(|cut| vec![cut]);
    singles.chain(pairs).collect()
}

/// The last flash operations are the ones that change what boots.
fn sampled(size: &Size, cell: usize) -> Vec<Vec<Cut>> {
    let torn = Torn::ALL[cell % Torn::ALL.len()];
    let last = size.flash_operations;
    let mut chance = Chance::new(cell);
    let elsewhere = match cell % 3 {
        0 => chance.flash_cut(size),
        1 if size.registers > 0 => cut(Unit::Register, chance.up_to(size.registers), Torn::Whole),
        _ => {
            let number = chance.up_to(size.config_cycles);
            cut(Unit::ConfigCycle, number, Torn::Whole)
        }
    };
    let cuts = [
        cut(Unit::FlashOperation, last, torn),
        cut(Unit::FlashOperation, last - 1, torn),
        elsewhere,
    ];
    cuts.map(|cut| vec![cut]).to_vec()
}

/// `count` numbers from 1 to `last`, evenly apart; all when there are no more.
fn spread(last: u32, count: u32) -> impl Iterator<Item = u32> {
    let step = (last / count).max(1);
    (1..=last).step_by(step as usize)
}

/// Numbers that look random and are the same in every run.
struct Chance {
    state: u64,
}

impl Chance {
    fn new(seed: usize) -> Self {
        Self {
            state: (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    fn up_to(&mut self, last: u32) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        1 + u32::try_from(self.state % u64::from(last.max(1))).unwrap()
    }

    fn flash_cut(&mut self, size: &Size) -> Cut {
        let number = self.up_to(size.flash_operations);
        let torn = Torn::ALL[(self.up_to(4) - 1) as usize];
        cut(Unit::FlashOperation, number, torn)
    }
}
