//! The map of live Threads: found, loaded once, unloaded when nobody uses them, and asked what their owners publish.
//!
//! The map's mutex is held for look-ups only.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bobbin_model::{ApprovalPolicy, Refusal, ThreadId};

use super::{Cell, Threads};
use crate::handle::Shared;
use crate::owner::Owner;
use crate::{CoreError, ThreadHandle};

/// Live Threads beyond which those that nobody uses go soon (each costs some 20 KB, measured).
const MANY_THREADS: usize = 256;
/// How soon.
const UNLOAD_SOON: Duration = Duration::from_millis(20);
impl Threads {
    /// Returns how long a Thread that nobody uses stays in memory: not long when there are many.
    pub(crate) fn unload_after(&self) -> Duration {
        let many = self.live.lock().len() > MANY_THREADS;
        if many {
            self.settings.unload_after.min(UNLOAD_SOON)
        } else {
            self.settings.unload_after
        }
    }

    pub(crate) fn next_owner(&self) -> u64 {
        self.last_owner.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Finds a live Thread or loads it.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotFound`], [`CoreError::Store`], [`CoreError::Stopping`].
    pub async fn thread(self: &Arc<Self>, id: &ThreadId) -> Result<Arc<ThreadHandle>, CoreError> {
        loop {
            if self.stopping.is_cancelled() {
                return Err(CoreError::Stopping);
            }
            let cell = self.live.lock().entry(id.clone()).or_default().clone();
            let loaded = cell.get_or_try_init(|| self.load(id)).await.cloned();
            match loaded {
                // An owner that has just ended is still in the map for a moment.
                Ok(handle) if handle.ended().is_some() => self.forget(id, &cell),
                Ok(handle) => return Ok(handle),
                Err(error) => {
                    self.forget_unloaded(id, &cell);
                    return Err(error);
                }
            }
        }
    }

    async fn load(self: &Arc<Self>, id: &ThreadId) -> Result<Arc<ThreadHandle>, CoreError> {
        let loaded = self
            .store
            .load(id)
            .await?
            .ok_or_else(|| CoreError::from(Refusal::ThreadNotFound(id.clone())))?;
        let (owner, handle) = Owner::new(self.clone(), loaded.state, loaded.head_seq);
        self.start_owner(owner, None);
        Ok(handle)
    }

    /// Takes a Thread out of the map unless a handle of it is held or `idle` says no. Returns whether it is
    /// out. New holders come through the map, so with its lock held "nobody" stays true.
    pub(crate) fn unload(&self, id: &ThreadId, shared: &Arc<Shared>, idle: impl FnOnce() -> bool) -> bool {
        let mut live = self.live.lock();
        let unused = live.get(id).is_some_and(|cell| {
            Arc::strong_count(cell) == 1
                && cell
                    .get()
                    .is_some_and(|own| own.shares(shared) && Arc::strong_count(own) == 1)
        });
        let out = unused && idle();
        if out {
            live.remove(id);
        }
        out
    }

    /// Takes a Thread that has ended out of the map; a newer owner of the same Thread stays.
    pub(crate) fn remove(&self, id: &ThreadId, shared: &Arc<Shared>) {
        let mut live = self.live.lock();
        if live
            .get(id)
            .is_some_and(|cell| cell.get().is_some_and(|own| own.shares(shared)))
        {
            live.remove(id);
        }
    }

    /// Returns the live subagents of a tree that wait for an answer now.
    pub(crate) fn descendants_that_ask(&self, top: &ThreadId) -> Vec<Arc<ThreadHandle>> {
        if self.open_in_subagents.load(Ordering::Acquire) == 0 {
            // Everybody who comes to any Thread asks.
            return Vec::new();
        }
        let live = self.live.lock();
        let handles = live.values().filter_map(|cell| cell.get());
        handles
            .filter(|handle| handle.root() == Some(top) && handle.open() > 0)
            .cloned()
            .collect()
    }

    /// Returns how many clients can answer what a Thread asks, now.
    pub(crate) fn approvers_of(&self, id: &ThreadId) -> usize {
        let live = self.live.lock();
        let handle = live.get(id).and_then(|cell| cell.get());
        handle.map_or(0, |handle| handle.approvers())
    }

    /// Returns how many clients are asked what a model wants to know in a Thread, now.
    pub(crate) fn asked_of(&self, id: &ThreadId) -> usize {
        let live = self.live.lock();
        let handle = live.get(id).and_then(|cell| cell.get());
        handle.map_or(0, |handle| handle.asked())
    }

    fn forget(&self, id: &ThreadId, cell: &Cell) {
        let mut live = self.live.lock();
        if live.get(id).is_some_and(|known| Arc::ptr_eq(known, cell)) {
            live.remove(id);
        }
    }

    /// Takes a place where nothing could be loaded out of the map. Others that wait at it try by themselves,
    /// and must do so at the one place that the map knows: two owners of one Thread would be one too many.
    fn forget_unloaded(&self, id: &ThreadId, cell: &Cell) {
        let mut live = self.live.lock();
        let unused = live
            .get(id)
            .is_some_and(|known| Arc::ptr_eq(known, cell) && known.get().is_none())
            && Arc::strong_count(cell) == 2;
        if unused {
            live.remove(id);
        }
    }

    /// Returns a live Thread's approval policy as it is now, and its parent.
    pub(crate) fn live_policy(&self, id: &ThreadId) -> Option<(ApprovalPolicy, Option<ThreadId>)> {
        let live = self.live.lock();
        let handle = live.get(id)?.get()?;
        Some((handle.policy(), handle.parent().cloned()))
    }
}
