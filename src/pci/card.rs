//! From functions to cards: what is queried and burned once.
//!
//! Functions of one (domain, bus, device) are one card. A card may also show on several device
//! numbers (ARI) or on two buses (socket direct); such groups are merged when their VPD carries
//! the same usable serial number *and* the same part number, and they have the same device id and
//! kind. Never on the part number alone: two cards of one kind share it (device-access 1.4).
//! VPD is read for this only where two groups of one device id exist. Whoever burns a merged card
//! should still compare the base MAC of its parts, which this room cannot read.

use std::collections::BTreeMap;

use super::{Address, CardKind, Function, mst};

/// One card: all functions of one board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// Its functions, by address; never empty in an inventory. The first one is the one to open.
    pub functions: Vec<Function>,
    /// What it is.
    pub kind: CardKind,
    /// The name MFT would give it, without directory (`mt4117_pciconf0`).
    pub mst: String,
}

/// What makes two groups of functions the same board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BoardKey {
    /// VPD serial number.
    pub serial: String,
    /// VPD part number.
    pub part_number: String,
}

/// Groups functions to cards, in bus order. `key` reads the board's VPD; `None` when there is
/// none or it says nothing usable.
pub(super) fn group(
    mut functions: Vec<(Function, CardKind)>,
    key: impl Fn(&Function) -> Option<BoardKey>,
) -> Vec<Card> {
    functions.sort_by_key(|(function, _)| function.address);
    let mut cards = merge(slots(functions), key);
    for place in mst::places(&cards).into_iter().rev() {
        if let Some(card) = cards.get_mut(place.card) {
            card.mst = place.name;
        }
    }
    cards
}

/// One card for each (domain, bus, device).
fn slots(functions: Vec<(Function, CardKind)>) -> Vec<Card> {
    let mut slots: BTreeMap<Slot, Card> = BTreeMap::new();
    for (function, kind) in functions {
        let card = slots.entry(slot(function.address)).or_insert_with(|| Card {
            functions: Vec::new(),
            kind,
            mst: String::new(),
        });
        card.kind = card.kind.min(kind);
        card.functions.push(function);
    }
    slots.into_values().collect()
}

/// Everything of an address but the function number: domain, bus, device.
pub(super) type Slot = (u32, u8, u8);

/// The slot of an address.
pub(super) fn slot(address: Address) -> Slot {
    (address.domain, address.bus, address.device)
}

fn merge(slots: Vec<Card>, key: impl Fn(&Function) -> Option<BoardKey>) -> Vec<Card> {
    let mut alike: BTreeMap<Option<(u16, CardKind)>, usize> = BTreeMap::new();
    for card in &slots {
        *alike.entry(look(card)).or_default() += 1;
    }
    let mut cards: Vec<(Card, Option<BoardKey>)> = Vec::new();
    for card in slots {
        let has_twin = alike.get(&look(&card)).is_some_and(|&count| count > 1);
        let board = card.functions.first().filter(|_| has_twin).and_then(&key);
        let same = cards.iter_mut().find(|(other, other_board)| {
            board.is_some() && *other_board == board && look(other) == look(&card)
        });
        match same {
            Some((other, _)) => other.functions.extend(card.functions),
            None => cards.push((card, board)),
        }
    }
    cards.into_iter().map(|(card, _)| card).collect()
}

/// What two parts of one board have in common at first sight.
fn look(card: &Card) -> Option<(u16, CardKind)> {
    Some((card.functions.first()?.device, card.kind))
}
