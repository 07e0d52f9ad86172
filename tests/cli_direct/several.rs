//! Several cards in one run.

use cxfw::version::FwVersion;

use crate::cli_common::TestLab;
use crate::{CX3, CX3_40G, LX, card_at, small_host};

#[test]
fn several_cards_are_burned_at_once_and_every_line_says_whose_it_is() {
    let mut host = small_host();
    card_at(&mut host, CX3_40G).firmware.version = FwVersion::new(2, 36, 5150);
    let lab = TestLab::of(&host);
    let cards = ["-d", CX3, "-d", CX3_40G, "-d", LX];
    let ran = lab.run(&[&["update", "--no-backup", "--yes"], &cards[..]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    lab.assert_well_behaved();
    for (number, device) in [(1, CX3), (2, CX3_40G)] {
        for phase in ["Erasing flash", "Writing Boot image component"] {
            let line = format!("Device #{number} (0000:{device}): {phase} -   OK          \n");
            assert!(ran.stderr.contains(&line), "{line}: {}", ran.stderr);
        }
        assert_eq!(lab.one(device)["firmware"]["stored"], "2.42.5000");
    }
    assert!(
        ran.stdout.ends_with("Summary: 3 burned\n"),
        "{}",
        ran.stdout
    );
}
