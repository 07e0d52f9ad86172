//! The names a user may have for a card.

use cxfw::pci::{self, Card, NameError, find};

use crate::tree::{Host, vpd};

const MELLANOX: u16 = 0x15b3;

fn host() -> Host {
    let host = Host::empty();
    host.function("0000:03:00.0", MELLANOX, 0x1015)
        .directory("net/enp3s0f0np0")
        .directory("infiniband/mlx5_0");
    host.function("0000:03:00.1", MELLANOX, 0x1015)
        .directory("net/enp3s0f1np1")
        .directory("infiniband/mlx5_1");
    host.function("0000:81:00.0", MELLANOX, 0x1015)
        .directory("infiniband/mlx5_2");
    host.function("10002:01:00.0", MELLANOX, 0x1003);
    host
}

fn found(cards: &[Card], name: &str) -> String {
    find(cards, name).unwrap().functions[0].address.to_string()
}

#[test]
fn any_name_of_any_function_names_the_card() {
    let cards = pci::enumerate(&host().roots()).unwrap();
    for name in [
        "0000:03:00.0",
        "0000:03:00.1",
        "03:00.0",
        "3:0.1",
        "mlx5_0",
        "mlx5_1",
        "enp3s0f0np0",
        "enp3s0f1np1",
        "/dev/mst/mt4117_pciconf0",
        "mt4117_pciconf0",
        "mt4117_pciconf0.1",
        "/dev/mst/mt4117_pciconf0.1",
    ] {
        assert_eq!(found(&cards, name), "0000:03:00.0", "{name}");
    }
    assert_eq!(found(&cards, "mt4117_pciconf1"), "0000:81:00.0");
    assert_eq!(found(&cards, "10002:01:00.0"), "10002:01:00.0");
    assert_eq!(found(&cards, "/dev/mst/mt4099_pci_cr0"), "10002:01:00.0");
}

#[test]
fn a_name_that_nothing_has_is_answered_with_the_names_there_are() {
    let cards = pci::enumerate(&host().roots()).unwrap();
    for name in [
        "01:00.0",
        "mlx5_9",
        "mt4117_pciconf2",
        "mt4117_pciconf1.1",
        "mlx5",
        "",
    ] {
        let error = find(&cards, name).unwrap_err();
        assert!(matches!(error, NameError::Unknown { .. }), "{name}");
    }
    assert_eq!(
        find(&cards, "eth9").unwrap_err().to_string(),
        "no card is called `eth9`; there are: \
         0000:03:00.0 (mt4117_pciconf0, mlx5_0, enp3s0f0np0, mlx5_1, enp3s0f1np1), \
         0000:81:00.0 (mt4117_pciconf1, mlx5_2), 10002:01:00.0 (mt4099_pciconf0)"
    );
    assert_eq!(
        find(&[], "eth9").unwrap_err().to_string(),
        "no card is called `eth9`; there is no NVIDIA/Mellanox network card here"
    );
}

#[test]
fn a_name_that_two_cards_have_is_not_guessed_at() {
    let host = host();
    // An interface renamed to what is another card's RDMA name.
    host.function("0000:c1:00.0", MELLANOX, 0x1017)
        .directory("net/mlx5_2");
    let cards = pci::enumerate(&host.roots()).unwrap();
    assert_eq!(
        find(&cards, "mlx5_2").unwrap_err().to_string(),
        "`mlx5_2` could be any of: 0000:81:00.0 (mt4117_pciconf1, mlx5_2), \
         0000:c1:00.0 (mt4119_pciconf0, mlx5_2); use a PCI address"
    );
}

#[test]
fn both_halves_of_a_socket_direct_card_name_it() {
    let host = Host::empty();
    let board = vpd("ConnectX-6 VPI", "MCX654106A-HCAT", "MT2000X00001");
    for address in ["0000:18:00.0", "0000:5f:00.0"] {
        host.function(address, MELLANOX, 0x101b).file("vpd", &board);
    }
    host.function("0000:81:00.0", MELLANOX, 0x101b);
    let cards = pci::enumerate(&host.roots()).unwrap();
    assert_eq!(found(&cards, "mt4123_pciconf0"), "0000:18:00.0");
    assert_eq!(found(&cards, "mt4123_pciconf1"), "0000:18:00.0");
    assert_eq!(found(&cards, "5f:00.0"), "0000:18:00.0");
    assert_eq!(cards[1].mst, "mt4123_pciconf2");
}
