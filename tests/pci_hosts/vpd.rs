//! VPD from the sysfs file.

use cxfw::pci::vpd::{Checksum, VpdError};
use cxfw::pci::{self, Function, Vpd};

use crate::tree::{Host, Place, vpd};

fn function(describe: impl FnOnce(Place) -> Place) -> (Host, Function) {
    let host = Host::empty();
    describe(host.function("0000:03:00.0", 0x15b3, 0x1015));
    let card = pci::enumerate(&host.roots()).unwrap().remove(0);
    let function = card.functions[0].clone();
    (host, function)
}

#[test]
fn part_number_serial_and_description_come_from_the_file() {
    let mut bytes = vpd("ConnectX-4 Lx EN", "MCX4121A-ACAT  ", "MT1234X05678");
    // What follows the end tag is nobody's business.
    bytes.resize(0x8000, 0xff);
    let (_host, function) = function(|place| place.file("vpd", &bytes));
    let vpd = Vpd::read(&function).unwrap();
    assert_eq!(vpd.identifier, "ConnectX-4 Lx EN");
    assert_eq!(vpd.part_number().as_deref(), Some("MCX4121A-ACAT"));
    assert_eq!(vpd.serial().as_deref(), Some("MT1234X05678"));
    assert_eq!(vpd.keyword("V0").as_deref(), Some("PCIeGen3 x8"));
    assert_eq!(vpd.engineering_change(), None);
    assert_eq!(vpd.checksum, Checksum::Valid);
}

#[test]
fn a_file_that_grows_without_end_is_read_to_32_kib_and_no_further() {
    // Resources as large as they come, then more of them than there can be.
    let mut bytes = vec![0x82, 0xff, 0x7f];
    bytes.resize(0x2_0000, b'x');
    let (_host, function) = function(|place| place.file("vpd", &bytes));
    let error = Vpd::read(&function).unwrap_err().to_string();
    assert_eq!(
        error,
        "VPD at 0x3: the data of the resource expected, the end at 0x8000 found"
    );
}

#[test]
fn a_function_without_the_file_says_so() {
    let (_host, function) = function(|place| place);
    let error = Vpd::read(&function).unwrap_err();
    assert!(matches!(error, VpdError::Open { .. }));
    assert!(error.to_string().contains("0000:03:00.0/vpd"), "{error}");
}

#[test]
fn an_empty_or_erased_vpd_is_an_error_that_says_what_was_found() {
    for (bytes, text) in [
        (
            vec![],
            "VPD at 0x0: an identifier string expected, the end found",
        ),
        (
            vec![0xff; 64],
            "VPD at 0x0: a VPD resource tag expected, byte 0xff found",
        ),
        (
            vec![0x78],
            "VPD at 0x0: an identifier string expected, the end found",
        ),
    ] {
        let (_host, function) = function(|place| place.file("vpd", &bytes));
        assert_eq!(Vpd::read(&function).unwrap_err().to_string(), text);
    }
}
