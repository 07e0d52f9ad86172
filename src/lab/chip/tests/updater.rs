//! An update in small, instruction by instruction.

use super::*;
use crate::lab::chip::cells::Cell;
use crate::lab::chip::icmd::Method;
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::{Mcc, Mcda, Register};

pub const BAD_PARAMETER: u8 = 7;
pub const NOT_AVAILABLE: u8 = 8;

/// One update, instruction by instruction.
pub struct Update {
    pub client: Client,
    pub handle: u32,
    pub component_index: u16,
}

impl Update {
    /// Gets a handle and locks it.
    pub fn locked(card: &Card) -> Self {
        let update = Self::with_handle(card);
        let mcc = update.tell(Instruction::LockUpdateHandle, 0).unwrap();
        assert_eq!(mcc.control_state, ControlState::Locked);
        update
    }

    /// The handle that is locked now, in other hands.
    pub fn locked_again(card: &Card) -> Self {
        let handle = card.chip.cells.get(Cell::UpdateHandle);
        Self {
            handle,
            ..Self::with_handle(card)
        }
    }

    pub fn with_handle(card: &Card) -> Self {
        let client = card.client();
        let handle = client.ask(&Mcc::default()).unwrap().update_handle;
        assert_ne!(handle, 0);
        Self {
            client,
            handle,
            component_index: if card.spec.secure { 2 } else { 0 },
        }
    }

    /// The answer to an instruction, also where it says why it is refused.
    pub fn tell(&self, instruction: Instruction, component_size: u32) -> Result<Mcc, u8> {
        self.instruct(&Mcc {
            instruction,
            component_index: self.component_index,
            update_handle: self.handle,
            component_size,
            ..Mcc::default()
        })
    }

    pub fn instruct(&self, request: &Mcc) -> Result<Mcc, u8> {
        let mut image = request.encode();
        let status = self.client.send(Mcc::ID, Method::Write, &mut image);
        let mcc = Mcc::decode(&image).unwrap();
        if mcc.error_code == ErrorCode::Ok {
            return status.map(|()| mcc);
        }
        assert_eq!(status, Err(BAD_PARAMETER), "a refusal fails the register");
        assert_eq!(self.query().error_code, mcc.error_code, "queries say why");
        Ok(mcc)
    }

    pub fn query(&self) -> Mcc {
        let request = Mcc {
            update_handle: self.handle,
            ..Mcc::default()
        };
        self.client.ask(&request).unwrap()
    }

    /// UPDATE_COMPONENT and the wait for DOWNLOAD.
    pub fn begin(&self, size: u32) {
        let mcc = self.tell(Instruction::UpdateComponent, size).unwrap();
        assert_eq!(mcc.error_code, ErrorCode::Ok);
        assert_eq!(mcc.control_state, ControlState::Initialize);
        assert_eq!(self.query().control_state, ControlState::Initialize);
        assert_eq!(self.query().control_state, ControlState::Download);
    }

    pub fn write(&self, offset: u32, data: &[u8]) -> Result<Mcda, u8> {
        self.client.tell(&Mcda {
            update_handle: self.handle,
            offset,
            data: data.to_vec(),
        })
    }

    pub fn send(&self, component: &[u8]) {
        for (piece, offset) in component.chunks(128).zip((0..).step_by(128)) {
            self.write(offset, piece).unwrap();
        }
    }

    /// Begins, sends and verifies; what VERIFY says.
    pub fn verify(&self, component: &[u8]) -> ErrorCode {
        self.begin(u32::try_from(component.len()).unwrap());
        self.send(component);
        let mcc = self.tell(Instruction::VerifyComponent, 0).unwrap();
        assert_eq!(mcc.control_state, ControlState::Locked);
        mcc.error_code
    }

    pub fn burn(&self, component: &[u8]) {
        assert_eq!(self.verify(component), ErrorCode::Ok);
        let mcc = self.tell(Instruction::Activate, 0).unwrap();
        assert_eq!(mcc.error_code, ErrorCode::Ok);
        let mcc = self.tell(Instruction::ReleaseUpdateHandle, 0).unwrap();
        assert_eq!(mcc.control_state, ControlState::Idle);
    }
}
