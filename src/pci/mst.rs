//! Names as MFT gives them: `mt<device id in decimal>_pciconf<index>[.<function>]`
//! (device-access 1.6).
//!
//! The index counts the (domain, bus, device) places of one device id in bus order, so that the
//! second half of a socket-direct card has a number of its own, as it has for `mst`.

use std::collections::BTreeMap;

use super::card::{Card, Slot, slot};

/// A place on the bus, as `mst` counts them.
pub(super) struct Place {
    /// Name of its first function (`mt4117_pciconf0`).
    pub name: String,
    /// Index of its card in the list.
    pub card: usize,
    /// Numbers of its functions.
    pub functions: Vec<u8>,
}

/// The places of all cards, in bus order.
pub(super) fn places(cards: &[Card]) -> Vec<Place> {
    let mut places: BTreeMap<Slot, (u16, Place)> = BTreeMap::new();
    for (index, card) in cards.iter().enumerate() {
        for function in &card.functions {
            let (_, place) = places.entry(slot(function.address)).or_insert_with(|| {
                let place = Place {
                    name: String::new(),
                    card: index,
                    functions: Vec::new(),
                };
                (function.device, place)
            });
            place.functions.push(function.address.function);
        }
    }
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    places
        .into_values()
        .map(|(device, place)| {
            let count = counts.entry(device).or_default();
            let name = format!("mt{device}_pciconf{count}");
            *count += 1;
            Place { name, ..place }
        })
        .collect()
}

/// Takes `[/dev/mst/]mt4117_pciconf0[.1]` apart into `mt4117_pciconf0` and the function number.
/// The memory-access twin of a ConnectX-3 (`mt4099_pci_cr0`) names the same card.
pub(super) fn parse(name: &str) -> Option<(String, Option<u8>)> {
    let name = name.strip_prefix("/dev/mst/").unwrap_or(name);
    let (device, rest) = name.strip_prefix("mt")?.split_once('_')?;
    let rest = rest
        .strip_prefix("pciconf")
        .or_else(|| rest.strip_prefix("pci_cr"))?;
    let (index, function) = match rest.split_once('.') {
        Some((index, function)) => (index, Some(decimal(function)?)),
        None => (rest, None),
    };
    let name = format!(
        "mt{}_pciconf{}",
        decimal::<u16>(device)?,
        decimal::<u32>(index)?
    );
    Some((name, function))
}

fn decimal<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_with_and_without_directory_and_function() {
        let plain = Some(("mt4117_pciconf0".to_owned(), None));
        assert_eq!(parse("mt4117_pciconf0"), plain);
        assert_eq!(parse("/dev/mst/mt4117_pciconf0"), plain);
        let second = Some(("mt4117_pciconf12".to_owned(), Some(1)));
        assert_eq!(parse("/dev/mst/mt4117_pciconf12.1"), second);
        let memory = Some(("mt4099_pciconf0".to_owned(), None));
        assert_eq!(parse("mt4099_pci_cr0"), memory);
    }

    #[test]
    fn other_names_are_not_taken_for_one() {
        for name in [
            "",
            "mt",
            "mt_pciconf0",
            "mt4117_pciconf",
            "mt4117_pciconf0.",
            "mt4117_pciconf+1",
            "mt99999_pciconf0",
            "mtu_0",
            "/dev/mst/CA_MT4115_lid-1",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
