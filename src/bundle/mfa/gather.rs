//! All images of a compressed DATA section in as few passes over it as memory allows.
//!
//! Images are joined of pieces that may lie anywhere, overlap and be shared: the firmware of each
//! board in a row, one expansion ROM for all of them at the end. A pass copies the pieces out as
//! they go by. What is waiting for other pieces takes up [`ROOM`], and no piece more than half of
//! what is left of it, so that small pieces always find a place; a piece that completes an image
//! or belongs to the one at the front needs none. So archives as they are made take one pass or
//! two, and every pass completes at least one image.

use std::collections::{BTreeMap, BTreeSet};

use super::data::{self, SECTION};
use super::{Board, Piece};
use crate::bundle::error::Fault;
use crate::bundle::limits;
use crate::bundle::meter::Meter;
use crate::bundle::xz::{Inflater, PIECE};

/// Bytes of pieces that wait for others.
const ROOM: usize = 64 << 20;

/// Offset and size of a piece in the plain section.
type Key = (u64, u32);

/// An image that is wanted: index of its entry, its pieces in order, the board it is for.
pub type Wanted<'a> = (usize, Vec<&'a Piece>, &'a Board);

/// Images made of the same pieces, which boards may share.
struct Image {
    keys: Vec<Key>,
    indices: Vec<usize>,
}

/// What is known between and during passes.
struct Gatherer {
    images: Vec<Image>,
    /// For every piece, the images that still need it.
    users: BTreeMap<Key, BTreeSet<usize>>,
    /// Pieces that are read and still needed.
    held: BTreeMap<Key, Vec<u8>>,
    /// Pieces that are going by.
    active: BTreeMap<Key, Vec<u8>>,
    /// Bytes of both, those to come of active ones included.
    used: usize,
    /// The image whose pieces need no room.
    front: Option<usize>,
}

/// Hands every image of the section in `stored` to `visit` with its index, each when its last
/// piece has gone by, and checks the section to its end. An image outside the section is no reason
/// not to hand out the others.
///
/// # Errors
/// [`Fault::LimitExceeded`] for an image above [`limits::IMAGE`] or more than [`limits::PLAIN`] to
/// inflate, [`Fault::DataOutOfRange`], [`Fault::Decompression`].
pub fn each(
    stored: &[u8],
    meter: &Meter,
    mut wanted: Vec<Wanted<'_>>,
    visit: &mut impl FnMut(usize, &[u8]),
) -> Result<(), Fault> {
    let plain_size = data::plain_size(stored)?;
    let mut outside = None;
    wanted.retain(|(_, pieces, board)| {
        let piece = pieces.iter().find(|piece| piece.end() > plain_size);
        let fault = piece.map(|piece| data::out_of_range(piece, &board.label(), plain_size));
        let inside = fault.is_none();
        outside = outside.take().or(fault);
        inside
    });
    let mut gatherer = Gatherer::new(wanted)?;
    let open = || Ok(Inflater::new(SECTION, stored)?.metered(meter));
    let mut inflater = open()?;
    gatherer.pass(&mut inflater, visit)?;
    inflater.finish(plain_size)?;
    let mut inflated = plain_size;
    while !gatherer.users.is_empty() {
        let mut inflater = open()?;
        gatherer.pass(&mut inflater, visit)?;
        inflated += inflater.produced();
        limits::PLAIN.check(inflated)?;
    }
    outside.map_or(Ok(()), Err)
}

impl Gatherer {
    fn new(wanted: Vec<Wanted<'_>>) -> Result<Self, Fault> {
        let mut numbers: BTreeMap<Vec<Key>, usize> = BTreeMap::new();
        let mut images: Vec<Image> = Vec::new();
        let mut users: BTreeMap<Key, BTreeSet<usize>> = BTreeMap::new();
        for (index, pieces, _) in wanted {
            let keys: Vec<Key> = pieces
                .iter()
                .map(|piece| (piece.offset, piece.size))
                .collect();
            limits::IMAGE.check(keys.iter().map(|&(_, size)| u64::from(size)).sum())?;
            let number = *numbers.entry(keys.clone()).or_insert_with(|| {
                for &key in &keys {
                    users.entry(key).or_default().insert(images.len());
                }
                images.push(Image {
                    keys,
                    indices: Vec::new(),
                });
                images.len() - 1
            });
            if let Some(image) = images.get_mut(number) {
                image.indices.push(index);
            }
        }
        Ok(Self {
            images,
            users,
            held: BTreeMap::new(),
            active: BTreeMap::new(),
            used: 0,
            front: None,
        })
    }

    /// One pass over the section, as far as pieces are wanted of it.
    fn pass(
        &mut self,
        inflater: &mut Inflater<'_>,
        visit: &mut impl FnMut(usize, &[u8]),
    ) -> Result<(), Fault> {
        self.front = None;
        let missing = self.users.keys().filter(|key| !self.held.contains_key(key));
        let mut missing = missing.copied().collect::<Vec<_>>().into_iter().peekable();
        let mut buffer = vec![0; PIECE];
        loop {
            let at = inflater.produced();
            while let Some(key) = missing.next_if(|&(offset, _)| offset == at) {
                if self.admits(key, at) {
                    self.used = self.used.saturating_add(length(key));
                    self.active.insert(key, Vec::new());
                }
            }
            let next = missing.peek().map(|&(offset, _)| offset);
            let ends = self
                .active
                .keys()
                .map(|&(offset, size)| offset + u64::from(size));
            let Some(until) = ends.chain(next).min() else {
                return Ok(());
            };
            let want = usize::try_from(until - at).map_or(PIECE, |want| want.min(PIECE));
            let piece = buffer.get_mut(..want).unwrap_or_default();
            inflater.read_exact(piece)?;
            for bytes in self.active.values_mut() {
                bytes.extend_from_slice(piece);
            }
            self.complete(visit);
        }
    }

    /// Whether a piece that starts at `at` is read in this pass.
    fn admits(&mut self, key: Key, at: u64) -> bool {
        let Some(users) = self.users.get(&key) else {
            return false;
        };
        if self.front.is_none() {
            let keys = |image: usize| self.images.get(image).map(|image| &image.keys);
            let comes = |key: &Key| key.0 >= at || self.has(key);
            let whole = |&image: &usize| keys(image).is_some_and(|keys| keys.iter().all(comes));
            self.front = users.iter().copied().find(whole);
        }
        let last = |image: &usize| {
            let keys = self.images.get(*image).map(|image| &image.keys);
            let mut others = keys.into_iter().flatten().filter(|&&other| other != key);
            others.all(|other| self.held.contains_key(other))
        };
        let of_front = self.front.is_some_and(|front| users.contains(&front));
        of_front
            || length(key) <= ROOM.saturating_sub(self.used) / 2
            || (self.active.is_empty() && users.iter().any(last))
    }

    fn has(&self, key: &Key) -> bool {
        self.held.contains_key(key) || self.active.contains_key(key)
    }

    /// Takes in the pieces that have gone by, and hands out the images that are whole.
    fn complete(&mut self, visit: &mut impl FnMut(usize, &[u8])) {
        let whole = |(key, bytes): &(&Key, &Vec<u8>)| bytes.len() == length(**key);
        let ended: Vec<Key> = self
            .active
            .iter()
            .filter(whole)
            .map(|(key, _)| *key)
            .collect();
        for key in ended {
            self.held.extend(self.active.remove_entry(&key));
            let users = self.users.get(&key).into_iter().flatten();
            for number in users.copied().collect::<Vec<_>>() {
                self.hand_out(number, visit);
            }
        }
    }

    /// Hands an image out if it is whole, and lets go of what only it needed.
    fn hand_out(&mut self, number: usize, visit: &mut impl FnMut(usize, &[u8])) {
        let Some(image) = self.images.get_mut(number) else {
            return;
        };
        let pieces: Option<Vec<&Vec<u8>>> =
            image.keys.iter().map(|key| self.held.get(key)).collect();
        let Some(pieces) = pieces else {
            return;
        };
        let joined;
        let bytes = match pieces.as_slice() {
            [piece] => piece.as_slice(),
            _ => {
                joined = pieces.into_iter().flatten().copied().collect::<Vec<u8>>();
                &joined
            }
        };
        for &index in &image.indices {
            visit(index, bytes);
        }
        for key in &image.keys {
            let left = self.users.get_mut(key).is_some_and(|users| {
                users.remove(&number);
                !users.is_empty()
            });
            if !left {
                self.users.remove(key);
                if self.held.remove(key).is_some() {
                    self.used = self.used.saturating_sub(length(*key));
                }
            }
        }
        if self.front == Some(number) {
            self.front = None;
        }
    }
}

fn length((_, size): Key) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
