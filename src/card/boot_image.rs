//! The boot image as running firmware keeps it: where it sits in the table of updatable
//! components, which version runs and which boots next, what makes that one run.
//!
//! The place in the table is a position that is looked for, never a fixed number (MCQS, MCQI;
//! device-access 4.2, 4.3).

use crate::access::{RegisterAccess, RegisterError, read_register, read_register_head};
use crate::registers::mcqi::{ActivationMethod, Capabilities, Info, InfoType, Version};
use crate::registers::mcqs::{Component, ComponentStatus, UpdateState};
use crate::registers::{Mcqi, Mcqs};
use crate::version::{Date, FwVersion};

/// Entries looked at before the table is taken for endless; firmware has some thirty kinds of
/// component.
const TABLE_LIMIT: u16 = 64;

/// Bytes of an MCQI version answer up to the build time: everything but the text.
const VERSION_HEAD: usize = 0x28;

/// What a version marker of firmware that does not know its stored version reads as.
const UNKNOWN_VERSION: FwVersion = FwVersion::new(255, 255, 65535);

/// Where the boot image sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootImage {
    /// Position in the component table.
    pub index: u16,
    /// How far an update of it is.
    pub update_state: UpdateState,
}

/// Version and build date of one copy of the boot image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageVersion {
    /// Version.
    pub version: Option<FwVersion>,
    /// Build date.
    pub date: Option<Date>,
}

impl BootImage {
    /// Looks for the boot image; `None` when the firmware lists none.
    ///
    /// # Errors
    /// [`RegisterError`] when an entry cannot be read.
    pub fn find(registers: &dyn RegisterAccess) -> Result<Option<Self>, RegisterError> {
        for index in 0..TABLE_LIMIT {
            let entry = read_register(
                registers,
                &Mcqs {
                    component_index: index,
                    ..Mcqs::default()
                },
            )?;
            let there = !entry.component_not_supported
                && entry.component_status != ComponentStatus::NotPresent;
            if there && entry.component() == Some(Component::BootImage) {
                return Ok(Some(Self {
                    index,
                    update_state: entry.component_update_state,
                }));
            }
            if entry.last_index_flag {
                break;
            }
        }
        Ok(None)
    }

    /// Version of what boots next. Firmware with nothing staged answers with what runs, or
    /// refuses: then it is `running`. Firmware that has something staged and refuses leaves it
    /// unknown.
    ///
    /// # Errors
    /// [`RegisterError`] when the firmware was busy or could not be reached.
    pub fn stored(
        self,
        registers: &dyn RegisterAccess,
        running: Option<FwVersion>,
    ) -> Result<ImageVersion, RegisterError> {
        let request = Mcqi {
            read_pending_component: true,
            ..Mcqi::request(self.index, InfoType::Version)
        };
        match version(registers, &request) {
            Err(error) if is_declined(&error) => Ok(ImageVersion {
                version: running.filter(|_| !self.is_staged()),
                date: None,
            }),
            result => result,
        }
    }

    /// An update waits for a reset.
    #[must_use]
    pub fn is_staged(self) -> bool {
        self.update_state == UpdateState::ActivePendingReset
    }

    /// What the component takes: sizes, transfer unit, checks.
    ///
    /// # Errors
    /// [`RegisterError`] when it cannot be read.
    pub fn capabilities(
        self,
        registers: &dyn RegisterAccess,
    ) -> Result<Capabilities, RegisterError> {
        let request = Mcqi::request(self.index, InfoType::Capabilities);
        match read_register(registers, &request)?.info() {
            Some(Info::Capabilities(capabilities)) => Ok(capabilities),
            _ => Ok(Capabilities::default()),
        }
    }

    /// What makes the stored image run; `None` when the firmware does not tell.
    ///
    /// # Errors
    /// [`RegisterError`] when the firmware was busy or could not be reached.
    pub fn activation(
        self,
        registers: &dyn RegisterAccess,
    ) -> Result<Option<ActivationMethod>, RegisterError> {
        let request = Mcqi::request(self.index, InfoType::ActivationMethod);
        match read_register(registers, &request) {
            Ok(answer) => Ok(match answer.info() {
                Some(Info::ActivationMethod(method)) => Some(method),
                _ => None,
            }),
            Err(error) if is_declined(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Reads a version without its text, which nobody needs and which is most of the answer.
fn version(registers: &dyn RegisterAccess, request: &Mcqi) -> Result<ImageVersion, RegisterError> {
    let answer = read_register_head(registers, request, VERSION_HEAD)?;
    Ok(match answer.info() {
        Some(Info::Version(version)) => ImageVersion {
            version: known(&version),
            date: version.build_date(),
        },
        _ => ImageVersion::default(),
    })
}

fn known(version: &Version) -> Option<FwVersion> {
    version
        .fw_version()
        .filter(|&version| version != UNKNOWN_VERSION)
}

/// The firmware understood and declined, as it does when there is no pending component or no such
/// information; busy (1), out of resources (8) and internal errors (0x70) say nothing.
fn is_declined(error: &RegisterError) -> bool {
    error
        .status()
        .is_some_and(|status| !matches!(status, 0x01 | 0x08 | 0x70))
}
