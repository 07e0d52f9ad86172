//! `--release-lock`: semaphores that a dead owner left held on one named card are shown, and freed
//! after a question of their own.

use std::io::{self, Write};

use super::args::DeviceArgs;
use super::ask;
use super::error::CliError;
use super::host::Host;
use super::settings::Settings;
use crate::access::stuck::{self, Stuck};
use crate::flash::lock::{self, CardLock};

/// Looks that may each find another stuck semaphore: the capability's hides the others.
const LOOKS: usize = 3;

/// Whether the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    /// On the terminal, for each semaphore.
    Ask,
    /// Given on the command line.
    Given,
}

/// Frees what is stuck on the one card that `devices` names.
///
/// # Errors
/// Not one card was named, a process of cxfw works on it, a semaphore's owner lives, nobody can be
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
    let function = card.pci.functions.first().map(|first| first.address);
    drop(card.device);
    let _lock = CardLock::take(&host.roots, &key, settings.lock_wait)?;
    let Some(address) = function else {
        return Err(CliError::NoDevice);
    };
    let config = host.config_space(address)?;
    let mut found = false;
    for _ in 0..LOOKS {
        let held = stuck::look(&config, &host.roots.locks)?;
        if held.is_empty() {
            break;
        }
        found = true;
        for one in &held {
            agreed(name, one, consent)?;
            let freed = stuck::free(&config, &host.roots.locks, one)?;
            let what = if freed {
                "freed"
            } else {
                "its owner gave it back meanwhile"
            };
            say(&format!("{name}: {}: {what}", one.lock))?;
        }
    }
    if !found {
        say(&format!("{name}: no semaphore is stuck"))?;
    }
    Ok(())
}

/// Tells of a stuck semaphore and asks for it.
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
