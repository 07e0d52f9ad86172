//! Which way a card is burned: the one it has, the one that was asked for.

use cxfw::version::FwVersion;

use crate::cli_common::identity;
use crate::{CX3, CX5, CX6DX, LX, small};

#[test]
fn a_connectx_3_is_updated_by_writing_its_flash() {
    let lab = small();
    let before = lab.one(CX3);
    assert_eq!(before["status"], "update_required");
    let card = lab.update(CX3, &[], 0);
    assert_eq!(card["result"], "burned");
    assert_eq!(card["method"], "direct");
    assert_eq!(
        (&card["from"], &card["to"]),
        (&"2.36.5150".into(), &"2.42.5000".into())
    );
    assert_eq!(card["activation"], "reboot");
    let staged = lab.one(CX3);
    assert_eq!(staged["firmware"]["stored"], "2.42.5000");
    assert_eq!(staged["status"], "activation_pending");
    assert_eq!(lab.restart(CX3), "2.42.5000");
    let after = lab.one(CX3);
    assert_eq!(after["status"], "up_to_date");
    assert_eq!(identity(&after), identity(&before));
    assert_eq!(after["psid"], before["psid"]);
    assert_eq!(lab.update(CX3, &[], 0)["result"], "already_current");
}

#[test]
fn cards_with_firmware_control_are_burned_directly_on_request() {
    for device in [LX, CX5] {
        let lab = small();
        let before = lab.one(device);
        let card = lab.update(device, &["--method", "direct"], 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"burned".into(), &"direct".into())
        );
        assert_eq!(lab.restart(device), before["firmware"]["available"]);
        let after = lab.one(device);
        assert_eq!(identity(&after), identity(&before));
        // and through the firmware again, which finds a card in order
        let card = lab.update(device, &["--reinstall"], 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"burned".into(), &"component".into())
        );
        assert_eq!(lab.restart(device), before["firmware"]["available"]);
        assert_eq!(identity(&lab.one(device)), identity(&before));
    }
}

#[test]
fn a_way_that_the_card_does_not_have_is_refused_and_nothing_is_written() {
    let lab = small();
    let told = |device, args: &[&str]| {
        let ran = lab.update_text(device, &[args, &["--yes", "--no-progress"]].concat());
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert_eq!(lab.flash_operations(device), 0);
        ran.stderr
    };
    insta::assert_snapshot!(told(CX3, &["--method", "component"]), @r"
    error: 0000:01:00.0: the card's firmware takes no updates by itself

    advice: leave --method out; its flash is then written directly
    ");
    insta::assert_snapshot!(told(CX6DX, &["--method", "direct", "--reinstall"]), @r"
    error: 0000:41:00.0: the card runs secure firmware, which lets no tool at its flash

    advice: such a card takes images for its own board, through its firmware (--method component)
    ");
    let image = lab.image("cx6dx", "MT_0000000999", FwVersion::new(22, 40, 1000));
    let image = image.to_str().unwrap();
    insta::assert_snapshot!(told(CX6DX, &["--allow-psid-change", "--image", image]), @r"
    error: 0000:41:00.0: the card runs secure firmware, which lets no tool at its flash

    advice: such a card takes images for its own board, through its firmware (--method component)
    ");
}

#[test]
fn a_dry_run_shows_every_step_and_writes_nothing() {
    let lab = small();
    let text = lab.update_text(CX3, &["--dry-run"]).stdout;
    let (_, steps) = text.split_once("Found 1 device(s)").unwrap();
    insta::assert_snapshot!(steps, @r"
     requiring firmware update...

    Device #1 (0000:01:00.0): dry run; 2.42.5000 is newer than 2.36.5150
      1. make no backup of the old firmware (--no-backup)
      2. taking the flash: through the flash gateway; no firmware works from the flash
      3. keeping 2.36.5150 at 0x0 bootable
      4. erasing the free slot: 0x80000 to 0x8ffff (1 units of 64 KiB, 0 of 4 KiB)
      5. writing the image: 35548 bytes at 0x80010
      6. reading the image back: 35548 bytes
      7. writing the start pattern: 16 bytes at 0x80000
      8. setting the boot address: 0x80000
      9. retiring the old image: 4 zero bytes at 0x0
      10. reading back what is stored: 2.42.5000 expected
    Summary: 1 skipped
    ");
    for (device, args) in [(CX3, &[][..]), (LX, &["--method", "direct"])] {
        let card = lab.update(device, &[args, &["--dry-run"]].concat(), 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"skipped".into(), &"direct".into())
        );
        let steps = card["steps"].as_array().unwrap();
        let first = steps[1].as_str().unwrap();
        assert!(first.starts_with("taking the flash: "), "{first}");
        assert_eq!(lab.flash_operations(device), 0);
    }
}

/// Firmware that runs believes the slot free that the direct burn has filled, and would erase the
/// one image that boots.
#[test]
fn no_update_goes_through_firmware_that_does_not_know_its_flash() {
    for device in [LX, CX5] {
        let lab = small();
        let before = lab.one(device);
        let direct = lab.update(device, &["--method", "direct", "--reinstall"], 0);
        assert_eq!(direct["result"], "burned", "{direct}");
        assert_eq!(direct["method"], "direct");
        let operations = lab.flash_operations(device);
        let refused = lab.update(device, &["--method", "component", "--reinstall"], 4);
        assert_eq!(refused["result"], "refused", "{refused}");
        assert_eq!(refused["code"], "restart_pending", "{refused}");
        assert!(
            refused["advice"]
                .as_str()
                .unwrap()
                .starts_with("restart the machine")
        );
        assert_eq!(lab.flash_operations(device), operations);
        lab.restart(device);
        let again = lab.update(device, &["--method", "component", "--reinstall"], 0);
        assert_eq!(again["result"], "burned", "{again}");
        lab.restart(device);
        let after = lab.one(device);
        for fact in ["base_mac", "base_guid", "psid", "serial"] {
            assert_eq!(after[fact], before[fact], "{fact} of {device}");
        }
    }
}
