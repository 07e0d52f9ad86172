//! The two ways back: the copy of a flash is put back by writing the flash, a firmware image alone
//! through the firmware, as an update is.

use std::fmt::{Debug, Display};

use super::super::burn::staged_update;
use super::super::error::CliError;
use super::super::keep;
use super::super::one_card::OneCard;
use super::{Run, is_firmware};
use crate::card::{UpdatePath, advice_for};
use crate::flash::backup::{self, RestorePlan};
use crate::flash::direct::{BurnOptions, Owner};
use crate::flash::{BrokenOff, BurnFault, Burned, Cancel, CardLock, component};
use crate::image;
use crate::plan::Method;
use crate::progress::Sink;
use crate::report::backup::Restoring;
use crate::report::{Ending, Outcome};

/// What to do where the flash does not take the firmware of a backup and the card's firmware may.
const BY_FIRMWARE: &str = "take the image of that version and burn it through the firmware: `cxfw \
     update -d DEV --image FILE --allow-downgrade`";
/// The same where the flash is the only way.
const NO_OTHER_WAY: &str = "take a backup that was made of this card since, or an image of this \
     board: `cxfw update -d DEV --image FILE --allow-downgrade`";

/// How a backup goes back, verified against the card.
pub(super) enum Planned {
    /// The copy of a flash.
    Flash(Box<RestorePlan>),
    /// A firmware image alone.
    Image(Box<component::Plan>),
}

impl Planned {
    /// What is shown of it before the question.
    pub(super) fn shown(&self) -> Restoring {
        match self {
            Self::Flash(planned) => Restoring {
                of: planned.backup.clone(),
                from: planned.plan.from,
                to: planned.plan.to,
                notes: planned.plan.notes.clone(),
            },
            Self::Image(plan) => Restoring {
                of: Owner {
                    psid: Some(plan.psid.clone()),
                    version: Some(plan.to),
                    ..Owner::default()
                },
                from: plan.stored,
                to: plan.to,
                notes: vec![
                    "the file is a firmware image alone; GUIDs, MACs and settings stay the card's \
                     own"
                    .to_owned(),
                ],
            },
        }
    }

    /// What will be done, step by step.
    pub(super) fn steps(&self) -> Vec<String> {
        let text = match self {
            Self::Flash(planned) => planned.plan.to_string(),
            Self::Image(plan) => plan.to_string(),
        };
        text.lines().map(str::to_owned).collect()
    }

    /// The way.
    pub(super) const fn method(&self) -> Method {
        match self {
            Self::Flash(_) => Method::Direct,
            Self::Image(_) => Method::Component,
        }
    }
}

impl Run<'_> {
    /// An image alone goes back through firmware that takes images; what else has to be the copy of
    /// a flash.
    pub(super) fn way(&self, card: &OneCard) -> Method {
        let by_firmware = card.card.report.update_path == Some(UpdatePath::Component);
        if by_firmware && image::is_image_alone(&self.bytes) {
            Method::Component
        } else {
            Method::Direct
        }
    }

    /// Verifies the backup against the card and plans; the outcome where it does not go back.
    pub(super) fn plan(&self, card: &OneCard) -> Result<Result<Planned, Box<Outcome>>, CliError> {
        let device = card.device()?;
        Ok(match self.way(card) {
            Method::Component => component::plan(device, &self.bytes, &by_firmware(card))
                .map(|plan| Planned::Image(Box::new(plan)))
                .map_err(|error| self.broken_off(card, error)),
            Method::Direct => {
                let what = (self.bytes.as_slice(), self.other);
                backup::plan_restore(device, what, &self.options(&card.lock))
                    .map(|plan| Planned::Flash(Box::new(plan)))
                    .map_err(|error| self.broken_off(card, error))
            }
        }
        .map_err(Box::new))
    }

    /// Burns it.
    pub(super) fn put_back(
        &self,
        card: &OneCard,
        (cancel, sink): (&Cancel, &mut Sink<'_>),
    ) -> Result<Result<Burned, Outcome>, CliError> {
        let device = card.device()?;
        Ok(match self.way(card) {
            Method::Component => {
                component::burn(device, &self.bytes, &by_firmware(card), cancel, sink)
                    .map_err(|error| self.broken_off(card, error))
            }
            Method::Direct => {
                let what = (self.bytes.as_slice(), self.other);
                backup::restore(device, what, &self.options(&card.lock), cancel, sink)
                    .map_err(|error| self.broken_off(card, error))
            }
        })
    }

    fn options<'l>(&self, lock: &'l CardLock) -> BurnOptions<'l> {
        BurnOptions {
            choices: self.choices,
            ..BurnOptions::under(lock)
        }
    }

    fn broken_off<F: BurnFault, S: Debug + Display>(
        &self,
        card: &OneCard,
        error: BrokenOff<F, S>,
    ) -> Outcome {
        let way = self.way(card);
        let report = &card.card.report;
        let error = error.knowing(report.recovery, report.firmware.stored);
        let advice = match (error.reason(), way) {
            ("no_backup", _) if is_firmware(&self.args.file) => {
                keep::update_instead(self.settings, card.name(), &self.args.file)
            }
            ("secure_firmware", _) => BY_FIRMWARE.to_owned(),
            ("no_identity", _) => {
                "the backup does not say who the card is either: burn an image of this board with \
                 the addresses of its label, `cxfw update -d DEV --method direct --image FILE --guid \
                 GUID --mac MAC`"
                    .to_owned()
            }
            ("psid_mismatch", Method::Direct) => {
                "take a backup of this board; --allow-psid-change puts the firmware of another \
                 board on this one"
                    .to_owned()
            }
            ("psid_mismatch", Method::Component) => "take a backup of this board".to_owned(),
            _ if error.advice().contains("--method component") => match report.update_path {
                Some(UpdatePath::Component) => BY_FIRMWARE,
                _ => NO_OTHER_WAY,
            }
            .to_owned(),
            _ => error.advice().replace("run the update", "run the restore"),
        };
        Outcome {
            method: Some(way.word()),
            code: Some(error.reason().to_owned()),
            state: Some(error.state()),
            advice: Some(advice_for(card.name(), &advice)),
            from: report.firmware.stored,
            ..super::outcome(Ending::broken_off(&error), error.to_string(), None)
        }
    }
}

/// How the firmware burns it.
fn by_firmware(card: &OneCard) -> component::BurnOptions<'_> {
    component::BurnOptions {
        staged_update: staged_update(&card.card.report),
        ..component::BurnOptions::under(&card.lock)
    }
}
