//! The state machine of the firmware-controlled update: MCC (device-access 4.4, burn 7).
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

use crate::registers::Mcc;
use crate::registers::mcc::{ControlState, ErrorCode, Instruction, PROGRESS_NOT_AVAILABLE};
use crate::registers::mcqs::{Component, Owner};

use super::super::boot::Running;
use super::super::cells::Cell;
use super::super::flash::SECTOR;
use super::super::icmd::{Method, TlvStatus};
use super::super::seconds;
use super::super::spec::ReadBack;
use super::components::MCDA_WORD_LOG2;
use super::{Firmware, reply};

/// Silence after which the update lock falls. Tools poll every 200 ms or so while they work.
const LEASE: Duration = Duration::from_secs(10);

/// Queries that still see INITIALIZE after UPDATE_COMPONENT.
const INITIALIZE_POLLS: u32 = 1;

/// Handles have 24 bits.
const HANDLE_MASK: u32 = 0xff_ffff;

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
    pub(super) fn state(&self) -> ControlState {
        let code = u8::try_from(self.get(Cell::UpdateState)).unwrap_or(0);
        ControlState::from_code(code)
    }

    fn set_state(&self, state: ControlState) {
        self.set(Cell::UpdateState, state.code().into());
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

    pub(super) fn note_command(&self) {
        self.set(Cell::UpdateLastCommand, seconds());
    }

    /// Seconds since the owner's last command.
    fn silence(&self) -> u32 {
        seconds().saturating_sub(self.get(Cell::UpdateLastCommand))
    }

    /// Gives up the lock of an owner that has not been heard of for the length of the lease.
    pub(super) fn drop_silent_owner(&self) {
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
        if let Some(code) = self.cycle.refusal_of(request.instruction) {
            return Err(self.broken_off(code));
        }
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

    /// A fault makes the firmware refuse. Data that came so far is given up.
    fn broken_off(&self, code: ErrorCode) -> Refusal {
        if self.state() == ControlState::Download {
            self.set_state(ControlState::Locked);
        }
        Refusal::Update(code)
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
        if self.cycle.is_write_protected() {
            return Err(ErrorCode::FlashWriteProtected.into());
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
        // the device data entries of FS3; everything else stands already
        self.cycle.program_what_differs(target + 0x10, rest);
        self.cycle.program_flash(target, marker);
        self.cycle.program_flash(self.running.start, &[0; 4]);
        self.set(Cell::UpdateVerified, 0);
        self.set(Cell::UpdateStaged, 1);
        Ok(())
    }

    /// READ: the component can be fetched with MCDA.
    fn begin_reading(&self, image: &Running) -> Result<(), Refusal> {
        self.in_state(ControlState::Locked)?;
        if self.hands_out() == ReadBack::Refused {
            return Err(ErrorCode::General.into());
        }
        self.set(Cell::UpdateTarget, image.start);
        self.set(Cell::UpdateSize, image.size);
        self.set_state(ControlState::Upload);
        Ok(())
    }
}
