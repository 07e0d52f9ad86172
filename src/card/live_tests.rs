//! What is asked of running firmware, and what is made of its answers.

use std::collections::HashMap;
use std::sync::Mutex;

use super::live;
use super::report::{CardReport, UpdatePath};
use super::survey::blank;
use crate::access::{Method, RegisterAccess, RegisterError, Way};
use crate::model;
use crate::registers::mcqi::{Info, InfoType, Version};
use crate::registers::mcqs::{ComponentStatus, UpdateState};
use crate::registers::mgir::RomKind;
use crate::registers::mnvda::BaseAddresses;
use crate::registers::mqis::InfoType as Text;
use crate::registers::{Mcam, Mcc, Mcda, Mcqi, Mcqs, Mgir, Mnvda, Mqis, Octets, Register};
use crate::version::FwVersion;

const RUNNING: FwVersion = FwVersion::new(14, 25, 1020);
const STAGED: FwVersion = FwVersion::new(14, 32, 1010);
/// Where this firmware keeps its boot image.
const INDEX: u16 = 4;

/// Firmware that answers what it is asked and counts the questions.
struct Firmware {
    mgir: Mgir,
    mcam: Option<Mcam>,
    /// What it says boots next; `None` = it refuses the question.
    pending: Option<FwVersion>,
    addresses: Option<BaseAddresses>,
    texts: HashMap<Text, &'static str>,
    endless: bool,
    staged: bool,
    asked: Mutex<Vec<u16>>,
}

impl Firmware {
    fn new() -> Self {
        let registers = [Mgir::ID, Mcqs::ID, Mcqi::ID, Mcc::ID, Mcda::ID, Mqis::ID];
        Self {
            mgir: Mgir {
                device_id: 0x1015,
                hw_dev_id: 0x20b,
                psid: Octets::new(b"MT_2420110034"),
                extended_major: 14,
                extended_minor: 25,
                extended_subminor: 1020,
                manufacturing_base_mac_high: 0x0c42,
                manufacturing_base_mac_low: 0xa100_0000,
                year: 0x2019,
                month: 0x02,
                day: 0x05,
                rom0_type: RomKind::Pxe,
                rom0_version: 0x0305_02bd,
                ..Mgir::default()
            },
            mcam: Some(
                registers
                    .into_iter()
                    .fold(Mcam::default(), Mcam::with_register),
            ),
            pending: Some(RUNNING),
            addresses: Some(BaseAddresses {
                mac: 0x0c42_a100_0010,
                guid: 0x0c42_a103_0000_0010,
            }),
            texts: HashMap::from([
                (Text::ModelName, "MCX4121A-ACA_Ax"),
                (Text::ModelDescription, "ConnectX-4 Lx EN"),
            ]),
            endless: false,
            staged: false,
            asked: Mutex::default(),
        }
    }

    fn read(&self) -> CardReport {
        let mut report = blank();
        report.model = model::by_hw_id(0x20b);
        live::read(self, &mut report);
        report
    }

    fn answer(&self, id: u16, image: &[u8]) -> Option<Vec<u8>> {
        match id {
            Mgir::ID => Some(self.mgir.encode()),
            Mcam::ID => self.mcam.as_ref().map(Register::encode),
            Mcqs::ID => Some(self.mcqs(Mcqs::decode(image).unwrap()).encode()),
            Mcqi::ID => self.mcqi(Mcqi::decode(image).unwrap()),
            Mnvda::ID => self
                .addresses
                .as_ref()
                .map(|addresses| Mnvda::from(addresses).encode()),
            Mqis::ID => self.mqis(Mqis::decode(image).unwrap()),
            _ => panic!("a query does not need register {id:#06x}"),
        }
    }

    fn mcqs(&self, request: Mcqs) -> Mcqs {
        let index = request.component_index;
        Mcqs {
            identifier: if index == INDEX && !self.endless {
                1
            } else {
                0x30
            },
            component_status: ComponentStatus::Present,
            component_update_state: if self.staged {
                UpdateState::ActivePendingReset
            } else {
                UpdateState::Idle
            },
            last_index_flag: index == INDEX + 1 && !self.endless,
            ..request
        }
    }

    fn mcqi(&self, request: Mcqi) -> Option<Vec<u8>> {
        assert_eq!(request.component_index, INDEX);
        assert_eq!(request.info_type, InfoType::Version);
        assert!(
            request.read_pending_component,
            "what runs is known from MGIR"
        );
        let version = self.pending?;
        let info = Info::Version(Version {
            major: version.major.to_le_bytes()[0],
            minor: version.minor.to_le_bytes()[0],
            subminor: version.subminor,
            ..Version::default()
        });
        Some(request.with_info(&info).encode())
    }

    fn mqis(&self, request: Mqis) -> Option<Vec<u8>> {
        let text = self.texts.get(&request.info_type)?.as_bytes();
        let piece = &text[usize::from(request.read_offset)..];
        let answer = Mqis {
            info_length: u16::try_from(text.len()).unwrap(),
            info_string: Octets::new(piece),
            ..request
        };
        Some(answer.encode())
    }
}

impl RegisterAccess for Firmware {
    fn send(
        &self,
        id: u16,
        method: Method,
        image: &mut [u8],
        reply: usize,
    ) -> Result<(), RegisterError> {
        assert_eq!(method, Method::Read, "a query writes nothing");
        self.asked.lock().unwrap().push(id);
        let refused = RegisterError::Status {
            register: id,
            method,
            status: if id == Mcqi::ID { 7 } else { 4 },
        };
        let answer = self.answer(id, image).ok_or(refused)?;
        image[..reply].copy_from_slice(&answer[..reply]);
        Ok(())
    }

    fn way(&self) -> Way {
        Way::Vsec
    }
}

#[test]
fn a_card_is_read_field_by_field() {
    let report = Firmware::new().read();
    assert_eq!(report.firmware.running, Some(RUNNING));
    assert_eq!(report.firmware.stored, Some(RUNNING));
    assert_eq!(report.firmware.date.unwrap().to_string(), "2019-02-05");
    assert_eq!(report.psid.unwrap().as_str(), "MT_2420110034");
    assert_eq!(report.base_mac.unwrap().to_string(), "0c42a1000010");
    assert_eq!(report.base_guid.unwrap().to_string(), "0c42a10300000010");
    assert_eq!(
        report.original_base_mac.unwrap().to_string(),
        "0c42a1000000"
    );
    assert_eq!(report.part_number.as_deref(), Some("MCX4121A-ACA_Ax"));
    assert_eq!(report.description.as_deref(), Some("ConnectX-4 Lx EN"));
    assert_eq!(report.roms[0].version_text(), "3.5.0701");
    assert_eq!(report.update_path, Some(UpdatePath::Component));
    assert_eq!(report.error, None);
    assert!(report.warnings.is_empty());
}

#[test]
fn what_runs_and_what_boots_next_are_two_things() {
    let firmware = Firmware {
        pending: Some(STAGED),
        ..Firmware::new()
    };
    let report = firmware.read();
    assert_eq!(report.firmware.running, Some(RUNNING));
    assert_eq!(report.firmware.stored, Some(STAGED));
    assert_eq!(
        report.firmware.date, None,
        "the date known is that of the other one"
    );
}

#[test]
fn firmware_with_nothing_staged_boots_what_runs() {
    let firmware = Firmware {
        pending: None,
        ..Firmware::new()
    };
    let report = firmware.read();
    assert_eq!(report.firmware.stored, Some(RUNNING));
    assert_eq!(report.error, None);
}

#[test]
fn firmware_that_hides_what_is_staged_leaves_it_unknown() {
    let firmware = Firmware {
        pending: None,
        staged: true,
        ..Firmware::new()
    };
    assert_eq!(firmware.read().firmware.stored, None);
}

#[test]
fn a_stored_version_the_firmware_does_not_know_stays_unknown() {
    let firmware = Firmware {
        pending: Some(FwVersion::new(255, 255, 65535)),
        ..Firmware::new()
    };
    assert_eq!(firmware.read().firmware.stored, None);
}

#[test]
fn firmware_without_the_update_registers_is_burned_directly_and_claims_nothing_stored() {
    for mcam in [None, Some(Mcam::default().with_register(Mgir::ID))] {
        let report = Firmware {
            mcam,
            ..Firmware::new()
        }
        .read();
        assert_eq!(report.update_path, Some(UpdatePath::Direct));
        assert_eq!(report.firmware.running, Some(RUNNING));
        assert_eq!(report.firmware.stored, None);
    }
}

#[test]
fn one_register_that_fails_leaves_the_others_and_its_reason() {
    let report = Firmware {
        addresses: None,
        ..Firmware::new()
    }
    .read();
    assert_eq!((report.base_mac, report.base_guid), (None, None));
    let error = report.error.unwrap();
    assert_eq!(error.code, "register_unsupported");
    assert!(error.message.contains("0x9024"), "{}", error.message);
    assert_eq!(report.firmware.stored, Some(RUNNING));
}

#[test]
fn a_component_table_without_end_is_left_after_a_bound() {
    let firmware = Firmware {
        endless: true,
        ..Firmware::new()
    };
    let report = firmware.read();
    assert_eq!(report.update_path, Some(UpdatePath::Direct));
    assert!(firmware.asked.lock().unwrap().len() < 100);
}

#[test]
fn vpd_stands_in_for_texts_the_firmware_lacks() {
    let firmware = Firmware {
        texts: HashMap::new(),
        ..Firmware::new()
    };
    let mut report = blank();
    report.part_number = Some("MCX4121A-ACAT".to_owned());
    live::read(&firmware, &mut report);
    assert_eq!(report.part_number.as_deref(), Some("MCX4121A-ACAT"));
    assert_eq!(report.error, None);
}

#[test]
fn a_base_mac_nobody_wrote_at_the_factory_is_told() {
    let mut firmware = Firmware::new();
    firmware.mgir.manufacturing_base_mac_high = 0xffff;
    firmware.mgir.manufacturing_base_mac_low = 0xffff_ffff;
    let report = firmware.read();
    assert_eq!(report.original_base_mac, None);
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].contains("never set at the factory"));
}

#[test]
fn a_card_that_says_no_address_at_all_is_told_how_it_gets_some() {
    let mut firmware = Firmware::new();
    firmware.mgir.manufacturing_base_mac_high = 0;
    firmware.mgir.manufacturing_base_mac_low = 0;
    firmware.addresses = Some(BaseAddresses { mac: 0, guid: 0 });
    let report = firmware.read();
    assert_eq!((report.base_mac, report.base_guid), (None, None));
    assert_eq!(report.warnings.len(), 1);
    assert!(report.warnings[0].starts_with("the card says no GUID and no MAC"));
}

#[test]
fn a_query_asks_no_more_than_it_needs() {
    let firmware = Firmware::new();
    firmware.read();
    let asked = firmware.asked.lock().unwrap();
    let texts = asked.iter().filter(|&&id| id == Mqis::ID).count();
    // MGIR, MCAM, MCQS up to the boot image, MCQI, MNVDA; the texts come in pieces of 8 bytes.
    assert_eq!(asked.len() - texts, 1 + 1 + usize::from(INDEX) + 1 + 1 + 1);
    assert_eq!(texts, 2 + 2);
}
