//! The firmware-controlled update: MCQS, MCQI, MCC and MCDA (device-access 4.2 to 4.5, burn 7).
//!
//! What no source states is decided here so that it could be a card's:
//! - an instruction of a handle that does not hold the lock is refused, LOCK with "not available",
//!   anything else with "bad parameter";
//! - the lock of a handle that sends nothing for [`LEASE`] is given up, as if it had sent CANCEL
//!   and RELEASE, so that the next tool need not force anything;
//! - an instruction in the wrong state is a general error and changes nothing;
//! - an instruction that is refused for a reason fails with "bad parameter", and the register says
//!   the reason, in this answer and to queries until the next instruction: mstflint looks at the
//!   error code of failed accesses only, the kernel at that of queries;
//! - INITIALIZE lasts [`INITIALIZE_POLLS`] queries.

use std::sync::Arc;
use std::time::Duration;

use crate::registers::mcc::{ControlState, ErrorCode, Instruction, PROGRESS_NOT_AVAILABLE};
use crate::registers::mcqi::{ActivationMethod, Capabilities, Info, InfoType, Timestamp, Version};
use crate::registers::mcqs::{Component, ComponentStatus, Owner, UpdateState};
use crate::registers::{Mcc, Mcda, Mcqi, Mcqs, Octets};

use super::super::boot::Running;
use super::super::cells::Cell;
use super::super::flash::SECTOR;
use super::super::icmd::{Method, TlvStatus};
use super::super::seconds;
use super::info::{bcd, bcd_date};
use super::{Firmware, read_only, reply};

/// Silence after which the update lock falls. Tools poll every 200 ms or so while they work.
const LEASE: Duration = Duration::from_secs(3);

/// Queries that still see INITIALIZE after UPDATE_COMPONENT.
const INITIALIZE_POLLS: u32 = 1;

/// Most data bytes of one MCDA.
const MCDA_LIMIT: u16 = 128;
/// log2 of the unit of MCDA offsets and sizes.
const MCDA_WORD_LOG2: u8 = 2;

/// Bytes an image has for its product version (images-fs3 6).
const PRODUCT_VERSION_FIELD: usize = 16;

/// Handles have 24 bits.
const HANDLE_MASK: u32 = 0xff_ffff;

/// Components of open firmware, by index.
const OPEN_COMPONENTS: &[Component] = &[Component::BootImage, Component::CsToken];
/// Components of secure firmware, by index: the boot image is not the first, so that a tool which
/// takes index and id for the same thing is found out.
const SECURE_COMPONENTS: &[Component] = &[
    Component::CsToken,
    Component::DebugToken,
    Component::BootImage,
];

/// Why an instruction is not carried out.
enum Refusal {
    /// The register access fails.
    Access(TlvStatus),
    /// The register says why.
    Update(ErrorCode),
}

impl From<ErrorCode> for Refusal {
    fn from(code: ErrorCode) -> Self {
        Self::Update(code)
    }
}

impl Firmware<'_> {
    fn components(&self) -> &'static [Component] {
        if self.cycle.spec.secure {
            SECURE_COMPONENTS
        } else {
            OPEN_COMPONENTS
        }
    }

    fn component(&self, index: u16) -> Option<Component> {
        self.components().get(usize::from(index)).copied()
    }

    fn get(&self, cell: Cell) -> u32 {
        self.cycle.cells.get(cell)
    }

    fn set(&self, cell: Cell, value: u32) {
        self.cycle.cells.set(cell, value);
    }

    fn state(&self) -> ControlState {
        let code = u8::try_from(self.get(Cell::UpdateState)).unwrap_or(0);
        ControlState::from_code(code)
    }

    fn set_state(&self, state: ControlState) {
        self.set(Cell::UpdateState, state.code().into());
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
            rd_en: !self.cycle.spec.secure,
            ..Capabilities::default()
        }
    }

    pub(super) fn mcc(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        self.drop_silent_owner();
        let mut verdict = Ok(());
        reply(image, |request: Mcc| {
            let handle = request.update_handle;
            if method == Method::Read {
                return Ok(self.query(request));
            }
            let error = match self.instruct(&request) {
                Ok(()) => ErrorCode::Ok,
                Err(Refusal::Update(code)) => code,
                Err(Refusal::Access(status)) => return Err(status),
            };
            if error != ErrorCode::Ok {
                verdict = Err(TlvStatus::BadParameter);
            }
            self.set(Cell::UpdateError, error.code().into());
            Ok(self.answer(request, handle))
        })?;
        verdict
    }

    /// A read; with handle 0 it hands out a fresh one.
    fn query(&self, request: Mcc) -> Mcc {
        let handle = match request.update_handle {
            0 => self.fresh_handle(),
            handle => handle,
        };
        if handle == self.get(Cell::UpdateHandle) {
            self.note_command();
            self.finish_initialize();
        }
        self.answer(request, handle)
    }

    fn answer(&self, request: Mcc, handle: u32) -> Mcc {
        let locked = self.get(Cell::UpdateHandle) != 0;
        let error = u8::try_from(self.get(Cell::UpdateError)).unwrap_or(0);
        let silence = if locked { self.silence() } else { 0 };
        Mcc {
            update_handle: handle,
            control_state: self.state(),
            error_code: ErrorCode::from_code(error),
            control_progress: PROGRESS_NOT_AVAILABLE,
            time_elapsed_since_last_cmd: u16::try_from(silence).unwrap_or(0xfff).min(0xfff),
            handle_owner_type: if locked { Owner::Icmd } else { Owner::Unknown },
            handle_owner_host_id: 0,
            component_size: self.get(Cell::UpdateSize),
            ..request
        }
    }

    fn fresh_handle(&self) -> u32 {
        let last = self.get(Cell::UpdateLastHandle);
        let fresh = (last.wrapping_add(1) & HANDLE_MASK).max(1);
        self.set(Cell::UpdateLastHandle, fresh);
        fresh
    }

    fn note_command(&self) {
        self.set(Cell::UpdateLastCommand, seconds());
    }

    /// Seconds since the owner's last command.
    fn silence(&self) -> u32 {
        seconds().saturating_sub(self.get(Cell::UpdateLastCommand))
    }

    /// Gives up the lock of an owner that has not been heard of for the length of the lease.
    fn drop_silent_owner(&self) {
        let locked = self.get(Cell::UpdateHandle) != 0;
        if locked && u64::from(self.silence()) > LEASE.as_secs() {
            self.release();
        }
    }

    fn finish_initialize(&self) {
        let waiting = self.state() == ControlState::Initialize;
        if waiting && !self.cycle.cells.count_down(Cell::UpdatePolls) {
            self.set_state(ControlState::Download);
        }
    }

    fn instruct(&self, request: &Mcc) -> Result<(), Refusal> {
        match request.instruction {
            Instruction::LockUpdateHandle => return self.lock(request.update_handle),
            Instruction::ForceHandleRelease => {
                self.release();
                return Ok(());
            }
            _ => {}
        }
        if request.update_handle == 0 || request.update_handle != self.get(Cell::UpdateHandle) {
            return Err(Refusal::Access(TlvStatus::BadParameter));
        }
        self.note_command();
        match request.instruction {
            Instruction::None | Instruction::CheckUpdateHandle => Ok(()),
            Instruction::ReleaseUpdateHandle => {
                self.release();
                Ok(())
            }
            Instruction::Cancel => {
                self.forget_component();
                Ok(())
            }
            Instruction::UpdateComponent => self.begin(request),
            Instruction::VerifyComponent => self.verify(),
            Instruction::ActivateComponent | Instruction::Activate => self.activate(),
            Instruction::ReadComponent => self.begin_reading(&Arc::clone(&self.running)),
            Instruction::ReadPendingComponent => {
                self.begin_reading(&self.cycle.next_to_run(&self.running))
            }
            _ => Err(ErrorCode::General.into()),
        }
    }

    fn lock(&self, handle: u32) -> Result<(), Refusal> {
        let owner = self.get(Cell::UpdateHandle);
        if handle == 0 || handle > self.get(Cell::UpdateLastHandle) {
            return Err(Refusal::Access(TlvStatus::BadParameter));
        }
        if owner != 0 && owner != handle {
            return Err(Refusal::Access(TlvStatus::NotAvailable));
        }
        self.set(Cell::UpdateHandle, handle);
        self.note_command();
        self.forget_component();
        Ok(())
    }

    /// Back to IDLE. An image that was not activated has no marker, so it is as good as absent.
    fn release(&self) {
        self.forget_component();
        self.set(Cell::UpdateHandle, 0);
        self.set(Cell::UpdateError, 0);
        self.set_state(ControlState::Idle);
    }

    fn forget_component(&self) {
        self.set(Cell::UpdateVerified, 0);
        self.set(Cell::UpdateSize, 0);
        self.set_state(ControlState::Locked);
    }

    fn in_state(&self, state: ControlState) -> Result<(), Refusal> {
        if self.state() == state {
            Ok(())
        } else {
            Err(ErrorCode::General.into())
        }
    }

    /// UPDATE_COMPONENT: erases the slot that does not run.
    fn begin(&self, request: &Mcc) -> Result<(), Refusal> {
        self.in_state(ControlState::Locked)?;
        let size = request.component_size;
        if self.component(request.component_index) != Some(Component::BootImage) {
            return Err(ErrorCode::NotApplicable.into());
        }
        if self.get(Cell::UpdateStaged) != 0 {
            return Err(ErrorCode::PendingReset.into());
        }
        if size == 0 || !size.is_multiple_of(1 << MCDA_WORD_LOG2) {
            return Err(ErrorCode::BadFormat.into());
        }
        if size > self.running.room {
            return Err(ErrorCode::NoPlace.into());
        }
        let target = self.other_slot();
        // `room` is whole sectors, so the last one lies inside the slot too
        for block in (0..size).step_by(SECTOR as usize) {
            self.cycle.erase_flash(target + block, SECTOR);
        }
        self.set(Cell::UpdateTarget, target);
        self.set(Cell::UpdateComponent, request.component_index.into());
        self.set(Cell::UpdateSize, size);
        self.set(Cell::UpdateVerified, 0);
        self.set(Cell::UpdatePolls, INITIALIZE_POLLS);
        self.set_state(ControlState::Initialize);
        Ok(())
    }

    /// Flash address of the slot that does not run (images-fs3 9).
    fn other_slot(&self) -> u32 {
        if self.running.start == 0 {
            1 << self.running.slot_log2.min(31)
        } else {
            0
        }
    }

    fn verify(&self) -> Result<(), Refusal> {
        self.in_state(ControlState::Download)?;
        self.set_state(ControlState::Locked);
        self.check_candidate(&self.candidate())?;
        self.set(Cell::UpdateVerified, 1);
        Ok(())
    }

    /// ACTIVATE: the new image gets its marker, then the running one loses its own.
    fn activate(&self) -> Result<(), Refusal> {
        self.in_state(ControlState::Locked)?;
        if self.get(Cell::UpdateVerified) == 0 {
            return Err(ErrorCode::General.into());
        }
        let target = self.get(Cell::UpdateTarget);
        let candidate = self.candidate();
        let (marker, rest) = candidate.split_at(candidate.len().min(0x10));
        // programs the device data entries of FS3; everything else stands already
        self.cycle.program_flash(target + 0x10, rest);
        self.cycle.program_flash(target, marker);
        self.cycle.program_flash(self.running.start, &[0; 4]);
        self.set(Cell::UpdateVerified, 0);
        self.set(Cell::UpdateStaged, 1);
        Ok(())
    }

    /// READ: the component can be fetched with MCDA.
    fn begin_reading(&self, image: &Running) -> Result<(), Refusal> {
        self.in_state(ControlState::Locked)?;
        if self.cycle.spec.secure {
            return Err(ErrorCode::General.into());
        }
        self.set(Cell::UpdateTarget, image.start);
        self.set(Cell::UpdateSize, image.size);
        self.set_state(ControlState::Upload);
        Ok(())
    }

    pub(super) fn mcda(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        self.drop_silent_owner();
        match method {
            // nothing to tell: the image stays as it was sent
            Method::Write => {
                let request = Self::decode_mcda(image)?;
                self.piece(&request, ControlState::Download)?;
                self.receive(&request);
                Ok(())
            }
            Method::Read => reply(image, |mut request: Mcda| {
                self.piece(&request, ControlState::Upload)?;
                request.data = self.component_piece(&request);
                Ok(request)
            }),
        }
    }

    fn decode_mcda(image: &[u8]) -> Result<Mcda, TlvStatus> {
        use crate::registers::Register;
        Mcda::decode(image).map_err(|_| TlvStatus::TooShort)
    }

    /// Whether a piece is one of the owner's, in the right state, inside the component.
    fn piece(&self, request: &Mcda, state: ControlState) -> Result<(), TlvStatus> {
        let handle = request.update_handle;
        if handle == 0 || handle != self.get(Cell::UpdateHandle) {
            return Err(TlvStatus::BadParameter);
        }
        self.note_command();
        if self.state() != state {
            return Err(TlvStatus::NotAvailable);
        }
        let length = u32::try_from(request.data.len()).unwrap_or(u32::MAX);
        let whole_words = (request.offset | length).trailing_zeros() >= MCDA_WORD_LOG2.into();
        let end = u64::from(request.offset) + u64::from(length);
        let inside = end <= u64::from(self.get(Cell::UpdateSize));
        if length == 0 || length > MCDA_LIMIT.into() || !whole_words || !inside {
            return Err(TlvStatus::BadParameter);
        }
        Ok(())
    }

    /// Programs a piece at its place. The marker is the firmware's own business: whatever is sent
    /// for it stays blank until ACTIVATE.
    fn receive(&self, piece: &Mcda) {
        let target = self.get(Cell::UpdateTarget) + piece.offset;
        let skip = usize::try_from(0x10u32.saturating_sub(piece.offset)).unwrap_or(0);
        let skip = skip.min(piece.data.len());
        if let (Some(bytes), Ok(skipped)) = (piece.data.get(skip..), u32::try_from(skip)) {
            self.cycle.program_flash(target + skipped, bytes);
            self.cycle.cells.count(Cell::FlashPrograms);
        }
    }

    /// A piece of an image in the flash, with the marker as it would be sent.
    fn component_piece(&self, piece: &Mcda) -> Vec<u8> {
        let start = self.get(Cell::UpdateTarget);
        let length = u32::try_from(piece.data.len()).unwrap_or(0);
        let mut bytes = self.cycle.flash.read(start + piece.offset, length);
        let masked = usize::try_from(0x10u32.saturating_sub(piece.offset)).unwrap_or(0);
        for byte in bytes.iter_mut().take(masked) {
            *byte = 0xff;
        }
        bytes
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
