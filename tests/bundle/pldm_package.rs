//! PLDM packages.

use cxfw::bundle::{Bundle, Content, Fault, pldm};

use crate::{fixture, psid};

#[test]
fn a_pldm_package_without_the_board_has_no_firmware_for_it() {
    let content = Content::open(&fixture("multi.fwpkg")).unwrap();
    let package = pldm::Package::parse(content).unwrap();
    let fault = package.find(&psid("TST0000000009"), pldm::FW).unwrap_err();
    assert!(matches!(fault, Fault::PsidNotFound { .. }), "{fault}");
    let fault = package.find(&psid("TST0000000003"), pldm::FW).unwrap_err();
    assert!(matches!(fault, Fault::ComponentNotFound { .. }), "{fault}");
}

#[test]
fn what_is_no_adapter_firmware_is_marked_in_a_pldm_package() {
    let bundle = Bundle::open(&fixture("multi.fwpkg")).unwrap();
    let kinds: Vec<Option<&str>> = bundle
        .entries()
        .iter()
        .map(|e| e.other.as_deref())
        .collect();
    assert_eq!(kinds, [None, None, Some("BFB"), Some("BFB")]);
    assert!(
        bundle
            .entries()
            .iter()
            .all(|entry| entry.firmware().is_none())
    );
}
