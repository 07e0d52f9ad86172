//! A recording of the flash operations that any program makes on a card, and each of them again
//! with power lost in it.

use std::fs::{File, OpenOptions};
use std::mem;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cxfw::lab::Lab;
use cxfw::lab::chip::Chip;
use cxfw::lab::chip::faults::{Accident, Fault, Moment as When, Torn, Unit};
use cxfw::pci::{Address, ConfigError, ConfigSource, ConfigSpace};

use crate::bench::Bench;

/// A config write that changed the flash: what is left when power is lost in it.
pub struct Moment {
    /// The flash before it.
    flash: Vec<u8>,
    pub cuts: Vec<Cut>,
}

/// One way to lose power in one flash operation.
pub struct Cut {
    /// Which of the write's operations, from 1.
    pub number: u32,
    pub torn: Torn,
    /// Where the flash is not as before the write, and what is there.
    changes: Vec<(usize, Vec<u8>)>,
}

impl Moment {
    /// Flash operations of the write.
    pub fn operations(&self) -> u32 {
        self.cuts.last().map_or(0, |cut| cut.number)
    }

    /// The flash that a cut leaves.
    pub fn flash(&self, cut: &Cut) -> Vec<u8> {
        let mut flash = self.flash.clone();
        for (at, bytes) in &cut.changes {
            flash[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        flash
    }
}

/// A write, and the chip before it.
struct Before {
    flash: Vec<u8>,
    cells: Vec<u8>,
    address: Address,
    offset: u16,
    value: u32,
}

impl Before {
    /// Cuts an equal card, that of `bench`, in each of the write's `operations`. Done at once:
    /// firmware that hears nothing for some seconds gives an update up.
    fn cut(self, bench: &Bench, operations: u32) -> Moment {
        let kinds = (1..=operations).flat_map(|number| Torn::ALL.map(|torn| (number, torn)));
        let cuts = kinds.map(|(number, torn)| {
            let left = self.power_lost(bench, number, torn);
            let pages = self.flash.chunks(PAGE).zip(left.chunks(PAGE)).enumerate();
            let changed = pages.filter(|(_, (before, after))| before != after);
            let changes = changed.map(|(page, (_, after))| (page * PAGE, after.to_vec()));
            Cut {
                number,
                torn,
                changes: changes.collect(),
            }
        });
        Moment {
            cuts: cuts.collect(),
            flash: self.flash,
        }
    }

    fn power_lost(&self, bench: &Bench, number: u32, torn: Torn) -> Vec<u8> {
        bench.chip().write_flash(0, &self.flash).unwrap();
        let cells = OpenOptions::new().write(true).open(bench.cells()).unwrap();
        cells.write_all_at(&self.cells, 0).unwrap();
        // Opened anew, it remembers nothing of the state it was in before.
        let lab = Lab::open(bench.lab_dir()).unwrap();
        let chip = lab.chip(bench.card_name()).unwrap();
        chip.arm(Fault::Accident {
            accident: Accident::PowerLoss(torn),
            moment: When {
                unit: Unit::FlashOperation,
                number,
            },
        })
        .unwrap();
        let space = lab.config_source().open(self.address).unwrap();
        space.write(self.offset, self.value).unwrap();
        assert!(chip.status().unwrap().is_none(), "power was not lost");
        chip.clear_faults().unwrap();
        whole(chip)
    }
}

/// Bytes that changes are looked for in.
const PAGE: usize = 0x100;

/// Records while a program works through it.
#[derive(Clone)]
pub struct Recorder {
    source: Arc<dyn ConfigSource>,
    log: Arc<Log>,
}

struct Log {
    chip: Arc<Chip>,
    cells: File,
    /// Weak, for a view of the lab may outlive what it is for.
    cut: Weak<Bench>,
    taken: Mutex<Option<Taken>>,
}

/// What was recorded, and the flash as it is now.
struct Taken {
    flash: Vec<u8>,
    moments: Vec<Moment>,
}

impl Recorder {
    /// Of the card of `bench`; nothing is recorded yet. The equal card `cut` is cut.
    pub fn new(bench: &Bench, cut: &Arc<Bench>) -> Self {
        Self {
            source: bench.config_source(),
            log: Arc::new(Log {
                chip: Arc::clone(bench.chip()),
                cells: File::open(bench.cells()).unwrap(),
                cut: Arc::downgrade(cut),
                taken: Mutex::new(None),
            }),
        }
    }

    /// Records what happens while `work` runs.
    pub fn record(&self, work: impl FnOnce()) -> Vec<Moment> {
        *self.log.taken() = Some(Taken {
            flash: whole(&self.log.chip),
            moments: Vec::new(),
        });
        work();
        self.log.taken().take().unwrap().moments
    }
}

impl Log {
    fn taken(&self) -> MutexGuard<'_, Option<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chip's volatile state.
    fn cells(&self) -> Vec<u8> {
        let size = self.cells.metadata().unwrap().len();
        let mut cells = vec![0; usize::try_from(size).unwrap()];
        self.cells.read_exact_at(&mut cells, 0).unwrap();
        cells
    }
}

impl ConfigSource for Recorder {
    fn open(&self, address: Address) -> Result<Arc<dyn ConfigSpace>, ConfigError> {
        Ok(Arc::new(Recorded {
            space: self.source.open(address)?,
            address,
            log: Arc::clone(&self.log),
        }))
    }
}

struct Recorded {
    space: Arc<dyn ConfigSpace>,
    address: Address,
    log: Arc<Log>,
}

impl ConfigSpace for Recorded {
    fn read(&self, offset: u16) -> Result<u32, ConfigError> {
        self.space.read(offset)
    }

    fn write(&self, offset: u16, value: u32) -> Result<(), ConfigError> {
        let mut taken = self.log.taken();
        let Some(taken) = taken.as_mut() else {
            return self.space.write(offset, value);
        };
        let chip = &self.log.chip;
        let earlier = chip.counters().flash_operations();
        let cells = self.log.cells();
        self.space.write(offset, value)?;
        let operations = chip.counters().flash_operations() - earlier;
        if operations > 0 {
            let before = Before {
                flash: mem::replace(&mut taken.flash, whole(chip)),
                cells,
                address: self.address,
                offset,
                value,
            };
            let cut = self.log.cut.upgrade().unwrap();
            taken.moments.push(before.cut(&cut, operations));
        }
        Ok(())
    }

    fn device(&self) -> String {
        self.space.device()
    }
}

fn whole(chip: &Chip) -> Vec<u8> {
    chip.read_flash(0, chip.spec().flash_size).unwrap()
}
