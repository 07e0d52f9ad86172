//! The main job on a lab host: query, update, restart, query again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read the program's output has failed"
)]

mod cli_common;

use std::fs;

use cli_common::{TestLab, card, run, schema};
use cxfw::lab::host::HostSpec;
use serde_json::Value;

const LX: &str = "ConnectX4LX";

/// The block of a card in a text report, from its heading to its status.
fn block<'a>(text: &'a str, device: &str) -> &'a str {
    let (at, _) = text
        .match_indices("Device #")
        .find(|(at, _)| {
            let rest = &text[*at..];
            let end = rest[1..]
                .find("Device #")
                .map_or(rest.len(), |next| next + 1);
            rest[..end].contains(&format!("PCI Device Name:  {device}\n"))
        })
        .unwrap_or_else(|| panic!("no {device} in {text}"));
    let rest = &text[at..];
    let status = rest.find("  Status:").unwrap();
    let end = rest[status..].find('\n').unwrap();
    &rest[..=status + end]
}

/// Everything behind the number of the card.
fn without_number(block: &str) -> String {
    let (_, rest) = block.split_once('\n').unwrap();
    // A blank at the end of a line is part of mlxup's layout; an editor would eat it here.
    rest.lines()
        .map(|line| match line.strip_suffix(' ') {
            Some(front) => format!("{front}·\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

#[test]
fn the_connectx_4_lx_looks_as_mlxup_shows_it() {
    let lab = TestLab::new();
    let ran = lab.run(&["query"]);
    assert_eq!(ran.code, Some(0));
    let recovery =
        "warning: 0000:81:00.0: ConnectX-5 is in flash recovery: no firmware runs on it; ";
    assert!(ran.stderr.starts_with(recovery), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(
        ran.stdout
            .starts_with("Querying Mellanox devices firmware ...\n\nDevice #1:\n----------\n\n")
    );
    insta::assert_snapshot!(without_number(block(&ran.stdout, "0000:03:00.0")), @r"
    ----------

      Device Type:      ConnectX4LX
      Part Number:      MCX4121A-ACA_Ax
      Description:      ConnectX-4 Lx EN network interface card; 25GbE dual-port SFP28; PCIe3.0 x8; ROHS R6
      PSID:             MT_2420110034
      PCI Device Name:  0000:03:00.0
      Base MAC:         0c42a1000000
      Versions:         Current        Available    ·
         FW             14.25.1020     14.32.1010   ·
         PXE            3.5.0701       3.6.0502     ·
         UEFI           14.18.0019     14.25.0017   ·

      Status:           Update required
    ");
}

#[test]
fn json_has_every_field_for_every_card() {
    let lab = TestLab::new();
    let document = lab.query();
    schema::check(&document, "query.json");
    let cards = document["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 7);
    let lx = card(&document, LX);
    assert_eq!(
        lx["functions"],
        serde_json::json!(["0000:03:00.0", "0000:03:00.1"])
    );
    assert_eq!(
        lx["names"]["net"],
        serde_json::json!(["enp3s0f0np0", "enp3s0f1np1"])
    );
    assert_eq!(lx["names"]["mst"], "mt4117_pciconf0");
    assert_eq!(lx["psid"], "MT_2420110034");
    assert_eq!(lx["base_mac"], "0c42a1000000");
    assert_eq!(lx["firmware"]["running"], "14.25.1020");
    assert_eq!(lx["firmware"]["stored"], "14.25.1020");
    assert_eq!(lx["firmware"]["date"], "2019-02-05");
    assert_eq!(lx["firmware"]["available"], "14.32.1010");
    assert_eq!(
        lx["roms"],
        serde_json::json!([
            {"type": "PXE", "current": "3.5.0701", "available": "3.6.0502"},
            {"type": "UEFI", "current": "14.18.0019", "available": "14.25.0017"},
        ])
    );
    assert_eq!(lx["link"]["width"], 4);
    assert_eq!(lx["link"]["max_width"], 8);
    assert_eq!(lx["link"]["limited_by"], "slot");
    assert_eq!(lx["status"], "update_required");
    assert_eq!(lx["access"], "vsec");
    assert_eq!(card(&document, "ConnectX6DX")["status"], "up_to_date");
    assert_eq!(card(&document, "ConnectX6DX")["security"][0], "secure-fw");
}

#[test]
fn an_oem_card_and_a_card_in_recovery_are_shown_for_what_they_are() {
    let lab = TestLab::new();
    let document = lab.query();
    let cards = document["cards"].as_array().unwrap();
    let hp = cards.iter().find(|card| card["brand"] == "HPE").unwrap();
    assert_eq!(hp["status"], "oem_no_image");
    assert_eq!(
        hp["status_text"],
        "No matching image found (updates come from HPE)"
    );
    let recovery = cards.iter().find(|card| card["recovery"] == true).unwrap();
    assert_eq!(recovery["status"], "recovery");
    assert_eq!(recovery["firmware"]["running"], Value::Null);
}

#[test]
fn adapters_of_other_vendors_are_left_alone() {
    let lab = TestLab::new();
    let text = lab.run(&["query"]).stdout;
    let json = lab.run(&["query", "--format", "json"]).stdout;
    let mut others = 0;
    for device in fs::read_dir(lab.path().join("sys/bus/pci/devices")).unwrap() {
        let device = device.unwrap();
        let vendor = fs::read_to_string(device.path().join("vendor")).unwrap();
        if vendor.trim() != "0x15b3" {
            others += 1;
            let address = device.file_name().into_string().unwrap();
            assert!(
                !text.contains(&address) && !json.contains(&address),
                "{address}"
            );
        }
    }
    assert!(others >= 3);
}

#[test]
fn xml_is_the_document_of_mlxfwmanager() {
    let lab = TestLab::new();
    let ran = lab.run(&["query", "--format", "xml", "-d", "mlx5_0"]);
    assert_eq!(ran.code, Some(0));
    insta::assert_snapshot!(ran.stdout, @r#"
    <Devices>
        <Device pciName="0000:03:00.0" type="ConnectX4LX" psid="MT_2420110034" partNumber="MCX4121A-ACA_Ax">
          <Versions>
            <FW current="14.25.1020" available="14.32.1010"/>
            <PXE current="3.5.0701" available="3.6.0502"/>
            <UEFI current="14.18.0019" available="14.25.0017"/>
          </Versions>
          <MACs Base_Mac="0c42a1000000" />
          <Status>Update required</Status>
          <Description>ConnectX-4 Lx EN network interface card; 25GbE dual-port SFP28; PCIe3.0 x8; ROHS R6</Description>
        </Device>
    </Devices>
    "#);
}

#[test]
fn a_card_is_found_by_any_of_its_names() {
    let lab = TestLab::new();
    for name in [
        "0000:03:00.0",
        "03:00.1",
        "mlx5_1",
        "enp3s0f0np0",
        "/dev/mst/mt4117_pciconf0",
        "mt4117_pciconf0",
    ] {
        let document = lab.run(&["query", "--format", "json", "-d", name]).json();
        let cards = document["cards"].as_array().unwrap();
        assert_eq!(cards.len(), 1, "{name}");
        assert_eq!(cards[0]["device"], "0000:03:00.0", "{name}");
    }
    let ran = lab.run(&["query", "-d", "mlx5_77"]);
    assert_eq!(ran.code, Some(5));
    assert!(
        ran.stderr.contains("no card is called `mlx5_77`"),
        "{}",
        ran.stderr
    );
}

#[test]
fn update_stages_the_new_firmware_a_restart_runs_it_and_a_second_update_has_nothing_to_do() {
    let lab = TestLab::new();
    assert_eq!(lab.run(&["query", "--exit-code"]).code, Some(3));

    let ran = lab.run(&["update", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("Device #3 (0000:03:00.0): Updating FW ...     \n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.contains("Device #3 (0000:03:00.0): Done\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stderr.contains("FSMST_INITIALIZE -   OK          \n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("Writing Boot image component -   OK          \n"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains('\r') && !ran.stdout.contains('\r'));
    assert!(
        ran.stdout
            .contains("\nRestart needed for updates to take effect.\n")
    );
    assert!(
        ran.stdout
            .lines()
            .last()
            .unwrap()
            .starts_with("Summary: 3 burned, "),
        "{}",
        ran.stdout
    );

    let lx = lab.card(LX);
    assert_eq!(lx["firmware"]["stored"], "14.32.1010");
    assert_eq!(lx["firmware"]["running"], "14.25.1020");
    assert_eq!(lx["status"], "activation_pending");
    let text = lab.run(&["query"]).stdout;
    let block = block(&text, "0000:03:00.0");
    assert!(
        block.contains("\n     FW             14.32.1010     14.32.1010   "),
        "{block}"
    );
    assert!(
        block.contains("\n     FW (Running)   14.25.1020     N/A          "),
        "{block}"
    );
    assert!(block.contains("activation pending"), "{block}");

    let ran = lab.run(&["update", "--yes", "--exit-code", "-d", "mlx5_0"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(
        ran.stdout
            .contains("14.32.1010 is already on flash, 14.25.1020 still runs"),
        "{}",
        ran.stdout
    );

    lab.reset();
    let lx = lab.card(LX);
    assert_eq!(lx["firmware"]["running"], "14.32.1010");
    assert_eq!(lx["status"], "up_to_date");
    assert_eq!(lx["roms"][0]["current"], "3.6.0502");
    assert_eq!(lx["base_mac"], "0c42a1000000");

    let before = lab.flashes();
    let ran = lab.run(&["update", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("Device #3: Up to date (14.32.1010 is on flash and running; --reinstall"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .lines()
            .last()
            .unwrap()
            .starts_with("Summary: 5 already current, "),
        "{}",
        ran.stdout
    );
    assert!(lab.flashes() == before);
}

#[test]
fn the_json_of_an_update_tells_how_every_card_ended() {
    let lab = TestLab::new();
    let ran = lab.run(&["update", "--yes", "--format", "json", "--progress", "json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    schema::check(&document, "update.json");
    let lx = card(&document, LX);
    assert_eq!(lx["result"], "burned");
    assert_eq!(lx["from"], "14.25.1020");
    assert_eq!(lx["to"], "14.32.1010");
    assert_eq!(lx["method"], "component");
    assert_eq!(lx["activation"], "reset");
    assert!(lx["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(card(&document, "ConnectX6DX")["result"], "already_current");
    assert_eq!(document["summary"]["burned"], 3);
    let again = lab.run(&["update", "--yes", "--format", "json"]).json();
    let lx = card(&again, LX);
    assert_eq!(lx["result"], "already_staged");
    assert_eq!(lx["activation"], "reset");
    let phases: Vec<Value> = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["event"] == "phase_done" && event["device"] == "0000:03:00.0")
        .map(|event| event["phase"].clone())
        .collect();
    assert_eq!(
        phases,
        ["read", "initialize", "write", "verify", "activate"]
    );

    let again = lab.run(&["update", "--yes", "--format", "json"]).json();
    schema::check(&again, "update.json");
    assert_eq!(card(&again, LX)["result"], "already_staged");
}

#[test]
fn a_dry_run_prints_the_steps_and_writes_nothing() {
    let lab = TestLab::new();
    let before = lab.flashes();
    let ran = lab.run(&["update", "--dry-run", "-d", "mlx5_0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .contains("dry run; 14.32.1010 is newer than 14.25.1020"),
        "{}",
        ran.stdout
    );
    for step in [
        "locking the update handle",
        "writing the image",
        "14.25.1020 stays bootable",
        "14.32.1010 boots next",
    ] {
        assert!(ran.stdout.contains(step), "{step}: {}", ran.stdout);
    }
    assert!(lab.flashes() == before);
    assert_eq!(lab.card(LX)["status"], "update_required");
}

#[test]
fn without_a_terminal_nothing_is_burned_unless_yes_was_said() {
    let lab = TestLab::new();
    let before = lab.flashes();
    let ran = lab.run(&["update"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("no terminal to ask on"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("\n\nadvice: look at the plan with --dry-run, then run again with --yes\n"),
        "{}",
        ran.stderr
    );
    assert!(lab.flashes() == before);
}

#[test]
fn one_named_card_is_burned_and_no_other() {
    let lab = TestLab::new();
    let ran = lab.run(&["update", "--yes", "-d", "enp3s0f1np1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("\nUpdating FW ...     \n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("\nDone\n"), "{}", ran.stdout);
    assert_eq!(lab.card(LX)["status"], "activation_pending");
    assert_eq!(lab.card("ConnectX4")["status"], "update_required");
}

#[test]
fn a_card_in_recovery_that_is_named_is_refused_with_guidance() {
    let lab = TestLab::new();
    let document = lab.query();
    let cards = document["cards"].as_array().unwrap();
    let recovery = cards.iter().find(|card| card["recovery"] == true).unwrap();
    let ran = lab.run(&[
        "update",
        "--yes",
        "-d",
        recovery["device"].as_str().unwrap(),
    ]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let device = recovery["device"].as_str().unwrap();
    let command = format!("`cxfw update -d {device} --image FILE`");
    assert!(ran.stderr.contains(&command), "{}", ran.stderr);
    assert!(ran.stderr.contains("--guid and --mac"), "{}", ran.stderr);
}

#[test]
fn an_update_without_source_says_what_to_give() {
    let ran = run(&["update", "--yes"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .contains("--image FILE, --image-dir DIR, --online or --index"),
        "{}",
        ran.stderr
    );
    let ran = run(&["update", "--yes", "--format", "json"]);
    schema::check(&ran.json(), "update.json");
    assert_eq!(ran.json()["errors"][0]["code"], "no_source");
}

#[test]
fn a_host_without_cards_has_its_own_exit_code_in_every_form() {
    let empty = tempfile::tempdir().unwrap();
    fs::create_dir_all(empty.path().join("bus/pci/devices")).unwrap();
    let sysfs = format!("--sysfs={}", empty.path().display());
    for format in ["text", "json", "xml"] {
        let ran = run(&[sysfs.as_str(), "query", "--format", format]);
        assert_eq!(ran.code, Some(5), "{ran:?}");
        assert!(ran.stderr.contains("no devices found"), "{}", ran.stderr);
        match format {
            "json" => schema::check(&ran.json(), "query.json"),
            "xml" => assert!(ran.stdout.contains("<Message id=\"20\">"), "{}", ran.stdout),
            _ => assert_eq!(ran.stdout, ""),
        }
    }
}

#[test]
fn a_lab_is_made_shown_and_never_overwritten_by_accident() {
    let lab = TestLab::new();
    let ran = lab.run(&["lab", "status"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("runs 14.25.1020"), "{}", ran.stdout);
    assert!(ran.stdout.contains("in flash recovery"), "{}", ran.stdout);
    let ran = lab.run(&["lab", "new"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("already holds a lab"), "{}", ran.stderr);
    assert_eq!(lab.run(&["update", "--yes", "-d", "mlx5_0"]).code, Some(0));
    assert_eq!(lab.run(&["lab", "new", "--replace"]).code, Some(0));
    assert_eq!(lab.card(LX)["firmware"]["stored"], "14.25.1020");
}

#[test]
fn a_reburn_that_already_waits_for_the_restart_is_no_failure() {
    let lab = TestLab::new();
    assert_eq!(lab.run(&["update", "--yes", "-d", "mlx5_0"]).code, Some(0));
    lab.reset();
    let reburn = ["update", "--yes", "--reinstall", "-d", "mlx5_0"];
    assert_eq!(lab.run(&reburn).code, Some(0));

    let ran = lab.run(&[&reburn[..], &["--exit-code", "--format", "json"]].concat());
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert_eq!(card(&ran.json(), LX)["result"], "already_staged");
}

#[test]
fn programs_are_told_of_a_command_line_that_makes_no_sense() {
    let lab = TestLab::new();
    for (line, schema) in [
        (
            &["--format", "json", "query", "--bogus"][..],
            "cxfw.query/1",
        ),
        (
            &["update", "--branch", "xx", "--format=json"],
            "cxfw.update/1",
        ),
        (
            &["query", "--format", "json", "--sysfs", "/nowhere"],
            "cxfw.query/1",
        ),
    ] {
        let ran = lab.run(line);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let document = ran.json();
        assert_eq!(document["schema"], schema, "{line:?}");
        assert_eq!(document["errors"][0]["code"], "usage");
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    let ran = run(&["query", "--bogus"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn a_description_that_does_not_fit_leaves_the_lab_that_is_there() {
    let lab = TestLab::new();
    let before = lab.flashes();
    let mut host = HostSpec::default_host().unwrap();
    let card = host.cards.iter_mut().find(|card| card.name == "cx4lx");
    card.unwrap().firmware.code_size = 14 << 20;
    let description = lab.beside("host.json");
    let text = serde_json::to_string(&host).unwrap();
    fs::write(&description, &text).unwrap();
    let option = format!("--host={}", description.display());
    let ran = lab.run(&["lab", "new", "--replace", &option]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("advice: make code_size"),
        "{}",
        ran.stderr
    );
    assert!(lab.flashes() == before);

    fs::write(&description, text.replacen("{", "{\"colour\": 1, ", 1)).unwrap();
    let ran = lab.run(&["lab", "new", "--replace", &option]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("unknown field"), "{}", ran.stderr);
    assert!(ran.stderr.contains("advice: compare it"), "{}", ran.stderr);
}

#[test]
fn a_file_in_the_place_of_a_lab_is_left_and_named_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("thesis.txt");
    fs::write(&file, "years of work").unwrap();
    let option = format!("--lab={}", file.display());
    for command in [
        &["query"][..],
        &["lab", "new"],
        &["lab", "new", "--replace"],
    ] {
        let ran = run(&[&[option.as_str()], command].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("advice: a lab is a folder"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "years of work");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_part_number_in_a_lab_file_never_moves_the_cursor() {
    let lab = TestLab::new();
    let path = lab.path().join("lab.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("MCX4121A-ACA_Ax", "MCX\\u001b[31m")).unwrap();
    let ran = lab.run(&["lab", "status"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("MCX\\u{1b}[31m"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\x1b'), "{:?}", ran.stdout);
}

#[test]
fn an_unknown_name_beside_all_is_an_error() {
    let lab = TestLab::new();
    let ran = lab.run(&["query", "-d", "all", "-d", "nosuch"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("nosuch"), "{}", ran.stderr);
    assert_eq!(
        lab.run(&["query", "-d", "all", "-d", "mlx5_0"]).code,
        Some(0)
    );
}
