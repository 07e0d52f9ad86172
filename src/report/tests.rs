//! Reports of made-up cards, to the column.

use super::*;
use crate::access::Way;
use crate::card::{CardError, Firmware, PortType};
use crate::flash::Activation;
use crate::identity::{Guid, Mac, Psid};
use crate::plan::examples::{card, offer};
use crate::plan::{Aim, Policy, plan};

const BOARD: &str = "MT_2420110034";
const LX: &str = "ConnectX-4 Lx";

fn policy() -> Policy {
    Policy {
        aim: Aim::Collection,
        ..Policy::default()
    }
}

/// Renders cards against offers; blanks at line ends are shown as `·`.
fn render(
    cards: &[CardReport],
    offers: &[Offer],
    print: impl Fn(&mut Vec<u8>, &[CardView<'_>]),
) -> String {
    let decisions = plan(cards, offers, &policy());
    let mut out = Vec::new();
    print(&mut out, &CardView::all(cards, &decisions, offers));
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .map(|line| match line.strip_suffix(' ') {
            Some(rest) => format!("{rest}·\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

fn text_of(cards: &[CardReport], offers: &[Offer]) -> String {
    render(cards, offers, |out, views| {
        text::query(out, views, text::Detail::Usual).unwrap()
    })
}

fn failed_card() -> CardReport {
    let mut failed = card(LX, BOARD, "14.25.1020");
    failed.device = "0000:c1:00.0".to_owned();
    failed.model = None;
    failed.psid = None;
    failed.part_number = None;
    failed.description = None;
    failed.base_mac = None;
    failed.firmware = Firmware::default();
    failed.access = None;
    failed.error = Some(CardError {
        code: "lockdown",
        message: "config cannot be written".to_owned(),
        advice: None,
    });
    failed
}

#[test]
fn a_connectx_4_lx_looks_as_mlxup_shows_it() {
    let cards = [card(LX, BOARD, "14.25.1020")];
    let offers = [offer(LX, BOARD, "14.32.1010")];
    insta::assert_snapshot!(text_of(&cards, &offers), @r"
    Querying Mellanox devices firmware ...

    Device #1:
    ----------

      Device Type:      ConnectX4LX
      Part Number:      MCX4121A-ACA_Ax
      Description:      ConnectX-4 Lx EN network interface card; 25GbE dual-port SFP28
      PSID:             MT_2420110034
      PCI Device Name:  0000:03:00.0
      Base MAC:         0c42a1000010
      Versions:         Current        Available    ·
         FW             14.25.1020     14.32.1010   ·
         PXE            3.5.0701       3.6.0502     ·
         UEFI           14.18.0019     14.25.0017   ·

      Status:           Update required
    ");
}

#[test]
fn a_card_that_could_not_be_opened_has_dashes_and_four_port_lines() {
    insta::assert_snapshot!(text_of(&[failed_card()], &[]), @r"
    Querying Mellanox devices firmware ...

    Device #1:
    ----------

      Device Type:      N/A
      Part Number:      --
      Description:     ·
      PSID:            ·
      PCI Device Name:  0000:c1:00.0
      Port1 MAC:        N/A
      Port1 GUID:       N/A
      Port2 MAC:        N/A
      Port2 GUID:       N/A
      Versions:         Current        Available    ·
         FW             --                          ·

      Status:           Failed to open device
    ");
}

#[test]
fn a_card_that_only_its_driver_knows_shows_what_that_says() {
    let mut card = failed_card();
    card.psid = Psid::new(BOARD);
    card.firmware.running = Some("14.25.1020".parse().unwrap());
    card.update_path = None;
    card.port_types = [Some(PortType::Ethernet), None];
    let text = text_of(&[card], &[offer(LX, BOARD, "14.32.1010")]);
    for line in [
        "  PSID:             MT_2420110034",
        "  Port1 GUID:       N/A",
        "     FW             14.25.1020     N/A          ·",
        "  Status:           Failed to open device",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}:\n{text}");
    }
}

#[test]
fn a_staged_image_shows_the_running_version_in_its_own_row() {
    let mut staged = card(LX, BOARD, "14.25.1020");
    staged.firmware.stored = Some("14.32.1010".parse().unwrap());
    let text = text_of(&[staged], &[offer(LX, BOARD, "14.32.1010")]);
    assert!(
        text.contains(
            "
     FW             14.32.1010     14.32.1010   ·
     FW (Running)   14.25.1020     N/A          ·
     PXE            3.5.0701       3.6.0502     ·
     UEFI           14.18.0019     14.25.0017   ·

  Status:           Update staged, activation pending
"
        ),
        "{text}"
    );
}

#[test]
fn cards_of_the_fourth_generation_have_addresses_a_port() {
    let mut old = card("ConnectX-3", "HP_1380110017", "2.40.5030");
    old.base_mac = None;
    old.port_macs = [Mac::new(0x0002_c9aa_0011), Mac::new(0x0002_c9aa_0012)];
    let text = text_of(std::slice::from_ref(&old), &[]);
    assert!(
        text.contains("\n  Port1 MAC:        0002c9aa0011\n  Port2 MAC:        0002c9aa0012\n")
    );
    assert!(!text.contains("Base"));
    assert!(text.contains("Status:           No matching image found (updates come from HPE)\n"));

    old.port_guids = [Guid::new(0x0002_c903_00aa_0011), None];
    old.port_types = [Some(PortType::InfiniBand), Some(PortType::Ethernet)];
    let text = text_of(std::slice::from_ref(&old), &[]);
    assert!(
        text.contains("\n  Port1 GUID:       0002c90300aa0011\n  Port2 MAC:        0002c9aa0012\n")
    );
}

#[test]
fn what_port_1_speaks_decides_on_the_base_address() {
    use PortType::{Ethernet, InfiniBand};
    let mut vpi = card("ConnectX-5", "MT_0000000010", "16.35.3006");
    vpi.base_guid = Guid::new(0x0c42_a103_00aa_0010);
    let mut labels = |port_types| {
        vpi.port_types = port_types;
        let text = text_of(std::slice::from_ref(&vpi), &[]);
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Base "));
        let labels: Vec<String> = lines
            .map(|line| line[..4].trim_end_matches(':').to_owned())
            .collect();
        labels.join(" ")
    };
    assert_eq!(labels([None, None]), "GUID MAC");
    assert_eq!(labels([Some(Ethernet), Some(Ethernet)]), "MAC");
    assert_eq!(labels([Some(Ethernet), Some(InfiniBand)]), "MAC GUID");
    assert_eq!(labels([Some(InfiniBand), None]), "GUID");
    assert_eq!(labels([Some(InfiniBand), Some(Ethernet)]), "GUID MAC");
}

#[test]
fn text_from_a_device_cannot_move_the_cursor() {
    let mut hostile = card(LX, BOARD, "14.25.1020");
    hostile.description = Some("nice\x1b[2J\ncard".to_owned());
    let text = text_of(&[hostile], &[]);
    assert!(
        text.contains("  Description:      nice\\u{1b}[2J\\u{a}card\n"),
        "{text}"
    );
}

#[test]
fn a_long_rom_name_pushes_its_columns() {
    let mut card = card(LX, BOARD, "14.25.1020");
    card.roms[0].kind = "UEFI Virtio net".to_owned();
    card.roms[0].version = vec![21, 4, 13];
    let text = text_of(&[card], &[]);
    assert!(
        text.contains("\n     UEFI Virtio net   21.4.0013      N/A          ·\n"),
        "{text}"
    );
}

#[test]
fn the_xml_document_is_that_of_mlxfwmanager() {
    let mut dx = card("ConnectX-6 Dx", "MT_0000000359", "22.38.1002");
    dx.base_guid = Guid::new(0x0c42_a103_00aa_0010);
    dx.description = Some("\"fast\" & <good>".to_owned());
    dx.part_number = Some("A&B".to_owned());
    let cards = [dx, failed_card()];
    let offers = [offer("ConnectX-6 Dx", "MT_0000000359", "22.43.2566")];
    let document = render(&cards, &offers, |out, views| {
        xml::query(out, views).unwrap()
    });
    insta::assert_snapshot!(document, @r#"
    <Devices>
        <Device pciName="0000:03:00.0" type="ConnectX6DX" psid="MT_0000000359" partNumber="A&amp;B">
          <Versions>
            <FW current="22.38.1002" available="22.43.2566"/>
            <PXE current="3.5.0701" available="3.6.0502"/>
            <UEFI current="14.18.0019" available="14.25.0017"/>
          </Versions>
          <MACs Base_Mac="0c42a1000010" />
          <GUIDs Base_Guid="0c42a10300aa0010" />
          <Status>Update required</Status>
          <Description>fast  good</Description>
        </Device>
        <Device pciName="0000:c1:00.0" type="N/A" psid="" partNumber="--">
          <Versions>
            <FW current="--" available=""/>
          </Versions>
          <Status>Failed to open device</Status>
          <Description></Description>
        </Device>
    </Devices>
    "#);
}

#[test]
fn json_says_what_text_says_and_null_for_what_is_not_known() {
    let cards = [card(LX, BOARD, "14.25.1020"), failed_card()];
    let offers = [offer(LX, BOARD, "14.32.1010")];
    let source = json::SourceName {
        kind: "directory",
        name: "firmware".to_owned(),
    };
    let text = render(&cards, &offers, |out, views| {
        let sources = json::SourceList {
            whole: Some(&source),
            searched: &[],
        };
        json::query(out, views, sources, &[]).unwrap();
    });
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "cxfw.query/1");
    let card = &document["cards"][0];
    assert_eq!(card["type"], "ConnectX4LX");
    assert_eq!(card["pci_id"], "15b3:1015");
    assert_eq!(card["firmware"]["available"], "14.32.1010");
    assert_eq!(card["roms"][1]["type"], "PXE");
    assert_eq!(card["roms"][1]["current"], "3.5.0701");
    assert_eq!(card["roms"][1]["available"], "3.6.0502");
    assert_eq!(card["access"], Way::Vsec.to_string());
    assert_eq!(card["link"]["limited_by"], "slot");
    assert_eq!(card["status"], "update_required");
    assert_eq!(card["source"]["name"], "fw-14.32.1010.bin");
    assert!(card["error"].is_null());
    let failed = &document["cards"][1];
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["code"], "lockdown");
    for field in ["psid", "base_mac", "type", "access", "brand"] {
        assert!(failed[field].is_null(), "{field}");
    }
    assert!(failed["firmware"]["stored"].is_null());
}

#[test]
fn an_error_names_its_causes_once_and_ends_with_the_advice() {
    #[derive(Debug, thiserror::Error)]
    #[error("{file}: cannot read it")]
    struct Outer {
        file: &'static str,
        source: std::io::Error,
    }
    let error = Outer {
        file: "fw.mfa",
        source: std::io::Error::other("disk on fire"),
    };
    let mut out = Vec::new();
    failure::print(&mut out, Palette::new(false), &error, Some("put it out")).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "error: fw.mfa: cannot read it\n  caused by: disk on fire\n\nadvice: put it out\n"
    );
}

#[test]
fn an_update_ends_with_one_line_that_counts() {
    let outcome = |ending, activation| Outcome {
        activation,
        ..Outcome::without_burn(ending, String::new(), None)
    };
    let outcomes = [
        outcome(Ending::Burned, Some(Activation::Reboot)),
        outcome(Ending::Skipped, None),
        outcome(Ending::AlreadyCurrent, None),
        outcome(Ending::Skipped, None),
    ];
    let mut out = Vec::new();
    summary::end(&mut out, &outcomes).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\nRestart needed for updates to take effect.\n\
         Summary: 1 burned, 1 already current, 2 skipped\n"
    );
}
