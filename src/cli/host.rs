//! The host a run works on: this machine, another sysfs tree, or a lab. Above this nobody knows
//! which.

use std::path::PathBuf;
use std::sync::Arc;

use super::args::DeviceArgs;
use super::error::CliError;
use super::interrupt::Interrupt;
use super::settings::{Settings, Target};
use crate::access::AccessError;
use crate::card::{self, Card, CardReport};
use crate::lab::Lab;
use crate::pci::{self, Address, ConfigSource, ConfigSpace, SysfsSource};
use crate::sys::Roots;

/// What is plugged in.
pub struct Survey {
    /// The cards.
    pub cards: Vec<Card>,
    /// Their reports, in the same order.
    pub reports: Vec<CardReport>,
    /// Functions that could not even be described.
    pub unread: Vec<CliError>,
}

/// An opened host.
pub struct Host {
    /// Its file trees.
    pub roots: Roots,
    /// Folder of the images it brings along (a lab's).
    pub firmware: Option<PathBuf>,
    /// Folder of the backups made before its cards are burned, where it has one of its own (a lab's).
    pub backups: Option<PathBuf>,
    config: Arc<dyn ConfigSource>,
    interrupt: Interrupt,
}

impl Host {
    /// Opens the host that the settings name; a lab that is not there is made.
    ///
    /// # Errors
    /// When the lab cannot be opened or made.
    pub fn open(settings: &Settings) -> Result<Self, CliError> {
        // before the first card is touched
        let interrupt = Interrupt::listen()?;
        let mut host = match &settings.target {
            Target::Lab(dir) => {
                let (lab, made) = Lab::open_or_create(dir)?;
                if made {
                    log::info!("made a lab in {}", dir.display());
                }
                Self {
                    roots: lab.roots(),
                    firmware: Some(lab.bundle_dir()),
                    backups: Some(lab.backup_dir()),
                    config: lab.config_source(),
                    interrupt,
                }
            }
            Target::Host(sysfs) => {
                let mut roots = Roots::default();
                if let Some(sysfs) = sysfs {
                    roots.sysfs.clone_from(sysfs);
                }
                Self {
                    config: Arc::new(SysfsSource::new(&roots)),
                    firmware: None,
                    backups: None,
                    roots,
                    interrupt,
                }
            }
        };
        if let Some(locks) = &settings.lock_dir {
            host.roots.locks.clone_from(locks);
        }
        Ok(host)
    }

    /// What ends the run before its time.
    #[must_use]
    pub const fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Reads the cards that were named, or all of them, in bus order.
    ///
    /// # Errors
    /// No such card, or no card at all.
    pub fn survey(&self, devices: &DeviceArgs) -> Result<Survey, CliError> {
        let inventory = pci::inventory(&self.roots)?;
        let unread: Vec<CliError> = inventory.problems.into_iter().map(CliError::from).collect();
        if inventory.cards.is_empty() {
            return Err(unread.into_iter().next().unwrap_or(CliError::NoDevice));
        }
        let cards = self.read(&selected(inventory.cards, devices)?);
        Ok(Survey {
            reports: cards.iter().map(|card| card.report.clone()).collect(),
            cards,
            unread,
        })
    }

    /// Configuration space of a function.
    ///
    /// # Errors
    /// [`CliError::Access`].
    pub fn config_space(&self, address: Address) -> Result<Arc<dyn ConfigSpace>, CliError> {
        let config = self.config.open(address).map_err(AccessError::from)?;
        Ok(config)
    }

    /// Reads one card once more.
    #[must_use]
    pub fn read_again(&self, card: &Card) -> Option<Card> {
        self.read(std::slice::from_ref(&card.pci)).pop()
    }

    fn read(&self, cards: &[pci::Card]) -> Vec<Card> {
        card::survey(cards, self.config.as_ref(), &self.roots)
    }
}

/// The named cards, each once; all of them when none was named. A name of no card is an error even
/// beside `all`.
fn selected(cards: Vec<pci::Card>, devices: &DeviceArgs) -> Result<Vec<pci::Card>, CliError> {
    let named = devices
        .names()
        .map(|name| pci::find(&cards, name))
        .collect::<Result<Vec<_>, _>>()?;
    if devices.is_all() {
        return Ok(cards);
    }
    Ok(cards
        .iter()
        .filter(|card| named.contains(card))
        .cloned()
        .collect())
}
