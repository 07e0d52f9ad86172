//! Firmware for tests: the update state machine of MCC, and a panic for everything a burn must
//! never send (a wrong handle, data nobody waits for, a gap, a piece out of measure).

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::access::{Method, RegisterAccess, RegisterError, Way};
use crate::flash::cancel::Cancel;
use crate::registers::mcc::{ControlState, ErrorCode, Instruction};
use crate::registers::mcqi::{ActivationMethod, Capabilities, Info, InfoType, Version};
use crate::registers::mcqs::{Component, ComponentStatus, Owner, UpdateState};
use crate::registers::mfrl::TRIGGER_PCI_LINK;
use crate::registers::mirc::Status as MircStatus;
use crate::registers::{Mcc, Mcda, Mcqi, Mcqs, Mfrl, Mirc, Register};
use crate::version::FwVersion;

/// Largest component it takes.
pub(super) const MAX_SIZE: u32 = 0x1000;
/// Most bytes a transfer it takes.
pub(super) const MAX_WRITE: u16 = 100;
/// log2 of its transfer word.
pub(super) const LOG_WORD: u8 = 3;
/// Where its boot image sits.
pub(super) const INDEX: u16 = 2;

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    /// An instruction is refused with a code.
    Refuse(Instruction, ErrorCode),
    /// A state is never left.
    Stuck(ControlState),
    /// An instruction leads to a state nobody expects.
    Strange(Instruction, ControlState),
    /// The answer to an instruction gets lost.
    Lost(Instruction),
    /// Pieces that are read lack this many bytes at their end.
    Short(usize),
    /// Each register is first answered with "resource not available", this often.
    Crowded(u32),
    /// After activation the firmware still says it stores the old image.
    Forgets,
    /// MIRC answers so.
    Mirc(MircStatus),
}

#[derive(Debug)]
pub(super) struct State {
    pub running: FwVersion,
    pub stored: FwVersion,
    pub control: ControlState,
    pub owner: Option<(u32, Owner)>,
    pub received: Vec<u8>,
    /// What it hands out.
    pub image: Vec<u8>,
    pub instructions: Vec<Instruction>,
    pub registers_seen: usize,
    next_handle: u32,
    error: ErrorCode,
    size: u32,
    verified: bool,
    passing: VecDeque<ControlState>,
    crowded: u32,
    pub trouble: Option<Trouble>,
    cancel: Option<(usize, Cancel)>,
    /// What the image in transfer is.
    incoming: FwVersion,
}

/// The firmware.
#[derive(Debug)]
pub(super) struct Fake(Mutex<State>);

impl Fake {
    pub(super) fn new(running: FwVersion, incoming: FwVersion) -> Self {
        Self(Mutex::new(State {
            running,
            stored: running,
            control: ControlState::Idle,
            owner: None,
            received: Vec::new(),
            image: Vec::new(),
            instructions: Vec::new(),
            registers_seen: 0,
            next_handle: 0x00a0_0001,
            error: ErrorCode::Ok,
            size: 0,
            verified: false,
            passing: VecDeque::new(),
            crowded: 0,
            trouble: None,
            cancel: None,
            incoming,
        }))
    }

    pub(super) fn with(self, trouble: Trouble) -> Self {
        self.state(|state| {
            state.trouble = Some(trouble);
            if let Trouble::Crowded(times) = trouble {
                state.crowded = times;
            }
        });
        self
    }

    /// Asks to stop when the `nth` register arrives.
    pub(super) fn cancelling(self, nth: usize, cancel: &Cancel) -> Self {
        self.state(|state| state.cancel = Some((nth, cancel.clone())));
        self
    }

    pub(super) fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }
}

impl RegisterAccess for Fake {
    fn send(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<(), RegisterError> {
        let mut state = self.0.lock().unwrap();
        if let Some((nth, cancel)) = &state.cancel
            && *nth == state.registers_seen
        {
            cancel.request();
        }
        state.registers_seen += 1;
        if let Some(Trouble::Crowded(times)) = state.trouble {
            if state.crowded > 0 {
                state.crowded -= 1;
                return Err(RegisterError::Status {
                    register: id,
                    method,
                    status: 8,
                });
            }
            state.crowded = times;
        }
        let answer = state.answer(id, method, image)?;
        image[..reply].copy_from_slice(&answer[..reply]);
        Ok(())
    }

    fn way(&self) -> Way {
        Way::Vsec
    }
}

impl State {
    fn answer(&mut self, id: u16, method: Method, image: &[u8]) -> Result<Vec<u8>, RegisterError> {
        match (id, method) {
            (Mcqs::ID, Method::Read) => Ok(Self::mcqs(&Mcqs::decode(image).unwrap()).encode()),
            (Mcqi::ID, Method::Read) => Ok(self.mcqi(&Mcqi::decode(image).unwrap()).encode()),
            (Mcc::ID, Method::Read) => Ok(self.query(&Mcc::decode(image).unwrap()).encode()),
            (Mcc::ID, Method::Write) => self.instruct(&Mcc::decode(image).unwrap()),
            (Mcda::ID, Method::Write) => {
                self.data(&Mcda::decode(image).unwrap());
                Ok(image.to_vec())
            }
            (Mcda::ID, Method::Read) => Ok(self.piece(&Mcda::decode(image).unwrap(), image.len())),
            (Mirc::ID, _) => Ok(self.mirc(method).encode()),
            (Mfrl::ID, Method::Read) => Ok(Mfrl {
                reset_trigger: TRIGGER_PCI_LINK,
                ..Mfrl::default()
            }
            .encode()),
            _ => panic!("a burn never sends {method:?} of {id:#06x}"),
        }
    }

    fn mcqs(request: &Mcqs) -> Mcqs {
        assert!(
            request.component_index <= INDEX,
            "scan beyond the last entry"
        );
        let component = if request.component_index == INDEX {
            Component::BootImage
        } else {
            Component::Other(0x30)
        };
        Mcqs {
            identifier: u16::from(component.code()),
            component_status: ComponentStatus::Present,
            component_update_state: UpdateState::Idle,
            last_index_flag: request.component_index == INDEX,
            ..request.clone()
        }
    }

    fn mcqi(&self, request: &Mcqi) -> Mcqi {
        assert_eq!(request.component_index, INDEX);
        let info = match request.info_type {
            InfoType::Capabilities => Info::Capabilities(Capabilities {
                max_component_size: MAX_SIZE,
                mcda_max_write_size: MAX_WRITE,
                log_mcda_word_size: LOG_WORD,
                ..Capabilities::default()
            }),
            InfoType::Version => {
                let version = if request.read_pending_component {
                    self.stored
                } else {
                    self.running
                };
                Info::Version(Version {
                    major: u8::try_from(version.major).unwrap(),
                    minor: u8::try_from(version.minor).unwrap(),
                    subminor: version.subminor,
                    ..Version::default()
                })
            }
            InfoType::ActivationMethod => Info::ActivationMethod(ActivationMethod {
                pending_fw_reset: true,
                ..ActivationMethod::default()
            }),
            InfoType::Other(other) => panic!("nobody asks for MCQI {other}"),
        };
        request.clone().with_info(&info)
    }

    fn query(&mut self, request: &Mcc) -> Mcc {
        if request.update_handle != 0 {
            assert_eq!(
                Some(request.update_handle),
                self.owner.map(|(handle, _)| handle)
            );
        }
        if let Some(&next) = self.passing.front()
            && !matches!(self.trouble, Some(Trouble::Stuck(state)) if state == self.control)
        {
            self.control = next;
            self.passing.pop_front();
        }
        let fresh = request.update_handle == 0;
        if fresh {
            self.next_handle += 1;
        }
        self.mcc(if fresh {
            self.next_handle
        } else {
            request.update_handle
        })
    }

    fn mcc(&self, update_handle: u32) -> Mcc {
        Mcc {
            update_handle,
            component_index: INDEX,
            control_state: self.control,
            error_code: self.error,
            control_progress: 101,
            handle_owner_type: self.owner.map_or(Owner::Unknown, |(_, owner)| owner),
            handle_owner_host_id: 1,
            time_elapsed_since_last_cmd: 42,
            ..Mcc::default()
        }
    }

    fn instruct(&mut self, request: &Mcc) -> Result<Vec<u8>, RegisterError> {
        let instruction = request.instruction;
        self.instructions.push(instruction);
        self.error = ErrorCode::Ok;
        match self.trouble {
            Some(Trouble::Refuse(at, code)) if at == instruction => self.error = code,
            Some(Trouble::Strange(at, state)) if at == instruction => self.control = state,
            _ => self.take(request),
        }
        if matches!(self.trouble, Some(Trouble::Lost(at)) if at == instruction) {
            return Err(RegisterError::Transport {
                register: Mcc::ID,
                reason: "no answer".into(),
            });
        }
        Ok(self.mcc(request.update_handle).encode())
    }

    fn take(&mut self, request: &Mcc) {
        use ControlState as S;
        let mine = self
            .owner
            .is_some_and(|(handle, _)| handle == request.update_handle);
        let instruction = request.instruction;
        let for_owners = [
            Instruction::UpdateComponent,
            Instruction::VerifyComponent,
            Instruction::Activate,
            Instruction::Cancel,
            Instruction::ReadComponent,
        ];
        assert!(
            mine || !for_owners.contains(&instruction),
            "{instruction} with handle {:#x}, owner {:?}",
            request.update_handle,
            self.owner
        );
        match instruction {
            Instruction::LockUpdateHandle => {
                assert_eq!(self.control, S::Idle, "lock");
                self.owner = Some((request.update_handle, Owner::Icmd));
                self.go(&[S::Locked]);
            }
            Instruction::ReleaseUpdateHandle if !mine => self.error = ErrorCode::General,
            Instruction::ReleaseUpdateHandle => {
                assert_ne!(self.control, S::Download, "release without cancel");
                self.owner = None;
                self.passing.clear();
                self.control = S::Idle;
            }
            Instruction::UpdateComponent => {
                assert_eq!((self.control, request.component_index), (S::Locked, INDEX));
                assert!(request.component_size <= MAX_SIZE);
                self.size = request.component_size;
                self.received.clear();
                self.go(&[S::Initialize, S::Initialize, S::Download]);
            }
            Instruction::VerifyComponent => {
                assert_eq!(self.control, S::Download, "verify");
                let padded = self.size.next_multiple_of(1 << LOG_WORD);
                assert_eq!(
                    u32::try_from(self.received.len()).unwrap(),
                    padded,
                    "all data came"
                );
                self.verified = true;
                self.go(&[S::Verify, S::Locked]);
            }
            Instruction::Activate => {
                assert!(self.verified && self.control == S::Locked, "activate");
                if !matches!(self.trouble, Some(Trouble::Forgets)) {
                    self.stored = self.incoming;
                }
                self.go(&[S::Activate, S::Locked]);
            }
            Instruction::ReadComponent => {
                assert_eq!((self.control, request.component_index), (S::Locked, INDEX));
                self.go(&[S::Locked, S::UploadPending, S::Upload]);
            }
            Instruction::Cancel => {
                self.verified = false;
                self.passing.clear();
                self.trouble = self
                    .trouble
                    .filter(|trouble| !matches!(trouble, Trouble::Stuck(_)));
                self.go(&[S::Locked]);
            }
            Instruction::CheckUpdateHandle => {
                if !mine {
                    self.error = ErrorCode::General;
                }
            }
            Instruction::ForceHandleRelease => {
                self.owner = None;
                self.passing.clear();
                self.control = S::Idle;
            }
            other => panic!("a burn never gives {other}"),
        }
    }

    /// Enters the first state now, the others at later looks.
    fn go(&mut self, states: &[ControlState]) {
        self.control = states[0];
        self.passing = states[1..].iter().copied().collect();
    }

    fn data(&mut self, piece: &Mcda) {
        assert_eq!(
            self.control,
            ControlState::Download,
            "data nobody waits for"
        );
        assert_eq!(
            Some(piece.update_handle),
            self.owner.map(|(handle, _)| handle)
        );
        assert_eq!(
            usize::try_from(piece.offset).unwrap(),
            self.received.len(),
            "a gap"
        );
        assert!(piece.data.len() <= usize::from(MAX_WRITE), "piece too long");
        assert!(
            piece.data.len().is_multiple_of(1 << LOG_WORD),
            "piece of broken words"
        );
        self.received.extend_from_slice(&piece.data);
    }

    /// A piece of what is handed out, as a register of `len` bytes.
    fn piece(&self, request: &Mcda, len: usize) -> Vec<u8> {
        assert_eq!(self.control, ControlState::Upload, "nothing is handed out");
        assert_eq!(
            Some(request.update_handle),
            self.owner.map(|(handle, _)| handle)
        );
        let wanted = request.data.len();
        assert!(wanted <= usize::from(MAX_WRITE) && wanted.is_multiple_of(1 << LOG_WORD));
        let start = usize::try_from(request.offset).unwrap();
        assert!(start < self.image.len(), "behind the end");
        let rest = self.image[start..].iter().copied();
        let short = match self.trouble {
            Some(Trouble::Short(bytes)) => bytes,
            _ => 0,
        };
        let answer = Mcda {
            // the last word is filled up
            data: rest.chain([0xee; 8]).take(wanted - short).collect(),
            ..request.clone()
        };
        let mut answer = answer.encode();
        answer.resize(len, 0);
        answer
    }

    fn mirc(&mut self, method: Method) -> Mirc {
        if method == Method::Write {
            self.stored = self.running;
            return Mirc {
                status_code: MircStatus::Busy,
            };
        }
        let status_code = match self.trouble {
            Some(Trouble::Mirc(status)) => status,
            _ => MircStatus::Ok,
        };
        Mirc { status_code }
    }
}
