//! What the driver knows where nothing else can be read.

use cxfw::pci::{self, DriverReport};
use cxfw::version::FwVersion;

use crate::tree::{Host, Place};

fn report(describe: impl FnOnce(Place) -> Place) -> Option<DriverReport> {
    let host = Host::empty();
    describe(host.function("0000:0f:00.0", 0x15b3, 0x673c));
    let cards = pci::enumerate(&host.roots()).unwrap();
    DriverReport::read(&cards[0].functions[0])
}

#[test]
fn an_ibm_branded_connectx_2_is_known_by_its_driver() {
    let report = report(|place| {
        place
            .directory("infiniband/mlx4_0")
            .attribute("infiniband/mlx4_0/fw_ver", "2.7.700")
            .attribute("infiniband/mlx4_0/board_id", "IBM0030000009")
            .attribute("infiniband/mlx4_0/hca_type", "MT26428")
    })
    .unwrap();
    assert_eq!(report.rdma, "mlx4_0");
    assert_eq!(report.firmware, Some(FwVersion::new(2, 7, 700)));
    let psid = report.psid.unwrap();
    assert_eq!(
        (psid.as_str(), psid.brand()),
        ("IBM0030000009", Some("IBM"))
    );
    assert_eq!(report.chip.as_deref(), Some("MT26428"));
}

#[test]
fn on_an_old_kernel_the_report_is_beside_the_function() {
    let report = report(|place| {
        place
            .directory("infiniband:mlx4_0")
            .attribute("infiniband:mlx4_0/fw_ver", "2.7.700")
            .attribute("infiniband:mlx4_0/board_id", "")
    })
    .unwrap();
    assert_eq!(report.firmware, Some(FwVersion::new(2, 7, 700)));
    assert_eq!(report.psid, None);
}

#[test]
fn without_a_driver_or_with_a_silent_one_there_is_no_report() {
    assert_eq!(report(|place| place), None);
    assert_eq!(report(|place| place.directory("infiniband/mlx4_0")), None);
}
