//! Finding a card by any name a user may have for it (mft-compat 1.9).

use super::{Address, Card, mst};

/// Why a name names no card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing is called so.
    #[error("no card is called `{name}`; {}", list(known))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The cards there are, each with its names.
        known: Vec<String>,
    },
    /// More than one card is called so.
    #[error("`{name}` could be any of: {}; use a PCI address", cards.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The cards it could be, each with its names.
        cards: Vec<String>,
    },
}

fn list(known: &[String]) -> String {
    if known.is_empty() {
        "there is no NVIDIA/Mellanox network card here".to_owned()
    } else {
        format!("there are: {}", known.join(", "))
    }
}

/// The card called `name`: a PCI address (`0000:03:00.0`, `03:00.0` in domain 0), an RDMA device,
/// a network interface, or an MFT name (`/dev/mst/mt4117_pciconf0`, `mt4117_pciconf0.1`). Any
/// function of a card names the card.
///
/// # Errors
/// [`NameError`] when no card or more than one is called so; it lists those there are.
pub fn find<'a>(cards: &'a [Card], name: &str) -> Result<&'a Card, NameError> {
    let hits = if let Ok(address) = name.parse() {
        by_address(cards, address)
    } else {
        let by_mst = by_mst(cards, name);
        cards
            .iter()
            .enumerate()
            .filter(|(index, card)| by_mst == Some(*index) || has_interface(card, name))
            .map(|(_, card)| card)
            .collect()
    };
    match hits[..] {
        [card] => Ok(card),
        [] => Err(NameError::Unknown {
            name: name.to_owned(),
            known: cards.iter().map(describe).collect(),
        }),
        _ => Err(NameError::Ambiguous {
            name: name.to_owned(),
            cards: hits.into_iter().map(describe).collect(),
        }),
    }
}

fn by_address(cards: &[Card], address: Address) -> Vec<&Card> {
    cards
        .iter()
        .filter(|card| card.functions.iter().any(|f| f.address == address))
        .collect()
}

/// The index of the card with this MFT name.
fn by_mst(cards: &[Card], name: &str) -> Option<usize> {
    let (wanted, function) = mst::parse(name)?;
    mst::places(cards)
        .into_iter()
        .find(|place| {
            place.name == wanted && function.is_none_or(|number| place.functions.contains(&number))
        })
        .map(|place| place.card)
}

fn has_interface(card: &Card, name: &str) -> bool {
    card.functions.iter().any(|f| {
        f.net
            .iter()
            .chain(&f.rdma)
            .any(|interface| interface == name)
    })
}

/// `0000:03:00.0 (mt4117_pciconf0, mlx5_0, enp3s0f0)`.
fn describe(card: &Card) -> String {
    let address = card
        .functions
        .first()
        .map(|f| f.address.to_string())
        .unwrap_or_default();
    let mut names = vec![card.mst.as_str()];
    for function in &card.functions {
        names.extend(
            function
                .rdma
                .iter()
                .chain(&function.net)
                .map(String::as_str),
        );
    }
    format!("{address} ({})", names.join(", "))
}
