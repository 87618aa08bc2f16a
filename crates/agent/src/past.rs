//! Finished Turns as a model is told of them, kept from one Turn of a Thread to the next.
//!
//! The record stays what counts: a run reads the newest Turns from it and goes on with what is kept where the two meet at the
//! same Turn. Turns are taken out from the newest on and numbers are not given again, so before a Turn that stands all stands. Kept
//! is what a run went back to, bounded in bytes, of a Thread ([`MAX_THREAD_BYTES`]: its oldest Turns are not kept) and of all
//! ([`MAX_BYTES`]: the Thread that was longest not asked for goes). Knows nothing of windows and summaries.

use std::collections::VecDeque;
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
    /// About how many bytes it takes.
    weight: usize,
}

impl PastTurn {
    pub(super) fn of(turn: &Turn) -> Arc<Self> {
        let steps = whole(steps(turn.id, &turn.items));
        let done = newest_compaction(turn.items.iter()).cloned();
        let bytes: usize = steps
            .iter()
            .map(|step| OVERHEAD + step.message.bytes_in_memory())
            .sum();
        Arc::new(Self {
            id: turn.id,
            started_at: turn.started_at,
            tells_left_out: turn.items.iter().any(tells_left_out),
            weight: OVERHEAD + bytes + done.as_ref().map_or(0, |done| done.summary.len()),
            steps,
            done,
        })
    }

    fn is(&self, other: &Self) -> bool {
        (self.id, self.started_at, self.steps.len()) == (other.id, other.started_at, other.steps.len())
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
    /// Begins to go back from a Turn. What was kept of the Thread goes along, and is kept again by [`Self::keep`].
    pub(super) fn before(&self, thread: &ThreadId, turn: TurnId) -> Backwards {
        let known = self.0.lock().take(thread);
        Backwards {
            known,
            before: turn,
            page: VecDeque::new(),
            gone: Vec::new(),
            bytes: 0,
            is_full: false,
        }
    }

    /// Keeps the Turns that were gone back to.
    pub(super) fn keep(&self, thread: &ThreadId, backwards: Backwards) {
        let Backwards { gone, bytes, .. } = backwards;
        if gone.is_empty() {
            return;
        }
        let mut pushed_out = Vec::new();
        let mut kept = self.0.lock();
        kept.take(thread);
        kept.bytes += bytes;
        kept.threads.insert(thread.clone(), (gone, bytes));
        while kept.bytes > MAX_BYTES
            && let Some((_, (turns, bytes))) = kept.threads.remove_lru()
        {
            kept.bytes -= bytes;
            pushed_out.push(turns);
        }
        // They are let go of when nobody waits for it.
        drop(kept);
    }
}

impl Kept {
    fn take(&mut self, thread: &ThreadId) -> Vec<Arc<PastTurn>> {
        let (turns, bytes) = self.threads.remove(thread).unwrap_or_default();
        self.bytes -= bytes;
        turns
    }
}

/// Goes from a Turn back to the ones before it.
#[derive(Debug)]
pub(super) struct Backwards {
    /// What was kept, newest first, until it is known whether it still holds.
    known: Vec<Arc<PastTurn>>,
    /// The oldest Turn that was read.
    before: TurnId,
    /// What was read and not yet gone to, newest first.
    page: VecDeque<Arc<PastTurn>>,
    /// What was gone to, newest first, as far as it is kept, and what that weighs.
    gone: Vec<Arc<PastTurn>>,
    bytes: usize,
    /// What is gone to is not kept any more.
    is_full: bool,
}

impl Backwards {
    /// Returns the Turn before, if there is one.
    ///
    /// # Errors
    /// The store could not read.
    pub(super) async fn next(&mut self, turn: &TurnContext) -> Result<Option<Arc<PastTurn>>, CoreError> {
        if self.page.is_empty() && self.before > TurnId(1) {
            let known = std::mem::take(&mut self.known);
            let limit = if known.is_empty() { PAGE } else { OVERLAP };
            let page = turn.history(self.before, limit).await?;
            let is_last = page.len() < limit as usize;
            self.page.extend(page.iter().rev().map(PastTurn::of));
            if let Some(oldest) = self.page.back()
                && let Ok(at) = known.binary_search_by(|turn| oldest.id.cmp(&turn.id))
                && known[at].is(oldest)
            {
                self.page.extend(known.into_iter().skip(at + 1));
            }
            let oldest = self.page.back().filter(|_| !is_last);
            self.before = oldest.map_or(TurnId(1), |turn| turn.id);
        }
        Ok(self.go())
    }

    fn go(&mut self) -> Option<Arc<PastTurn>> {
        let turn = self.page.pop_front()?;
        let bytes = self.bytes + turn.weight;
        self.is_full |= bytes > MAX_THREAD_BYTES;
        if !self.is_full {
            self.bytes = bytes;
            self.gone.push(turn.clone());
        }
        Some(turn)
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

    /// Goes back to all of these.
    fn gone(turns: impl IntoIterator<Item = Arc<PastTurn>>) -> Backwards {
        let mut backwards = PastTurns::default().before(&ThreadId::new("x"), TurnId(99));
        backwards.page = turns.into_iter().collect();
        while backwards.go().is_some() {}
        backwards
    }

    fn known(past: &PastTurns, thread: &str) -> Vec<TurnId> {
        let thread = ThreadId::new(thread);
        let known = past.before(&thread, TurnId(99)).known;
        past.keep(&thread, gone(known.iter().cloned()));
        known.iter().map(|turn| turn.id).collect()
    }

    #[test]
    fn the_oldest_turns_of_a_thread_are_not_kept() {
        let past = PastTurns::default();
        let half = "x".repeat(MAX_THREAD_BYTES / 2 - 2 * OVERHEAD);
        let small = || turn(1, "small");
        let turns = (2..=4).rev().map(|id| turn(id, &half)).chain([small()]);
        past.keep(&ThreadId::new("a"), gone(turns));
        assert_eq!(known(&past, "a"), [TurnId(4), TurnId(3)]);
        drop(past.before(&ThreadId::new("a"), TurnId(99)));
        assert_eq!(known(&past, "a"), []);
        assert_eq!(past.0.lock().bytes, 0);
    }

    #[test]
    fn of_many_threads_those_not_asked_for_go() {
        let past = PastTurns::default();
        let whole = "x".repeat(MAX_THREAD_BYTES - 2 * OVERHEAD);
        for thread in ["a", "b", "c", "d"] {
            past.keep(&ThreadId::new(thread), gone([turn(1, &whole)]));
        }
        assert_eq!(past.0.lock().bytes, MAX_BYTES);
        assert_eq!(known(&past, "a"), [TurnId(1)]);
        past.keep(&ThreadId::new("e"), gone([turn(1, "small")]));
        assert_eq!(known(&past, "b"), []);
        for thread in ["a", "c", "d", "e"] {
            assert_eq!(known(&past, thread), [TurnId(1)], "{thread}");
        }
    }
}
