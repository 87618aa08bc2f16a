//! The map of live Threads: finds Threads, loads each once, unloads unused ones, and reads what their owners publish.
//!
//! The map's mutex is locked for look-ups only.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bobbin_model::{ApprovalPolicy, Refusal, ThreadId};
use bobbin_store::{Holding, Lease, StoreError};

use super::{Cell, Threads};
use crate::handle::Shared;
use crate::owner::Owner;
use crate::{CoreError, ThreadHandle};

/// Number of live Threads after which unused ones are unloaded soon (each costs some 20 KB, measured).
const MANY_THREADS: usize = 256;
/// Time after which an unused Thread is unloaded then.
const UNLOAD_SOON: Duration = Duration::from_millis(20);
impl Threads {
    /// Returns the time after which an unused Thread is unloaded; shorter if there are many.
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
                // An owner that has just ended stays in the map for a moment.
                Ok(handle) if handle.ended().is_some() => self.forget(id, &cell),
                Ok(handle) => return Ok(handle),
                Err(error) => {
                    self.forget_unloaded(id, &cell);
                    return Err(error);
                }
            }
        }
    }

    /// Whether it is certain that this process is the workspace's holder.
    pub(crate) fn is_holder(&self) -> bool {
        let is_ours = |lease: Lease| matches!(lease.now(), Holding::Until(_));
        self.store.lease().is_none_or(is_ours)
    }

    async fn load(self: &Arc<Self>, id: &ThreadId) -> Result<Arc<ThreadHandle>, CoreError> {
        if !self.is_holder() {
            return Err(StoreError::NotHeld.into());
        }
        let loaded = self
            .store
            .load(id)
            .await?
            .ok_or_else(|| CoreError::from(Refusal::ThreadNotFound(id.clone())))?;
        let (owner, handle) = Owner::new(self.clone(), loaded.state, loaded.head_seq);
        self.start_owner(owner, None);
        Ok(handle)
    }

    /// Removes a Thread from the map, unless a handle of it exists or `idle` returns false. Returns whether it was removed.
    /// New handles come from the map, so under its lock the Thread stays unused.
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

    /// Removes a Thread that has ended from the map, unless a newer owner of it is there.
    pub(crate) fn remove(&self, id: &ThreadId, shared: &Arc<Shared>) {
        let mut live = self.live.lock();
        if live
            .get(id)
            .is_some_and(|cell| cell.get().is_some_and(|own| own.shares(shared)))
        {
            live.remove(id);
        }
    }

    /// Returns the live subagents of a tree with open Approvals.
    pub(crate) fn descendants_that_ask(&self, top: &ThreadId) -> Vec<Arc<ThreadHandle>> {
        if self.open_in_subagents.load(Ordering::Acquire) == 0 {
            // A fast path, since every new subscription asks for this.
            return Vec::new();
        }
        let live = self.live.lock();
        let handles = live.values().filter_map(|cell| cell.get());
        handles
            .filter(|handle| handle.root() == Some(top) && handle.open() > 0)
            .cloned()
            .collect()
    }

    /// Returns the number of clients that can answer a Thread's Approvals now.
    pub(crate) fn approvers_of(&self, id: &ThreadId) -> usize {
        let live = self.live.lock();
        let handle = live.get(id).and_then(|cell| cell.get());
        handle.map_or(0, |handle| handle.approvers())
    }

    fn forget(&self, id: &ThreadId, cell: &Cell) {
        let mut live = self.live.lock();
        if live.get(id).is_some_and(|known| Arc::ptr_eq(known, cell)) {
            live.remove(id);
        }
    }

    /// Removes the cell of a failed load from the map, unless other callers wait at it. They load by themselves, and must
    /// use the one cell in the map: a second cell could give the Thread two owners.
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

    /// Returns a live Thread's present approval policy, and its parent.
    pub(crate) fn live_policy(&self, id: &ThreadId) -> Option<(ApprovalPolicy, Option<ThreadId>)> {
        let live = self.live.lock();
        let handle = live.get(id)?.get()?;
        Some((handle.policy(), handle.parent().cloned()))
    }
}
