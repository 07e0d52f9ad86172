//! Several burns at a time: a queue of turns, a few workers, and one channel on which they tell
//! what happens.
//!
//! A turn is one card, or the cards that share a lock; its burns come one after the other. Only
//! the caller's thread hears the news, so only one thread prints. A burn that breaks down ends
//! its own card and nothing else.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::progress::{Event, Sink};
use crate::report::Outcome;

/// What a worker tells of the card with this index.
#[derive(Debug)]
pub(super) enum News {
    /// Its turn has come.
    Begun(usize),
    /// Something happened.
    Event(usize, Event),
    /// It is over. `None`: the burn broke down.
    Ended(usize, Option<Outcome>),
}

/// What is done with a card.
pub(super) type Work<'a, T> = dyn Fn(&T, &mut Sink<'_>) -> Outcome + Sync + 'a;

/// Cards that come one after the other, each with what it is burned with.
pub(super) type Turn<T> = Vec<(usize, T)>;

/// Takes every turn, `workers` (at least one) at a time, in their order. Returns when the last
/// one is over.
pub(super) fn run<T: Sync>(
    turns: &[Turn<T>],
    workers: usize,
    work: &Work<'_, T>,
    mut hear: impl FnMut(News),
) {
    let left = Mutex::new(turns.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        let (sender, news) = channel();
        for _ in 0..workers.clamp(1, turns.len().max(1)) {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || {
                for (index, item) in std::iter::from_fn(next).flatten() {
                    take(*index, item, work, &sender);
                }
            });
        }
        drop(sender);
        for piece in news {
            hear(piece);
        }
    });
}

/// Nobody stops to listen before the last worker is done, so sending does not fail.
fn take<T>(index: usize, item: &T, work: &Work<'_, T>, sender: &Sender<News>) {
    let _ = sender.send(News::Begun(index));
    let mut sink = |event| {
        let _ = sender.send(News::Event(index, event));
    };
    // What a broken burn held is given back by its guards on the way here.
    let outcome = catch_unwind(AssertUnwindSafe(|| work(item, &mut sink))).ok();
    let _ = sender.send(News::Ended(index, outcome));
}

/// Turns of the cards that are due, in order: cards with the same key share one.
pub(super) fn turns<T>(due: impl IntoIterator<Item = (usize, String, T)>) -> Vec<Turn<T>> {
    let mut turns: Vec<(String, Turn<T>)> = Vec::new();
    for (index, key, item) in due {
        match turns.iter_mut().find(|(other, _)| *other == key) {
            Some((_, turn)) => turn.push((index, item)),
            None => turns.push((key, vec![(index, item)])),
        }
    }
    turns.into_iter().map(|(_, turn)| turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Ending;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn outcome(reason: &str) -> Outcome {
        Outcome::without_burn(Ending::Burned, reason.to_owned(), None)
    }

    fn singles(count: usize) -> Vec<Turn<usize>> {
        (0..count).map(|index| vec![(index, index)]).collect()
    }

    #[test]
    fn as_many_burns_run_at_once_as_there_are_workers() {
        // each burn waits until four are there; with fewer workers this would never end
        let meeting = Barrier::new(4);
        let mut ended = Vec::new();
        let work = |_: &usize, _: &mut Sink<'_>| {
            meeting.wait();
            outcome("met")
        };
        run(&singles(8), 4, &work, |news| {
            if let News::Ended(index, Some(_)) = news {
                ended.push(index);
            }
        });
        ended.sort_unstable();
        assert_eq!(ended, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn cards_that_share_a_turn_never_burn_together() {
        let shared = turns([
            (0, "a".to_owned(), 'x'),
            (1, "b".to_owned(), 'y'),
            (2, "a".to_owned(), 'z'),
        ]);
        assert_eq!(shared, [vec![(0, 'x'), (2, 'z')], vec![(1, 'y')]]);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: &usize, _: &mut Sink<'_>| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(5));
            now.fetch_sub(1, Ordering::SeqCst);
            outcome("")
        };
        run(&[singles(4).concat()], 4, &work, |_| ());
        assert_eq!(most.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_burn_that_breaks_down_stops_no_other() {
        let mut ended = vec![None; 3];
        let work = |&index: &usize, sink: &mut Sink<'_>| {
            sink(Event::Started { bytes: 1 });
            assert!(index != 1, "breaks down");
            outcome("fine")
        };
        run(&singles(3), 1, &work, |news| {
            if let News::Ended(index, outcome) = news {
                ended[index] = Some(outcome.is_some());
            }
        });
        assert_eq!(ended, [Some(true), Some(false), Some(true)]);
    }
}
