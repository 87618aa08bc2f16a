//! A cache of finished Turns, in the form that a model gets, from one Turn of a Thread to the next.
//!
//! The record is authoritative: a run reads the newest Turns from it, and uses the cache from the Turn at which both
//! agree. That is sound: rollbacks remove the newest Turns and numbers are not reused, so all Turns before a present
//! Turn are present. A run caches the Turns that it read. Each Thread is bounded by [`MAX_THREAD_BYTES`] (its oldest
//! Turns are not cached) and all Threads by [`MAX_BYTES`] (the least recently used Thread goes). Knows nothing of
//! windows and summaries.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_core::CoreError;
use bobbin_core::engine::TurnContext;
use bobbin_model::{Compaction, ItemId, SeenFile, ThreadId, Turn, TurnId, UnixMillis};
use hashlink::LruCache;
use parking_lot::Mutex;

use super::conversation::{Placed, newest_compaction, steps, whole};
use super::history::notifies_of_gap;
use super::refused::refused_pictures;
use super::seen::seen;

/// Most cached bytes of one Thread: twice the largest window.
const MAX_THREAD_BYTES: usize = 8 << 20;
/// Most cached bytes of all Threads.
const MAX_BYTES: usize = 32 << 20;
/// Estimated bytes of a Turn and of a message beside their text (guess).
const OVERHEAD: usize = 200;
/// Turns read at once.
const PAGE: u32 = 16;
/// Turns read when more are cached: the newest, and the one before, which should be cached.
const OVERLAP: u32 = 2;

/// A finished Turn in the form that a model gets.
#[derive(Debug)]
pub(super) struct PastTurn {
    pub(super) id: TurnId,
    started_at: UnixMillis,
    /// Its messages; every call has a result.
    pub(super) steps: Vec<Placed>,
    /// The last compaction in it.
    pub(super) done: Option<Compaction>,
    /// The Turn notified users that the model does not get everything.
    pub(super) notifies_of_gap: bool,
    /// The last note that the provider refused pictures.
    pub(super) refused_pictures: Option<ItemId>,
    /// The files that the model knows from it.
    pub(super) seen: Vec<SeenFile>,
    /// Its approximate size in bytes.
    weight: usize,
}

impl PastTurn {
    pub(super) fn of(turn: &Turn) -> Arc<Self> {
        let steps = whole(steps(turn.id, &turn.items));
        let done = newest_compaction(turn.items.iter()).cloned();
        let seen = seen(turn.items.iter());
        let bytes: usize = steps
            .iter()
            .map(|step| OVERHEAD + step.message.bytes_in_memory())
            .sum();
        Arc::new(Self {
            id: turn.id,
            started_at: turn.started_at,
            refused_pictures: refused_pictures(&turn.items),
            notifies_of_gap: turn.items.iter().any(notifies_of_gap),
            weight: OVERHEAD * (1 + seen.len()) + bytes + done.as_ref().map_or(0, |done| done.summary.len()),
            steps,
            done,
            seen,
        })
    }

    fn is(&self, other: &Self) -> bool {
        (self.id, self.started_at, self.steps.len()) == (other.id, other.started_at, other.steps.len())
    }
}

/// The cached Turns of all Threads.
#[derive(Debug)]
pub(super) struct PastTurns(Mutex<PastCache>);

#[derive(Debug)]
struct PastCache {
    threads: LruCache<ThreadId, (Vec<Arc<PastTurn>>, usize)>,
    bytes: usize,
}

impl Default for PastTurns {
    fn default() -> Self {
        Self(Mutex::new(PastCache {
            threads: LruCache::new_unbounded(),
            bytes: 0,
        }))
    }
}

impl PastTurns {
    /// Starts to read backwards from a Turn. The Thread's cache entry moves into the result; [`Self::cache`] puts it
    /// back.
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

    /// Caches the Turns that were read.
    pub(super) fn cache(&self, thread: &ThreadId, backwards: Backwards) {
        let Backwards { gone, bytes, .. } = backwards;
        if gone.is_empty() {
            return;
        }
        let mut pushed_out = Vec::new();
        let mut cache = self.0.lock();
        cache.take(thread);
        cache.bytes += bytes;
        cache.threads.insert(thread.clone(), (gone, bytes));
        while cache.bytes > MAX_BYTES
            && let Some((_, (turns, bytes))) = cache.threads.remove_lru()
        {
            cache.bytes -= bytes;
            pushed_out.push(turns);
        }
        // The evicted Turns are dropped outside of the lock.
        drop(cache);
    }
}

impl PastCache {
    fn take(&mut self, thread: &ThreadId) -> Vec<Arc<PastTurn>> {
        let (turns, bytes) = self.threads.remove(thread).unwrap_or_default();
        self.bytes -= bytes;
        turns
    }
}

/// Reads the Turns before a Turn, backwards.
#[derive(Debug)]
pub(super) struct Backwards {
    /// Cached Turns, newest first, until the record confirms them.
    known: Vec<Arc<PastTurn>>,
    /// The oldest Turn read so far.
    before: TurnId,
    /// Turns that were read and not yet returned, newest first.
    page: VecDeque<Arc<PastTurn>>,
    /// Turns to cache, newest first, and their size.
    gone: Vec<Arc<PastTurn>>,
    bytes: usize,
    /// No further Turn will be cached.
    is_full: bool,
}

impl Backwards {
    /// Returns the preceding Turn, if any.
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
            cost_micros: 0,
            files_changed: 0,
            files_undone: false,
            error: None,
            origin_channel: None,
        })
    }

    /// Returns a reader that has returned all of these Turns.
    fn gone(turns: impl IntoIterator<Item = Arc<PastTurn>>) -> Backwards {
        let mut backwards = PastTurns::default().before(&ThreadId::new("x"), TurnId(99));
        backwards.page = turns.into_iter().collect();
        while backwards.go().is_some() {}
        backwards
    }

    fn known(past: &PastTurns, thread: &str) -> Vec<TurnId> {
        let thread = ThreadId::new(thread);
        let known = past.before(&thread, TurnId(99)).known;
        past.cache(&thread, gone(known.iter().cloned()));
        known.iter().map(|turn| turn.id).collect()
    }

    #[test]
    fn the_oldest_turns_of_a_thread_are_not_kept() {
        let past = PastTurns::default();
        let half = "x".repeat(MAX_THREAD_BYTES / 2 - 2 * OVERHEAD);
        let small = || turn(1, "small");
        let turns = (2..=4).rev().map(|id| turn(id, &half)).chain([small()]);
        past.cache(&ThreadId::new("a"), gone(turns));
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
            past.cache(&ThreadId::new(thread), gone([turn(1, &whole)]));
        }
        assert_eq!(past.0.lock().bytes, MAX_BYTES);
        assert_eq!(known(&past, "a"), [TurnId(1)]);
        past.cache(&ThreadId::new("e"), gone([turn(1, "small")]));
        assert_eq!(known(&past, "b"), []);
        for thread in ["a", "c", "d", "e"] {
            assert_eq!(known(&past, thread), [TurnId(1)], "{thread}");
        }
    }
}
