//! MFA2 packages, whose descriptors say less than their images.

use cxfw::bundle::Bundle;
use cxfw::version::FwVersion;

use crate::made::Mfa2;
use crate::{CX4LX, Files, fixture, image, psid, versions};

#[test]
fn a_board_is_found_by_its_whole_psid_and_never_by_a_part_of_it() {
    let bundle = Bundle::open(&fixture("multi.mfa2")).unwrap();
    let found = bundle.find(&psid("TST0000000002X")).unwrap();
    assert_eq!(found.len(), 1);
    let error = bundle.find(&psid("TST0000000002")).unwrap_err();
    assert_eq!(error.class(), "psid_not_found");
    assert!(error.to_string().contains("TST0000000002X"), "{error}");
}

#[test]
fn hints_of_an_mfa2_give_way_to_what_the_images_say() {
    let files = Files::new();
    // The older generators exchanged minor and sub-minor and cut both to eight bits.
    let package = Mfa2 {
        board: "MT_2420110034",
        stored: [14, 0xf2, 0, 32],
        image: cxfw::image::component(&image(CX4LX, "MT_2420110034", "14.32.1010")).unwrap(),
    };
    let mut bundle = Bundle::open(&files.put("fw.mfa2", &package.bytes())).unwrap();
    assert_eq!(bundle.entries()[0].firmware(), None);
    bundle.deep_versions();
    assert!(bundle.problems().is_empty(), "{:?}", bundle.problems());
    let entry = &bundle.entries()[0];
    assert_eq!(entry.firmware(), Some(FwVersion::new(14, 32, 1010)));
    let shown = [
        ("FW", "14.32.1010"),
        ("PXE", "3.6.0502"),
        ("UEFI", "14.25.0017"),
    ];
    assert_eq!(versions(entry), shown);
    assert_eq!(entry.part_number.as_deref(), Some("MCX4121A-ACA_Ax"));
}

#[test]
fn an_image_for_another_board_than_it_is_listed_under_is_not_trusted() {
    let files = Files::new();
    let package = Mfa2 {
        board: "MT_2420110034",
        stored: [14, 32, 3, 0xf2],
        image: cxfw::image::component(&image(CX4LX, "MT_2420110004", "14.32.1010")).unwrap(),
    };
    let bundle = Bundle::open(&files.put("fw.mfa2", &package.bytes())).unwrap();
    let error = bundle.image_info(0).unwrap_err();
    assert_eq!(error.class(), "wrong_board", "{error}");
}
