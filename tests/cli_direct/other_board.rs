//! Cards that become another board.

use cxfw::version::FwVersion;
use serde_json::Value;

use crate::cli_common::identity;
use crate::{CX3, CX5, LX, small};

#[test]
fn a_card_becomes_another_board_and_stays_itself() {
    let boards = [
        (CX3, "cx3-10g", "MT_1060110018", FwVersion::new(2, 42, 5000)),
        (LX, "cx4lx", "MT_2420110099", FwVersion::new(14, 32, 1010)),
        (
            CX5,
            "cx5-recovery",
            "MT_0000000023",
            FwVersion::new(16, 35, 4506),
        ),
    ];
    for (device, name, psid, version) in boards {
        let lab = small();
        let before = lab.one(device);
        let image = lab.image(name, psid, version);
        let image = image.to_str().unwrap();
        let refused = lab.update_text(device, &["--image", image, "--yes"]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        assert_eq!(lab.flash_operations(device), 0);

        let change = ["--image", image, "--allow-psid-change"];
        let asked = lab.update_text(device, &change);
        assert_eq!(asked.code, Some(2), "{asked:?}");
        let old = before["psid"].as_str().unwrap();
        let said = format!("the PSID changes from {old} to {psid}, as asked; port types");
        assert!(asked.stdout.contains(&said), "{}", asked.stdout);

        let card = lab.update(device, &change, 0);
        assert_eq!(
            (&card["result"], &card["method"]),
            (&"burned".into(), &"direct".into())
        );
        assert_eq!(lab.restart(device), version.to_string());
        let after = lab.one(device);
        assert_eq!(after["psid"], psid);
        // the simulated driver says the same
        assert_eq!(after["error"], Value::Null, "{device}");
        assert_eq!(identity(&after), identity(&before), "{device}");
    }
}
