//! `--release-lock`: locks that a dead owner left held on one named card are shown, and freed
//! after a question of their own: the chip's semaphores, its flash gateway, its firmware's update
//! handle.

use std::io::{self, Write};

use super::args::DeviceArgs;
use super::ask;
use super::error::CliError;
use super::host::Host;
use super::settings::Settings;
use crate::access::Device;
use crate::access::stuck::{self, ChipLock, Place, Stuck};
use crate::flash::component::{release_stuck_handle, stuck_handle};
use crate::flash::lock::{self, CardLock};

/// Looks that may each find another stuck lock: the capability's hides the others, the ICMD
/// semaphore hides the update handle.
const LOOKS: usize = 4;

/// Whether the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// On the terminal, for each lock.
    Ask,
    /// Given on the command line.
    Given,
}

/// Frees what is stuck on the one card that `devices` names.
///
/// # Errors
/// Not one card was named, a process of cxfw works on it, a lock's owner lives, nobody can be
/// asked, or the card cannot be reached.
pub(super) fn run(
    host: &Host,
    devices: &DeviceArgs,
    consent: Consent,
    settings: &Settings,
) -> Result<(), CliError> {
    let [name] = devices.device.as_slice() else {
        return Err(CliError::NotOneDevice);
    };
    if devices.is_all() {
        return Err(CliError::NotOneDevice);
    }
    // Reading the card frees what dead processes of cxfw held; the rest remains.
    let survey = host.survey(devices)?;
    let Some(card) = survey.cards.into_iter().next() else {
        return Err(CliError::NoDevice);
    };
    let key = lock::key(card.report.serial.as_deref(), &card.report.device);
    let functions = card.pci.functions.iter().map(|function| function.address);
    let functions: Vec<_> = functions.collect();
    drop(card.device);
    let _lock = CardLock::take(&host.roots, &key, settings.lock_wait)?;
    let Some(&address) = functions.first() else {
        return Err(CliError::NoDevice);
    };
    let place = Place {
        config: host.config_space(address)?,
        functions: functions.iter().map(ToString::to_string).collect(),
        locks: &host.roots.locks,
    };
    let mut found = false;
    for _ in 0..LOOKS {
        let held = look(&place)?;
        if held.is_empty() {
            break;
        }
        found = true;
        for one in &held {
            agreed(name, one, consent)?;
            let freed = if one.lock == ChipLock::UpdateHandle {
                release_stuck_handle(&open(&place)?)?
            } else {
                stuck::free(&place, one)?
            };
            let what = if freed {
                "freed"
            } else {
                "its owner gave it back meanwhile"
            };
            say(&format!("{name}: {}: {what}", one.lock))?;
        }
    }
    if !found {
        say(&format!("{name}: no lock is stuck"))?;
    }
    Ok(())
}

/// What is stuck; the update handle is looked for when everything it is asked through is free.
fn look(place: &Place<'_>) -> Result<Vec<Stuck>, CliError> {
    let held = stuck::look(place)?;
    if !held.is_empty() {
        return Ok(held);
    }
    let handle = stuck_handle(&open(place)?, &place.functions)?;
    Ok(handle.into_iter().collect())
}

fn open(place: &Place<'_>) -> Result<Device, CliError> {
    Ok(Device::open_shared(
        place.config.clone(),
        None,
        place.locks,
    )?)
}

/// Tells of a stuck lock and asks for it.
fn agreed(name: &str, stuck: &Stuck, consent: Consent) -> Result<(), CliError> {
    if let Some(owner) = &stuck.owner {
        return Err(CliError::LockInUse {
            device: name.to_owned(),
            lock: stuck.to_string(),
            pid: owner.pid,
        });
    }
    say(&format!("{name}: {stuck}"))?;
    match consent {
        Consent::Given => Ok(()),
        Consent::Ask if !ask::possible() => Err(CliError::NoTerminalForLock),
        Consent::Ask if ask::confirmed_that("Free it? Its owner must be dead. [y/N]: ")? => Ok(()),
        Consent::Ask => Err(CliError::LockKept {
            device: name.to_owned(),
            lock: stuck.lock.to_string(),
        }),
    }
}

fn say(text: &str) -> io::Result<()> {
    writeln!(io::stderr(), "{text}")
}
