//! Cards without firmware that boots.

use cxfw::identity::Psid;
use cxfw::lab::Lab;

use crate::cli_common::TestLab;
use crate::{CX5, card_at, small_host, with_recovery};

/// Erases the flash of the ConnectX-5.
fn blank(lab: &TestLab) {
    let opened = Lab::open(&lab.path()).unwrap();
    let chip = opened.find_chip("cx5-recovery").unwrap();
    let size = usize::try_from(chip.spec().flash_size).unwrap();
    chip.write_flash(0, &vec![0xff; size]).unwrap();
}

#[test]
fn a_card_in_recovery_whose_flash_still_says_who_it_is_takes_the_named_image() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let image = image.to_str().unwrap();
    let ran = lab.update_text(CX5, &["--image", image, "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kept =
        "the card has GUID 506b4b03002fe7a8 and MAC 506b4b2fe7a8, which its flash still holds";
    assert!(ran.stdout.contains(kept), "{}", ran.stdout);
    assert_eq!(lab.flash_operations(CX5), 0);

    let ran = lab.update_text(CX5, &["--image", image, "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains(kept), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("A cold boot is needed"),
        "{}",
        ran.stdout
    );
    assert_eq!(lab.restart(CX5), "16.35.4506");
    let after = lab.one(CX5);
    assert_eq!(after["base_guid"], "506b4b03002fe7a8");
    assert_eq!(after["base_mac"], "506b4b2fe7a8");
    assert_eq!(after["psid"], "MT_0000000010");
}

#[test]
fn a_blank_card_gets_the_addresses_of_its_label() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    blank(&lab);
    let image = image.to_str().unwrap();

    let ran = lab.update_text(CX5, &["--image", image, "--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(lab.flash_operations(CX5), 0);
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:81:00.0: the flash no longer says whole which card this is: its GUIDs and MACs (DEV_INFO, MFG_INFO) are lost or damaged, and it does not start without them (stopped at checking the image (last done: taking the flash); the card has no firmware to boot and stays in recovery)

    advice: give them with --guid and --mac (they are printed on the board's label), or put back a backup of this card with `cxfw restore -d 0000:81:00.0 BACKUP`
    ");

    let label = ["--guid", "506b4b03002fe7a8", "--mac", "506b4b2fe7a8"];
    let half = lab.update_text(CX5, &[&["--image", image], &label[..2]].concat());
    assert_eq!(half.code, Some(2), "{half:?}");
    let card = lab.update(
        CX5,
        &[&["--image", image, "--addresses", "4"], &label[..]].concat(),
        0,
    );
    assert_eq!(
        (&card["result"], &card["method"]),
        (&"burned".into(), &"direct".into())
    );
    assert_eq!(card["activation"], "cold_boot");
    assert_eq!(lab.restart(CX5), "16.35.4506");
    let after = lab.one(CX5);
    assert_eq!(after["base_guid"], "506b4b03002fe7a8");
    assert_eq!(after["base_mac"], "506b4b2fe7a8");
    assert_eq!(lab.update(CX5, &["--reinstall"], 0)["method"], "component");
    assert_eq!(lab.restart(CX5), "16.35.4506");
}

#[test]
fn a_held_capability_is_named_when_a_card_in_recovery_is_to_be_burned() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let image = image.to_str().unwrap();
    let fault = ["lab", "fault", "cx5-recovery", "hold", "capability"];
    assert_eq!(lab.run(&fault).code, Some(0));
    let ran = lab.update_text(CX5, &["--image", image, "--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("was held by ticket"), "{}", ran.stderr);
    let command = "`cxfw query -d 0000:81:00.0 --release-lock`";
    assert!(ran.stderr.contains(command), "{}", ran.stderr);
    let freed = lab.run(&["query", "-d", CX5, "--release-lock", "--yes"]);
    assert_eq!(freed.code, Some(0), "{freed:?}");
    assert_eq!(lab.update(CX5, &["--image", image], 0)["result"], "burned");
}

#[test]
fn a_card_in_recovery_that_was_burned_waits_for_its_cold_boot() {
    let lab = with_recovery();
    let image = lab.extracted("MT_0000000010");
    let image = image.to_str().unwrap();
    let named = ["--image", image];
    assert_eq!(lab.update(CX5, &named, 0)["result"], "burned");
    let card = lab.one(CX5);
    assert_eq!(
        (&card["status"], &card["recovery"]),
        (&"activation_pending".into(), &true.into())
    );
    let error = card["error"].to_string();
    assert!(error.contains("switch the machine off and on"), "{error}");
    let again = "after that too, `cxfw update -d 0000:81:00.0 --image FILE --reinstall`";
    assert!(error.contains(again), "{error}");
    let written = lab.flash_operations(CX5);
    let card = lab.update(CX5, &named, 0);
    assert_eq!(
        (&card["result"], &card["activation"]),
        (&"already_staged".into(), &"cold_boot".into())
    );
    assert_eq!(lab.flash_operations(CX5), written);
    let again = [&named[..], &["--reinstall"]].concat();
    assert_eq!(lab.update(CX5, &again, 0)["result"], "burned");
    assert_eq!(lab.restart(CX5), "16.35.4506");
}

#[test]
fn a_card_in_recovery_never_takes_one_of_several_boards() {
    let mut host = small_host();
    card_at(&mut host, CX5).recovery = true;
    let mut other = host.offers.iter().find(|offer| offer.model == "ConnectX-5");
    let mut other = other.take().unwrap().clone();
    other.psid = Psid::new("LNV0000000049").unwrap();
    host.offers.push(other);
    let lab = TestLab::of(&host);
    blank(&lab);
    let bundle = lab.bundle();
    let ran = lab.update_text(CX5, &["--image", bundle.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:81:00.0: there are images for 2 boards of this chip (LNV0000000049 and MT_0000000010), and none of them is chosen for you

    advice: take the board from the card's label, then `cxfw extract FILE --psid PSID -o OUT` and --image OUT
    ");
    let other_chip = lab.extracted("MT_2420110034");
    let ran = lab.update_text(CX5, &["--image", other_chip.to_str().unwrap(), "--yes"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(lab.flash_operations(CX5), 0);
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:81:00.0: the image is version 14.32.1010, but firmware of a ConnectX-5 starts with 16.

    advice: give the image made for this chip
    ");
}
