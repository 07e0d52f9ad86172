//! Burns that cannot begin. Those that end in the middle are with the faults.

use crate::cli_common::TestLab;
use crate::{CX3, card_at, small, small_host};

#[test]
fn flash_that_cannot_be_written_is_found_out_before_anything_is() {
    let lab = small();
    assert_eq!(
        lab.run(&["lab", "fault", "cx3-10g", "write-protect"]).code,
        Some(0)
    );
    let ran = lab.update_text(CX3, &["--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:01:00.0: the flash is write protected: block protection of the upper end is on (status register 1 is 0x9c; the status register is locked too) (stopped at checking the image (last done: taking the flash); the card still boots 2.36.5150)

    advice: remove the write protection with the tool that set it, then run the update again
    ");
    assert_eq!(lab.flash_operations(CX3), 0);

    let mut host = small_host();
    card_at(&mut host, CX3).flash.jedec = Some(0xabcd);
    let lab = TestLab::of(&host);
    let ran = lab.update_text(CX3, &["--yes", "--no-progress"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    insta::assert_snapshot!(ran.stderr, @r"
    error: 0000:01:00.0: the flash part with JEDEC id 0xabcd15 is of no known family, so it is not written (stopped at taking the flash (last done: reading the card); the card still boots 2.36.5150)

    advice: a newer cxfw may know the part; please report its id
    ");
    assert_eq!(lab.flash_operations(CX3), 0);
}
