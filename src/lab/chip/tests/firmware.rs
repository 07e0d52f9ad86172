use super::*;
use crate::lab::chip::icmd::Method;
use crate::registers::mcqi::{Info, InfoType};
use crate::registers::mcqs::{Component, ComponentStatus};
use crate::registers::mqis;
use crate::registers::{
    Mcam, Mcqi, Mcqs, Mfai, Mfba, Mfbe, Mfmc, Mfpa, Mfrl, Mfsv, Mgir, Mlock, Mnvda, Mqis, Msgi,
    Mvts, Register,
};

const NOT_SUPPORTED: u8 = 4;
const METHOD: u8 = 6;
const BAD_PARAMETER: u8 = 7;
const NOT_AVAILABLE: u8 = 8;

#[test]
fn mgir_is_the_image_that_booted() {
    let card = connectx_4_lx();
    let mgir = card.client().ask(&Mgir::default()).unwrap();
    assert_eq!(mgir.fw_version().unwrap().to_string(), "14.25.1020");
    assert_eq!(mgir.date().unwrap().to_string(), "2021-12-06");
    assert_eq!(mgir.psid().unwrap().as_str(), PSID);
    assert_eq!(mgir.device_id, 4117);
    assert_eq!(mgir.hw_dev_id, CONNECTX_4_LX);
    assert_eq!(mgir.hour, 0x1200);
    assert_eq!(mgir.manufacturing_base_mac().unwrap().value(), MAC);
    assert_eq!(mgir.life_cycle(), 0);
    let rom = mgir.roms()[0];
    assert_eq!(rom.kind.to_string(), "PXE");
    assert_eq!((rom.major, rom.minor, rom.build), (3, 5, 701));
    card.assert_no_violation();
}

#[test]
fn a_secure_card_says_so_in_mgir() {
    let card = connectx_6_dx();
    let mgir = card.client().ask(&Mgir::default()).unwrap();
    assert!(mgir.secured && mgir.signed_fw && mgir.sec_boot);
    assert_eq!(mgir.life_cycle(), 1);
}

#[test]
fn mcam_lists_what_is_answered() {
    let card = connectx_4_lx();
    let client = card.client();
    for group in 0..4 {
        let request = Mcam {
            access_reg_group: group,
            ..Mcam::default()
        };
        let mcam = client.ask(&request).unwrap();
        for id in (0..0x80).map(|bit| 0x9000 + u16::from(group) * 0x80 + bit) {
            let mut image = [0; 0x100];
            let answered = client.send(id, Method::Read, &mut image) != Err(NOT_SUPPORTED);
            assert_eq!(answered, mcam.has_register(id), "{id:#x}");
        }
    }
}

#[test]
fn unknown_registers_and_wrong_methods_have_their_statuses() {
    let card = connectx_4_lx();
    let client = card.client();
    assert_eq!(client.ask(&Mfsv::default()), Err(NOT_SUPPORTED));
    assert_eq!(client.tell(&Mgir::default()), Err(METHOD));
    let mut short = [0; 8];
    assert_eq!(client.send(Mgir::ID, Method::Read, &mut short), Err(0x24));
}

fn text(client: &Client, info_type: mqis::InfoType) -> String {
    let mut bytes = Vec::new();
    loop {
        let offset = u16::try_from(bytes.len()).unwrap();
        let piece = client.ask(&Mqis::request(info_type, offset)).unwrap();
        bytes.extend_from_slice(piece.piece());
        if bytes.len() >= usize::from(piece.info_length) {
            return String::from_utf8(bytes).unwrap();
        }
    }
}

#[test]
fn texts_come_in_pieces() {
    let card = connectx_4_lx();
    let client = card.client();
    assert_eq!(text(&client, mqis::InfoType::ModelName), "MCX-TEST_Ax");
    assert_eq!(
        text(&client, mqis::InfoType::ModelDescription),
        "An adapter that never was"
    );
    assert_eq!(text(&client, mqis::InfoType::ImageVsd), "");
    let msgi = client.ask(&Msgi::default()).unwrap();
    assert_eq!(msgi.serial_number.text(), "MT2000X00001");
}

#[test]
fn base_addresses_are_in_the_configuration() {
    let card = connectx_4_lx();
    let client = card.client();
    let request = Mnvda::request_current(Mnvda::BASE_ADDRESSES, 16);
    let addresses = client.ask(&request).unwrap().base_addresses().unwrap();
    assert_eq!(
        (addresses.mac, addresses.guid),
        (MAC, 0x0c42_a103_0000_1122)
    );
    let request = Mnvda::request_current(Mnvda::BASE_ADDRESS_CAPABILITIES, 8);
    let numbers = client
        .ask(&request)
        .unwrap()
        .base_address_capabilities()
        .unwrap();
    assert_eq!((numbers.num_macs, numbers.num_guids), (8, 8));
    let request = Mnvda::request_current(0x210, 20);
    assert_eq!(client.ask(&request), Err(BAD_PARAMETER));
}

/// Components by index.
fn components(client: &Client) -> Vec<(Component, ComponentStatus)> {
    let mut found = Vec::new();
    for component_index in 0..16 {
        let request = Mcqs {
            component_index,
            ..Mcqs::default()
        };
        let mcqs = client.ask(&request).unwrap();
        found.push((mcqs.component().unwrap(), mcqs.component_status));
        if mcqs.last_index_flag {
            assert_eq!(
                client.ask(&Mcqs {
                    component_index: component_index + 1,
                    ..Mcqs::default()
                }),
                Err(BAD_PARAMETER)
            );
            return found;
        }
    }
    panic!("no last component");
}

#[test]
fn the_boot_image_is_found_by_its_id() {
    let card = connectx_4_lx();
    let open = components(&card.client());
    assert_eq!(open[0], (Component::BootImage, ComponentStatus::Present));
    let card = connectx_6_dx();
    let secure = components(&card.client());
    assert_eq!(secure[2], (Component::BootImage, ComponentStatus::Present));
    assert_eq!(secure[0], (Component::CsToken, ComponentStatus::NotPresent));
}

#[test]
fn component_information_is_that_of_the_image() {
    let card = connectx_4_lx();
    let client = card.client();
    let ask = |kind| client.ask(&Mcqi::request(0, kind)).unwrap().info().unwrap();
    let Info::Version(version) = ask(InfoType::Version) else {
        panic!("no version");
    };
    assert_eq!(version.fw_version().unwrap().to_string(), "14.25.1020");
    assert_eq!(version.build_date().unwrap().to_string(), "2021-12-06");
    assert_eq!(version.text(), "rel-1");
    let Info::Capabilities(capabilities) = ask(InfoType::Capabilities) else {
        panic!("no capabilities");
    };
    assert_eq!(capabilities.component_size, card.running().size);
    assert_eq!(capabilities.mcda_max_write_size, 128);
    assert!(capabilities.max_component_size <= 0x80_0000);
    assert!(capabilities.max_component_size >= 0x40_0000);
    assert!(capabilities.match_psid && capabilities.rd_en);
    let Info::ActivationMethod(method) = ask(InfoType::ActivationMethod) else {
        panic!("no activation method");
    };
    assert!(method.pending_fw_reset && !method.auto_activate);
    let token = client.ask(&Mcqi::request(1, InfoType::Version));
    assert_eq!(token, Err(BAD_PARAMETER));
    let token = client
        .ask(&Mcqi::request(1, InfoType::Capabilities))
        .unwrap();
    let Some(Info::Capabilities(token)) = token.info() else {
        panic!("no capabilities");
    };
    assert_eq!(token.supported_info_bitmask, 1);
}

#[test]
fn open_firmware_gives_the_flash_away() {
    let card = connectx_4_lx();
    let client = card.client();
    let mfpa = client.ask(&Mfpa::default()).unwrap();
    assert_eq!(mfpa.jedec_id, 0x18_40ef);
    assert!(mfpa.bulk_64kb_erase_en);
    let block = |address, data| Mfba {
        address,
        data,
        ..Mfba::default()
    };
    let read = client.ask(&block(0, vec![0; 128])).unwrap();
    assert_eq!(read.data, card.chip.read_flash(0, 128).unwrap());
    let written = client.tell(&block(0x70_0001, vec![1, 2, 3])).unwrap();
    assert_eq!(written.data, [1, 2, 3]);
    assert_eq!(
        card.chip.read_flash(0x70_0000, 5).unwrap(),
        [0xff, 1, 2, 3, 0xff]
    );
    assert_eq!(
        client.ask(&block(FLASH - 4, vec![0; 8])),
        Err(BAD_PARAMETER)
    );
    assert_eq!(client.ask(&block(0, vec![0; 132])), Err(BAD_PARAMETER));
    card.assert_no_violation();
    client.tell(&block(0x70_0001, vec![0xff, 3, 3])).unwrap();
    assert_eq!(card.chip.violations().needs_erase, 1);
}

#[test]
fn erasing_through_the_firmware_takes_aligned_blocks() {
    let card = connectx_4_lx();
    let client = card.client();
    card.chip.write_flash(0x70_0000, &[0; 0x2000]).unwrap();
    let erase = |address, bulk_64kb_erase| {
        client.tell(&Mfbe {
            address,
            bulk_64kb_erase,
            ..Mfbe::default()
        })
    };
    erase(0x70_0000, false).unwrap();
    assert_eq!(
        card.chip.read_flash(0x70_0ffe, 4).unwrap(),
        [0xff, 0xff, 0, 0]
    );
    card.assert_no_violation();
    assert_eq!(erase(0x70_1000, true), Err(BAD_PARAMETER));
    assert_eq!(card.chip.violations().unaligned_erase, 1);
    erase(0x70_0000, true).unwrap();
    assert_eq!(card.chip.read_flash(0x70_1000, 1).unwrap(), [0xff]);
    assert_eq!(card.chip.counters().flash_erases, 2);
}

#[test]
fn secure_firmware_keeps_the_flash_to_itself() {
    let card = connectx_6_dx();
    let client = card.client();
    let block = Mfba {
        data: vec![0; 4],
        ..Mfba::default()
    };
    assert_eq!(client.ask(&block), Err(NOT_AVAILABLE));
    assert_eq!(client.tell(&block), Err(NOT_AVAILABLE));
    assert_eq!(client.tell(&Mfbe::default()), Err(NOT_AVAILABLE));
    assert_eq!(client.ask(&Mfmc::default()), Err(NOT_AVAILABLE));
    assert!(client.ask(&Mfpa::default()).is_ok());
}

#[test]
fn a_reset_can_be_asked_for_and_a_boot_address_named() {
    let card = connectx_4_lx();
    let client = card.client();
    let trigger = |reset_trigger| Mfrl {
        reset_trigger,
        ..Mfrl::default()
    };
    let mfrl = client.ask(&Mfrl::default()).unwrap();
    assert_eq!((mfrl.reset_trigger, mfrl.reset_type), (0x48, 1));
    assert_eq!(client.tell(&trigger(1)), Err(BAD_PARAMETER));
    client.tell(&trigger(1 << 6)).unwrap();
    client.tell(&Mfai::at(0x80_0000).unwrap()).unwrap();
    assert_eq!(client.ask(&Mfai::default()).unwrap().address, 0x80_0000);
}

#[test]
fn nothing_is_stamped_and_nothing_locked() {
    let card = connectx_4_lx();
    let client = card.client();
    client
        .tell(&Mvts {
            year: 0x2024,
            ..Mvts::default()
        })
        .unwrap();
    assert_eq!(client.ask(&Mvts::default()).unwrap(), Mvts::default());
    assert_eq!(client.ask(&Mlock::default()).unwrap(), Mlock::default());
}
