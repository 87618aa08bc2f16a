//! The log against a plain vector.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::{self, Context};

use proptest::prelude::*;

use super::*;

#[derive(Debug)]
struct Note(u64, usize);

impl Entry for Note {
    fn bytes(&self) -> usize {
        self.1
    }
}

fn log(entries: usize, bytes: usize) -> Log<Arc<Note>> {
    Log::new(Seq(1), Limits { entries, bytes })
}

fn numbers(read: Read<Arc<Note>>) -> (Vec<u64>, Seq) {
    match read {
        Read::Entries { entries, next } => (entries.iter().map(|note| note.0).collect(), next),
        Read::Gone { first } => panic!("gone, first is {first}"),
    }
}

#[test]
fn hidden_entries_are_not_read_until_shown() {
    let log = log(10, 1000);
    for _ in 0..3 {
        log.append(|seq| Arc::new(Note(seq.0, 1)));
    }
    assert_eq!(numbers(log.read(Seq(1), 100)), (vec![], Seq(1)));
    log.show(Seq(2));
    assert_eq!(numbers(log.read(Seq(1), 100)), (vec![1, 2], Seq(3)));
    assert_eq!((log.visible(), log.appended()), (Seq(2), Seq(3)));
}

#[test]
fn showing_more_than_was_appended_shows_what_there_is() {
    let log = log(10, 1000);
    log.append(|seq| Arc::new(Note(seq.0, 1)));
    log.show(Seq(9));
    assert_eq!(log.visible(), Seq(1));
    log.show(Seq(0));
    assert_eq!(log.visible(), Seq(1));
}

#[test]
fn a_log_that_starts_over_goes_on_above_and_what_lies_between_is_gone() {
    let log = log(10, 1000);
    for _ in 0..3 {
        log.append(|seq| Arc::new(Note(seq.0, 1)));
    }
    log.show(Seq(2));
    log.restart(Seq(8));
    assert_eq!(
        (log.visible(), log.appended(), log.depth()),
        (Seq(7), Seq(7), (0, 0))
    );
    for cursor in 1..8 {
        assert!(matches!(log.read(Seq(cursor), 100), Read::Gone { first: Seq(8) }));
    }
    assert_eq!(numbers(log.read(Seq(8), 100)), (vec![], Seq(8)));
    log.append(|seq| Arc::new(Note(seq.0, 1)));
    log.show(Seq(8));
    assert_eq!(numbers(log.read(Seq(8), 100)), (vec![8], Seq(9)));
    // Numbers never go back.
    log.restart(Seq(3));
    assert_eq!(log.appended(), Seq(8));
}

#[test]
fn a_read_gives_at_least_one_entry_and_at_most_the_bytes_asked_for() {
    let log = log(10, 1000);
    for _ in 0..4 {
        log.append(|seq| Arc::new(Note(seq.0, 50)));
    }
    log.show(Seq(4));
    assert_eq!(numbers(log.read(Seq(1), 10)), (vec![1], Seq(2)));
    assert_eq!(numbers(log.read(Seq(2), 100)), (vec![2, 3], Seq(4)));
}

#[test]
fn hidden_entries_survive_the_bound() {
    let log = log(2, 1000);
    for _ in 0..5 {
        log.append(|seq| Arc::new(Note(seq.0, 1)));
    }
    assert_eq!(log.depth(), (5, 5));
    log.show(Seq(4));
    log.show(Seq(5));
    assert_eq!(log.depth(), (2, 2));
    assert!(matches!(log.read(Seq(1), 100), Read::Gone { first: Seq(4) }));
}

/// Each limit alone removes the oldest entries; entries that just fit stay.
#[test]
fn a_log_is_bounded_in_entries_and_in_bytes() {
    let table = [
        (3, 1000, 1, (3, 3)),
        (2, 1000, 1, (2, 2)),
        (10, 30, 10, (3, 30)),
        (10, 29, 10, (2, 20)),
    ];
    for (entries, bytes, size, depth) in table {
        let log = log(entries, bytes);
        for number in 1..=3 {
            log.append(|seq| Arc::new(Note(seq.0, size)));
            log.show(Seq(number));
        }
        assert_eq!(log.depth(), depth, "{entries} entries, {bytes} bytes");
        assert_eq!(log.first(), Seq(4 - depth.0 as u64));
    }
    let limits = Limits::default();
    assert_eq!((limits.entries, limits.bytes), (4096, 1 << 20));
}

#[test]
fn what_is_over_the_bound_can_be_read_until_something_else_is_shown() {
    let log = log(10, 1000);
    log.append(|seq| Arc::new(Note(seq.0, 5000)));
    log.show(Seq(1));
    assert_eq!(numbers(log.read(Seq(1), 100)), (vec![1], Seq(2)));
    log.append(|seq| Arc::new(Note(seq.0, 10)));
    log.show(Seq(2));
    assert_eq!(log.depth(), (1, 10));
}

/// Whether there was a wake since the last call. Never waits.
fn rang(waker: &Waker) -> bool {
    pin!(waker.woken())
        .poll(&mut Context::from_waker(task::Waker::noop()))
        .is_ready()
}

/// A lost wake leaves a reader waiting until the next event.
#[test]
fn bells_ring_as_the_table_says() {
    type Step = fn(&Log<Arc<Note>>);
    let table: [(&str, Step, bool); 6] = [
        (
            "hidden",
            |log| drop(log.append(|seq| Arc::new(Note(seq.0, 1)))),
            false,
        ),
        ("shown", |log| log.show(Seq(1)), true),
        ("shown again", |log| log.show(Seq(1)), false),
        ("more than there is", |log| log.show(Seq(9)), false),
        ("started over", |log| log.restart(Seq(9)), true),
        ("ended", Log::close, true),
    ];
    let (log, waker, gone) = (log(2, 1000), Waker::default(), Waker::default());
    for waker in [&waker, &waker, &gone] {
        log.watch(waker);
    }
    assert_eq!(log.watchers(), 2);
    log.unwatch(&gone);
    assert!(!log.is_closed());
    for (step, act, rings) in table {
        act(&log);
        // A wake without a waiting reader is seen later, once.
        assert_eq!(
            (rang(&waker), rang(&waker), rang(&gone)),
            (rings, false, false),
            "{step}"
        );
    }
    assert!(log.is_closed());
    log.unwatch(&waker);
    assert_eq!(log.watchers(), 0);
}

proptest! {
    /// No gap, no repeat: a fast reader sees every number once, in order. A slow reader learns where memory begins
    /// and never sees a wrong entry.
    #[test]
    fn readers_see_every_number_once_and_in_order(
        steps in proptest::collection::vec((0u8..4, 1usize..40), 1..200),
        entries in 1usize..20,
        bytes in 20usize..400,
    ) {
        let log = log(entries, bytes);
        let mut appended = 0u64;
        let mut cursor = Seq(1);
        let mut seen = 0u64;
        for (step, size) in steps {
            match step {
                0 | 1 => {
                    appended += 1;
                    let entry = log.append(|seq| Arc::new(Note(seq.0, size)));
                    prop_assert_eq!(entry.0, appended);
                }
                2 => log.show(Seq(appended.saturating_sub(size as u64 % 3))),
                _ => match log.read(cursor, size * 4) {
                    Read::Entries { entries, next } => {
                        for entry in entries {
                            prop_assert_eq!(entry.0, seen + 1);
                            seen = entry.0;
                        }
                        prop_assert_eq!(next.0, seen + 1);
                        cursor = next;
                    }
                    Read::Gone { first } => {
                        prop_assert!(first > cursor);
                        cursor = first;
                        seen = first.0 - 1;
                    }
                },
            }
            prop_assert!(log.visible() <= log.appended());
            prop_assert!(log.appended().0 == appended);
        }
    }
}
