//! What a card's link runs at, and what holds it back.

use cxfw::pci::{self, Limit, Link};

use crate::tree::{Host, Place};

const INTEL: u16 = 0x8086;
const MELLANOX: u16 = 0x15b3;

/// Current speed and width, then the most there can be.
type Ends = (&'static str, &'static str, &'static str, &'static str);

fn with_link(place: Place, (speed, width, max_speed, max_width): Ends) -> Place {
    place
        .attribute("current_link_speed", speed)
        .attribute("current_link_width", width)
        .attribute("max_link_speed", max_speed)
        .attribute("max_link_width", max_width)
}

fn port(host: &Host, ends: Ends) -> Place {
    let port = host
        .function("0000:00:01.0", INTEL, 0x6f02)
        .attribute("class", "0x060400");
    with_link(port, ends)
}

/// The link of a card below a port.
fn link(port_ends: Ends, card_ends: Ends) -> Link {
    let host = Host::empty();
    let port = port(&host, port_ends);
    with_link(
        host.below(&port, "0000:03:00.0", MELLANOX, 0x1015),
        card_ends,
    );
    only_link(&host).unwrap()
}

fn only_link(host: &Host) -> Option<Link> {
    let cards = pci::enumerate(&host.roots()).unwrap();
    Link::read(&cards[0].functions[0])
}

const GEN3: &str = "8.0 GT/s PCIe";

#[test]
fn an_x8_card_in_an_x4_slot_is_limited_by_the_slot() {
    let link = link((GEN3, "4", GEN3, "4"), (GEN3, "4", GEN3, "8"));
    assert_eq!(
        link,
        Link {
            speed: Some("8.0 GT/s".to_owned()),
            width: Some(4),
            max_speed: Some("8.0 GT/s".to_owned()),
            max_width: Some(8),
            limited_by: Some(Limit::Slot),
        }
    );
}

#[test]
fn a_gen_4_card_in_a_gen_3_slot_is_limited_by_the_slot() {
    let card = (GEN3, "16", "16.0 GT/s PCIe", "16");
    let link = link((GEN3, "16", GEN3, "16"), card);
    assert_eq!(link.limited_by, Some(Limit::Slot));
}

#[test]
fn a_card_in_a_better_slot_than_it_needs_is_not_limited() {
    let link = link((GEN3, "8", "16.0 GT/s PCIe", "16"), (GEN3, "8", GEN3, "8"));
    assert_eq!(link.limited_by, None);
}

#[test]
fn a_link_that_came_up_below_both_ends_is_limited_by_training() {
    let gen1 = "2.5 GT/s PCIe";
    let slow = link((gen1, "8", GEN3, "16"), (gen1, "8", GEN3, "8"));
    assert_eq!(slow.limited_by, Some(Limit::Training));
    // In an x4 slot, and even that not with all lanes.
    let narrow = link((GEN3, "2", GEN3, "4"), (GEN3, "2", GEN3, "8"));
    assert_eq!(narrow.limited_by, Some(Limit::Training));
}

#[test]
fn spellings_of_older_kernels_are_understood() {
    let link = link(
        ("8 GT/s", "8", "8 GT/s", "8"),
        ("8 GT/s", "8", "8 GT/s", "8"),
    );
    assert_eq!(link.speed.as_deref(), Some("8.0 GT/s"));
    assert_eq!(link.limited_by, None);
}

#[test]
fn a_link_that_is_down_has_no_speed_and_no_width() {
    let card = ("Unknown", "0", GEN3, "8");
    let link = link(("Unknown", "0", GEN3, "8"), card);
    assert_eq!((link.speed, link.width), (None, None));
    assert_eq!(link.max_width, Some(8));
    assert_eq!(link.limited_by, None);
}

#[test]
fn in_a_virtual_machine_without_a_port_above_no_limit_is_claimed() {
    let host = Host::empty();
    let card = host.function("0000:03:00.0", MELLANOX, 0x1015);
    with_link(card, (GEN3, "4", GEN3, "8"));
    assert_eq!(only_link(&host).unwrap().limited_by, None);
}

#[test]
fn a_card_with_a_switch_inside_is_measured_at_its_outer_bridge() {
    let host = Host::empty();
    let gen4 = "16.0 GT/s PCIe";
    let slot = port(&host, (GEN3, "8", GEN3, "8"));
    let outer = host
        .below(&slot, "0000:03:00.0", MELLANOX, 0x1978)
        .attribute("class", "0x060400");
    let outer = with_link(outer, (GEN3, "8", gen4, "16"));
    let inner = host
        .below(&outer, "0000:04:00.0", MELLANOX, 0x1978)
        .attribute("class", "0x060400");
    let inner = with_link(inner, (gen4, "16", gen4, "16"));
    let function = host.below(&inner, "0000:05:00.0", MELLANOX, 0xa2d6);
    with_link(function, (gen4, "16", gen4, "16"));
    let link = only_link(&host).unwrap();
    assert_eq!(link.speed.as_deref(), Some("8.0 GT/s"));
    assert_eq!((link.width, link.max_width), (Some(8), Some(16)));
    assert_eq!(link.limited_by, Some(Limit::Slot));
}

#[test]
fn a_function_without_link_attributes_has_no_link() {
    let host = Host::empty();
    host.function("0000:03:00.0", MELLANOX, 0x1015);
    assert_eq!(only_link(&host), None);
}
