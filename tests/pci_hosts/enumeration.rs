//! Which cards a host has.

use std::fs;
use std::os::unix::fs::symlink;

use cxfw::pci::{self, Card, CardKind, FunctionError};

use crate::tree::{Host, vpd};

const INTEL: u16 = 0x8086;
const MELLANOX: u16 = 0x15b3;

fn cards(host: &Host) -> Vec<Card> {
    pci::enumerate(&host.roots()).unwrap()
}

/// `0000:03:00.0+0000:03:00.1`, one text a card.
fn addresses(cards: &[Card]) -> Vec<String> {
    cards
        .iter()
        .map(|card| {
            let functions: Vec<String> = card
                .functions
                .iter()
                .map(|function| function.address.to_string())
                .collect();
            functions.join("+")
        })
        .collect()
}

#[test]
fn a_host_with_two_functions_of_one_connectx_4_lx_and_an_intel_x550_lists_one_card() {
    let host = Host::empty();
    host.function("0000:03:00.1", MELLANOX, 0x1015)
        .directory("net/enp3s0f1np1")
        .directory("infiniband/mlx5_1");
    host.function("0000:03:00.0", MELLANOX, 0x1015)
        .attribute("class", "0x020000")
        .attribute("revision", "0x02")
        .attribute("numa_node", "1")
        .link("driver", "../../../bus/pci/drivers/mlx5_core")
        .directory("net/enp3s0f0np0")
        .directory("infiniband/mlx5_0");
    host.function("0000:04:00.0", INTEL, 0x1563);

    let cards = cards(&host);
    assert_eq!(addresses(&cards), ["0000:03:00.0+0000:03:00.1"]);
    assert_eq!(cards[0].kind, CardKind::Functional);
    assert_eq!(cards[0].mst, "mt4117_pciconf0");
    let first = &cards[0].functions[0];
    assert_eq!((first.vendor, first.device), (0x15b3, 0x1015));
    let subsystem = (first.subsystem_vendor, first.subsystem_device);
    assert_eq!(subsystem, (0x15b3, 0x0003));
    assert_eq!(first.class, 0x02_0000);
    assert_eq!(first.revision, Some(2));
    assert_eq!(first.numa_node, Some(1));
    assert_eq!(first.driver.as_deref(), Some("mlx5_core"));
    assert_eq!(first.net, ["enp3s0f0np0"]);
    assert_eq!(first.rdma, ["mlx5_0"]);
}

#[test]
fn nothing_but_the_vendor_is_read_of_another_vendors_function() {
    let host = Host::empty();
    // Were any of these read, the function would be a problem.
    host.function("0000:04:00.0", INTEL, 0x1563)
        .without("device")
        .without("class");
    let inventory = pci::inventory(&host.roots()).unwrap();
    assert!(inventory.cards.is_empty());
    assert!(inventory.problems.is_empty());
}

#[test]
fn a_pf_whose_driver_is_gone_keeps_its_numa_node_and_has_no_names() {
    let host = Host::empty();
    host.function("0000:d3:00.0", MELLANOX, 0x1017)
        .attribute("numa_node", "1");
    let cards = cards(&host);
    let function = &cards[0].functions[0];
    assert_eq!(function.numa_node, Some(1));
    assert_eq!(function.driver, None);
    assert!(function.net.is_empty() && function.rdma.is_empty());
}

#[test]
fn eight_cards_with_eight_virtual_functions_each_are_eight_cards() {
    let host = Host::empty();
    for bus in 0..8 {
        host.function(&format!("0000:{bus:02x}:00.0"), MELLANOX, 0x101b);
        for vf in 1..8 {
            host.function(&format!("0000:{bus:02x}:00.{vf}"), MELLANOX, 0x101c)
                .link("physfn", "../whatever");
        }
    }
    assert_eq!(cards(&host).len(), 8);
}

#[test]
fn a_virtual_function_is_left_out_by_its_link_or_by_its_id() {
    let host = Host::empty();
    host.function("0000:03:00.0", MELLANOX, 0x101d);
    // Bound to its physical function, with an id nobody knows.
    host.function("0000:03:00.2", MELLANOX, 0x1f00)
        .link("physfn", "../0000:03:00.0");
    // Handed through to a virtual machine, where no link tells.
    host.function("0000:04:00.0", MELLANOX, 0x101e);
    assert_eq!(addresses(&cards(&host)), ["0000:03:00.0"]);
}

#[test]
fn bridges_and_soc_functions_of_a_bluefield_are_not_listed() {
    let host = Host::empty();
    let upstream = host
        .function("0000:02:00.0", MELLANOX, 0x1978)
        .attribute("class", "0x060400");
    host.below(&upstream, "0000:03:00.0", MELLANOX, 0xa2d6);
    host.below(&upstream, "0000:03:00.1", MELLANOX, 0xa2d6);
    host.below(&upstream, "0000:03:00.2", MELLANOX, 0xc2d3)
        .attribute("class", "0x080100");
    host.function("0000:05:00.0", MELLANOX, 0x1979);
    assert_eq!(addresses(&cards(&host)), ["0000:03:00.0+0000:03:00.1"]);
}

#[test]
fn a_chip_in_flash_recovery_is_a_card_under_its_recovery_id() {
    let host = Host::empty();
    host.function("0000:05:00.0", MELLANOX, 0x020d);
    let cards = cards(&host);
    assert_eq!(cards[0].kind, CardKind::Recovery);
    assert_eq!(cards[0].mst, "mt525_pciconf0");
}

#[test]
fn an_infinihost_in_recovery_is_known_by_its_class() {
    let host = Host::empty();
    host.function("0000:05:00.0", MELLANOX, 0x6279)
        .attribute("class", "0x058000");
    assert_eq!(cards(&host)[0].kind, CardKind::Recovery);
}

#[test]
fn a_chip_of_the_future_is_listed_as_an_unknown_network_device() {
    let host = Host::empty();
    host.function("0000:05:00.0", MELLANOX, 0x1033);
    let cards = cards(&host);
    assert_eq!(cards[0].kind, CardKind::Unknown);
    let name = pci::names::of_function(&cards[0].functions[0]);
    assert_eq!(name, "unknown NVIDIA network device");
}

#[test]
fn cards_come_in_bus_order_and_are_counted_by_id() {
    let host = Host::empty();
    host.function("10002:01:00.0", MELLANOX, 0x1015);
    host.function("0000:81:00.0", MELLANOX, 0x1015);
    host.function("0000:03:00.0", MELLANOX, 0x1015);
    host.function("0000:0a:00.0", MELLANOX, 0x1003);
    let cards = cards(&host);
    assert_eq!(
        addresses(&cards),
        [
            "0000:03:00.0",
            "0000:0a:00.0",
            "0000:81:00.0",
            "10002:01:00.0"
        ]
    );
    let names: Vec<&str> = cards.iter().map(|card| card.mst.as_str()).collect();
    assert_eq!(
        names,
        [
            "mt4117_pciconf0",
            "mt4099_pciconf0",
            "mt4117_pciconf1",
            "mt4117_pciconf2"
        ]
    );
}

#[test]
fn a_socket_direct_card_on_two_buses_is_one_card_by_serial_and_part_number() {
    let host = Host::empty();
    let board = vpd("ConnectX-6 VPI", "MCX654106A-HCAT", "MT2000X00001");
    host.function("0000:18:00.0", MELLANOX, 0x101b)
        .file("vpd", &board);
    host.function("0000:5f:00.0", MELLANOX, 0x101b)
        .file("vpd", &board);
    let other = vpd("ConnectX-6 VPI", "MCX654106A-HCAT", "MT2000X00002");
    host.function("0000:81:00.0", MELLANOX, 0x101b)
        .file("vpd", &other);
    assert_eq!(
        addresses(&cards(&host)),
        ["0000:18:00.0+0000:5f:00.0", "0000:81:00.0"]
    );
}

#[test]
fn functions_that_ari_put_on_another_device_number_belong_to_the_card() {
    let host = Host::empty();
    let board = vpd("ConnectX-7", "MCX755106AS-HEAT", "MT2300X00001");
    for address in ["0000:18:00.0", "0000:18:00.1", "0000:18:01.0"] {
        host.function(address, MELLANOX, 0x1021).file("vpd", &board);
    }
    assert_eq!(
        addresses(&cards(&host)),
        ["0000:18:00.0+0000:18:00.1+0000:18:01.0"]
    );
}

#[test]
fn two_cards_with_placeholder_serial_numbers_stay_two() {
    for serial in [
        "",
        "N/A",
        "0000000000",
        "XXXXXXXX",
        "FFFF-FFFF",
        "unknown",
        "MT12XXXXXXXX",
        "MT12********",
    ] {
        let host = Host::empty();
        let board = vpd("ConnectX-4 Lx", "MCX4121A-ACAT", serial);
        host.function("0000:18:00.0", MELLANOX, 0x1015)
            .file("vpd", &board);
        host.function("0000:5f:00.0", MELLANOX, 0x1015)
            .file("vpd", &board);
        assert_eq!(cards(&host).len(), 2, "{serial}");
    }
}

#[test]
fn one_serial_number_on_two_kinds_of_chip_does_not_merge_them() {
    let host = Host::empty();
    let board = vpd("Adapter", "MCX4121A-ACAT", "MT2000X00001");
    host.function("0000:18:00.0", MELLANOX, 0x1015)
        .file("vpd", &board);
    host.function("0000:5f:00.0", MELLANOX, 0x1013)
        .file("vpd", &board);
    assert_eq!(cards(&host).len(), 2);
}

#[test]
fn one_unreadable_function_is_a_problem_and_the_other_cards_are_listed() {
    let host = Host::empty();
    host.function("0000:03:00.0", MELLANOX, 0x1015)
        .without("class");
    host.function("0000:04:00.0", MELLANOX, 0x1015)
        .attribute("subsystem_device", "garbage");
    host.function("0000:05:00.0", MELLANOX, 0x1015);
    fs::create_dir(host.roots().pci_devices().join("gone")).unwrap();
    let odd = host.function("0000:06:00.0", MELLANOX, 0x1015);
    symlink(odd.path(), host.roots().pci_devices().join("odd")).unwrap();

    let inventory = pci::inventory(&host.roots()).unwrap();
    assert_eq!(
        addresses(&inventory.cards),
        ["0000:05:00.0", "0000:06:00.0"]
    );
    let problems: Vec<&FunctionError> = inventory.problems.iter().collect();
    assert!(matches!(
        problems[..],
        [
            FunctionError::Unreadable { .. },
            FunctionError::NotANumber { .. },
            FunctionError::Unreadable { .. },
            FunctionError::Misnamed { .. },
        ]
    ));
    assert!(problems[1].to_string().ends_with(
        "0000:04:00.0/subsystem_device: expected a hexadecimal number up to 0xffff, found `garbage`"
    ));
}

#[test]
fn an_old_kernels_net_entries_name_the_interfaces() {
    let host = Host::empty();
    host.function("0000:03:00.0", MELLANOX, 0x673c)
        .without("revision")
        .file(
            "config",
            &[0xb3, 0x15, 0x3c, 0x67, 0, 0, 0, 0, 0xb0, 0, 0, 0x0c],
        )
        .directory("net:eth2")
        .directory("infiniband:mlx4_0");
    let cards = cards(&host);
    let function = &cards[0].functions[0];
    assert_eq!(function.net, ["eth2"]);
    assert_eq!(function.rdma, ["mlx4_0"]);
    assert_eq!(function.revision, Some(0xb0));
}

#[test]
fn a_host_without_cards_is_an_empty_list() {
    assert!(cards(&Host::empty()).is_empty());
}

#[test]
fn a_root_that_is_no_sysfs_is_an_error_that_names_the_directory() {
    let folder = tempfile::tempdir().unwrap();
    let roots = cxfw::sys::Roots {
        sysfs: folder.path().join("nowhere"),
        ..Default::default()
    };
    let error = pci::enumerate(&roots).unwrap_err().to_string();
    assert!(error.contains("nowhere/bus/pci/devices"), "{error}");
    assert!(error.contains("is sysfs mounted there?"), "{error}");
}
