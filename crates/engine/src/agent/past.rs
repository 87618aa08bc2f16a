//! Finished Turns as a model is told of them, kept from one Turn of a Thread to the next.
//!
//! The record stays what counts: a run reads the newest Turns from it and goes on with what is kept where the two meet at the
//! same Turn. Turns are taken out from the newest on and numbers are not given again, so before a Turn that stands all stands. Bounded
//! in bytes, of a Thread ([`MAX_THREAD_BYTES`]: its oldest Turns go) and of all ([`MAX_BYTES`]: the Thread that was
//! longest not asked for goes). Knows nothing of windows and summaries.

use std::sync::Arc;

use bobbin_core::CoreError;
use bobbin_core::engine::TurnContext;
use bobbin_model::{Compaction, ThreadId, Turn, TurnId, UnixMillis};
use hashlink::LruCache;
use parking_lot::Mutex;

use super::conversation::{Placed, newest_compaction, steps, whole};
use super::history::tells_left_out;

/// Most bytes kept of one Thread: what the largest window is given, twice, fits.
const MAX_THREAD_BYTES: usize = 8 << 20;
/// Most bytes kept of all Threads.
const MAX_BYTES: usize = 32 << 20;
/// What a Turn and a message weigh beside their text (guess).
const OVERHEAD: usize = 200;
/// Turns read at once.
const PAGE: u32 = 16;
/// Turns read where more are kept: the one that ended last, and the one before it, which is known.
const OVERLAP: u32 = 2;

/// A finished Turn as a model is told of it.
#[derive(Debug)]
pub(super) struct PastTurn {
    pub(super) id: TurnId,
    started_at: UnixMillis,
    /// Its messages; every call has a result.
    pub(super) steps: Vec<Placed>,
    /// The last compaction in it.
    pub(super) done: Option<Compaction>,
    /// People were told in it that the model is not given all.
    pub(super) tells_left_out: bool,
}

impl PastTurn {
    pub(super) fn of(turn: &Turn) -> Arc<Self> {
        Arc::new(Self {
            id: turn.id,
            started_at: turn.started_at,
            steps: whole(steps(turn.id, &turn.items)),
            done: newest_compaction(turn.items.iter()).cloned(),
            tells_left_out: turn.items.iter().any(tells_left_out),
        })
    }

    fn is(&self, other: &Self) -> bool {
        (self.id, self.started_at, self.steps.len()) == (other.id, other.started_at, other.steps.len())
    }

    fn weight(&self) -> usize {
        let steps = self.steps.iter();
        let steps: usize = steps.map(|step| OVERHEAD + step.message.held_bytes()).sum();
        OVERHEAD + steps + self.done.as_ref().map_or(0, |done| done.summary.len())
    }
}

/// What is kept of all Threads.
#[derive(Debug)]
pub(super) struct PastTurns(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    threads: LruCache<ThreadId, (Vec<Arc<PastTurn>>, usize)>,
    bytes: usize,
}

impl Default for PastTurns {
    fn default() -> Self {
        Self(Mutex::new(Kept {
            threads: LruCache::new_unbounded(),
            bytes: 0,
        }))
    }
}

impl PastTurns {
    /// Begins to go back from a Turn.
    pub(super) fn before(&self, thread: &ThreadId, turn: TurnId) -> Backwards {
        let known = self.0.lock().threads.get(thread).map(|(turns, _)| turns.clone());
        Backwards {
            known: known.unwrap_or_default(),
            before: turn,
            read: Vec::new(),
            next: 0,
        }
    }

    /// Keeps what was read, in place of what was kept of the Thread.
    pub(super) fn keep(&self, thread: &ThreadId, backwards: Backwards) {
        let mut turns = backwards.read;
        let mut bytes = 0;
        let fitting = turns.iter().take_while(|turn| {
            let sum = bytes + turn.weight();
            let fits = sum <= MAX_THREAD_BYTES;
            bytes = if fits { sum } else { bytes };
            fits
        });
        turns.truncate(fitting.count());
        let kept = &mut *self.0.lock();
        if let Some((_, old)) = kept.threads.remove(thread) {
            kept.bytes -= old;
        }
        if turns.is_empty() {
            return;
        }
        kept.bytes += bytes;
        kept.threads.insert(thread.clone(), (turns, bytes));
        while kept.bytes > MAX_BYTES
            && let Some((_, (_, old))) = kept.threads.remove_lru()
        {
            kept.bytes -= old;
        }
    }
}

/// Goes from a Turn back to the ones before it.
#[derive(Debug)]
pub(super) struct Backwards {
    /// What was kept, newest first, until it is known whether it still holds.
    known: Vec<Arc<PastTurn>>,
    /// The oldest Turn that was read.
    before: TurnId,
    /// What was read, newest first, and how much of it was asked for.
    read: Vec<Arc<PastTurn>>,
    next: usize,
}

impl Backwards {
    /// Returns the Turn before, if there is one.
    ///
    /// # Errors
    /// The store could not read.
    pub(super) async fn next(&mut self, turn: &TurnContext) -> Result<Option<Arc<PastTurn>>, CoreError> {
        if self.next == self.read.len() && self.before > TurnId(1) {
            let known = std::mem::take(&mut self.known);
            let limit = if known.is_empty() { PAGE } else { OVERLAP };
            let page = turn.history(self.before, limit).await?;
            let is_last = page.len() < limit as usize;
            self.read.extend(page.iter().rev().map(PastTurn::of));
            if let Some(oldest) = self.read.last()
                && let Ok(at) = known.binary_search_by(|turn| oldest.id.cmp(&turn.id))
                && known[at].is(oldest)
            {
                self.read.extend(known.into_iter().skip(at + 1));
            }
            let oldest = self.read.last().filter(|_| !is_last);
            self.before = oldest.map_or(TurnId(1), |turn| turn.id);
        }
        let turn = self.read.get(self.next).cloned();
        self.next += 1;
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use bobbin_model::{Item, ItemBody, ItemId, TokenUsage, TurnStatus};

    use super::*;

    fn turn(id: u32, text: &str) -> Arc<PastTurn> {
        let body = ItemBody::AgentMessage {
            text: text.to_owned(),
        };
        PastTurn::of(&Turn {
            id: TurnId(id),
            status: TurnStatus::Completed,
            items: vec![Item::whole(ItemId(1), UnixMillis(0), body)],
            started_at: UnixMillis(0),
            completed_at: None,
            usage: TokenUsage::default(),
            error: None,
            origin_channel: None,
        })
    }

    fn read(read: Vec<Arc<PastTurn>>) -> Backwards {
        Backwards {
            known: Vec::new(),
            before: TurnId(1),
            read,
            next: 0,
        }
    }

    fn known(past: &PastTurns, thread: &str) -> Vec<TurnId> {
        let known = past.before(&ThreadId::new(thread), TurnId(99)).known;
        known.iter().map(|turn| turn.id).collect()
    }

    #[test]
    fn the_oldest_turns_of_a_thread_go_first() {
        let past = PastTurns::default();
        let half = "x".repeat(MAX_THREAD_BYTES / 2 - 2 * OVERHEAD);
        let turns = (1..=3).rev().map(|id| turn(id, &half)).collect();
        past.keep(&ThreadId::new("a"), read(turns));
        assert_eq!(known(&past, "a"), [TurnId(3), TurnId(2)]);
        past.keep(&ThreadId::new("a"), read(vec![]));
        assert_eq!(known(&past, "a"), []);
        assert_eq!(past.0.lock().bytes, 0);
    }

    #[test]
    fn of_many_threads_those_not_asked_for_go() {
        let past = PastTurns::default();
        let whole = "x".repeat(MAX_THREAD_BYTES - 2 * OVERHEAD);
        for thread in ["a", "b", "c", "d"] {
            past.keep(&ThreadId::new(thread), read(vec![turn(1, &whole)]));
        }
        assert_eq!(past.0.lock().bytes, MAX_BYTES);
        assert_eq!(known(&past, "a"), [TurnId(1)]);
        past.keep(&ThreadId::new("e"), read(vec![turn(1, "small")]));
        assert_eq!(known(&past, "b"), []);
        for thread in ["a", "c", "d", "e"] {
            assert_eq!(known(&past, thread), [TurnId(1)], "{thread}");
        }
    }
}
