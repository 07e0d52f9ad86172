//! What can be updated: MCQS and MCQI (device-access 4.2, 4.3).

use std::sync::Arc;

use crate::registers::mcc::ControlState;
use crate::registers::mcqi::{ActivationMethod, Capabilities, Info, InfoType, Timestamp, Version};
use crate::registers::mcqs::{Component, ComponentStatus, UpdateState};
use crate::registers::{Mcqi, Mcqs, Octets};

use super::super::boot::Running;
use super::super::cells::Cell;
use super::super::icmd::{Method, TlvStatus};
use super::super::spec::ReadBack;
use super::info::{bcd, bcd_date};
use super::{Firmware, read_only, reply};

/// Most data bytes of one MCDA.
pub(super) const MCDA_LIMIT: u16 = 128;
/// log2 of the unit of MCDA offsets and sizes.
pub(super) const MCDA_WORD_LOG2: u8 = 2;

/// Bytes an image has for its product version (images-fs3 6).
const PRODUCT_VERSION_FIELD: usize = 16;

/// Components of open firmware, by index.
const OPEN_COMPONENTS: &[Component] = &[Component::BootImage, Component::CsToken];
/// Components of secure firmware, by index: the boot image is not the first, so that a tool which
/// takes index and id for the same thing is found out.
const SECURE_COMPONENTS: &[Component] = &[
    Component::CsToken,
    Component::DebugToken,
    Component::BootImage,
];

impl Firmware<'_> {
    fn components(&self) -> &'static [Component] {
        if self.cycle.spec.secure {
            SECURE_COMPONENTS
        } else {
            OPEN_COMPONENTS
        }
    }

    pub(super) fn component(&self, index: u16) -> Option<Component> {
        self.components().get(usize::from(index)).copied()
    }

    pub(super) fn mcqs(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        self.drop_silent_owner();
        reply(image, |request: Mcqs| {
            let index = request.component_index;
            let component = self.component(index).ok_or(TlvStatus::BadParameter)?;
            let boot_image = component == Component::BootImage;
            let state = match self.state() {
                _ if !boot_image => UpdateState::Idle,
                ControlState::Initialize | ControlState::Download => UpdateState::InProgress,
                _ if self.get(Cell::UpdateStaged) != 0 => UpdateState::ActivePendingReset,
                _ => UpdateState::Idle,
            };
            Ok(Mcqs {
                component_index: index,
                last_index_flag: usize::from(index) + 1 == self.components().len(),
                identifier: component.code().into(),
                component_update_state: state,
                component_status: if boot_image {
                    ComponentStatus::Present
                } else {
                    ComponentStatus::NotPresent
                },
                ..Mcqs::default()
            })
        })
    }

    pub(super) fn mcqi(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        reply(image, |request: Mcqi| {
            match self.component(request.component_index) {
                Some(Component::BootImage) => {}
                // a token says what it could do even when there is none
                Some(_) if request.info_type == InfoType::Capabilities => {
                    return Ok(request.with_info(&Info::Capabilities(token_capabilities())));
                }
                _ => return Err(TlvStatus::BadParameter),
            }
            let next = if request.read_pending_component {
                self.cycle.next_to_run(&self.running)
            } else {
                Arc::clone(&self.running)
            };
            let info = match request.info_type {
                InfoType::Capabilities => Info::Capabilities(self.capabilities(&next)),
                InfoType::Version => Info::Version(version(&next)),
                InfoType::ActivationMethod => Info::ActivationMethod(ActivationMethod {
                    pending_fw_reset: true,
                    pending_server_reboot: true,
                    ..ActivationMethod::default()
                }),
                InfoType::Other(_) => return Err(TlvStatus::BadParameter),
            };
            Ok(request.with_info(&info))
        })
    }

    /// What it hands out of its image.
    pub(super) fn hands_out(&self) -> ReadBack {
        let spec = &self.cycle.spec;
        if spec.secure {
            spec.read_back
        } else {
            ReadBack::Masked
        }
    }

    fn capabilities(&self, image: &Running) -> Capabilities {
        let types = [
            InfoType::Capabilities,
            InfoType::Version,
            InfoType::ActivationMethod,
        ];
        Capabilities {
            supported_info_bitmask: types.iter().fold(0, |mask, kind| mask | (1 << kind.code())),
            component_size: image.size,
            max_component_size: self.running.room,
            mcda_max_write_size: MCDA_LIMIT,
            log_mcda_word_size: MCDA_WORD_LOG2,
            match_psid: true,
            match_chip_id: true,
            signed_updates_only: self.cycle.spec.secure,
            rd_en: self.hands_out() != ReadBack::Refused,
            ..Capabilities::default()
        }
    }
}

/// Capabilities of a token component: nothing but to be asked for them.
fn token_capabilities() -> Capabilities {
    Capabilities {
        supported_info_bitmask: 1 << InfoType::Capabilities.code(),
        signed_updates_only: true,
        ..Capabilities::default()
    }
}

/// Version, build time and product version of an image as MCQI tells them.
fn version(image: &Running) -> Version {
    let [major, minor, subminor] = image.version;
    let (year, month, day) = bcd_date(image.date);
    let [hours, minutes, seconds] = image.time.unwrap_or_default().map(|part| bcd(part.into()));
    // the NUL counts, as far as the image's field has room for one: mstflint relies on it
    let text = image.product_version.as_bytes();
    let length = (text.len() + 1).min(PRODUCT_VERSION_FIELD);
    let version = Version {
        major: u8::try_from(major).unwrap_or(u8::MAX),
        minor: u8::try_from(minor).unwrap_or(u8::MAX),
        subminor,
        version_string_length: u8::try_from(length).unwrap_or(u8::MAX),
        version_string: Octets::new(text),
        ..Version::default()
    };
    if image.date.is_none() {
        return version;
    }
    version.with_build_time(&Timestamp {
        hours,
        minutes,
        seconds,
        day,
        month,
        year,
    })
}
