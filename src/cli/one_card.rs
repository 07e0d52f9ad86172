//! Commands that work on exactly one card.

use super::args::DeviceArgs;
use super::error::CliError;
use super::host::Host;
use super::settings::Settings;
use crate::access::Device;
use crate::card::Card;
use crate::flash::lock::{self, CardLock};

/// The one card of a command, under its lock.
pub(super) struct OneCard {
    pub(super) card: Card,
    pub(super) lock: CardLock,
}

impl OneCard {
    /// The card that `devices` name, or the only one there is, as it is once its lock is held.
    ///
    /// # Errors
    /// None or several cards, a process that holds it, or [`CliError::Closed`].
    pub(super) fn take(
        host: &Host,
        devices: &DeviceArgs,
        settings: &Settings,
        command: &'static str,
    ) -> Result<Self, CliError> {
        let mut survey = host.survey(devices)?;
        let Some(card) = survey.cards.pop() else {
            return Err(CliError::NoDevice);
        };
        if !survey.cards.is_empty() {
            return Err(CliError::NotOneCard { command });
        }
        Self::again(host, &card, settings)
    }

    /// The card once more, under its lock.
    ///
    /// # Errors
    /// As [`OneCard::take`].
    pub(super) fn again(host: &Host, card: &Card, settings: &Settings) -> Result<Self, CliError> {
        let key = lock::key(card.report.serial.as_deref(), &card.report.device);
        let lock = CardLock::take(&host.roots, &key, settings.lock_wait)?;
        let card = host.read_again(card).ok_or(CliError::NoDevice)?;
        let card = Self { card, lock };
        let error = card.card.report.error.as_ref();
        match error.filter(|error| error.is_out_of_reach()) {
            Some(_) => Err(card.closed()),
            None => Ok(card),
        }
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.card.report.device
    }

    /// The way to its insides.
    ///
    /// # Errors
    /// [`CliError::Closed`].
    pub(super) fn device(&self) -> Result<&Device, CliError> {
        self.card.device.as_ref().ok_or_else(|| self.closed())
    }

    fn closed(&self) -> CliError {
        let report = &self.card.report;
        let error = report.error.as_ref();
        CliError::Closed {
            device: report.device.clone(),
            code: error.map_or("no_access", |error| error.code),
            reason: error.map_or_else(|| "there is no way to it".to_owned(), |e| e.message.clone()),
            advice: error.and_then(|error| error.advice.clone()),
        }
    }
}
