//! Reads Threads: lists, text searches, snapshots, and ended Turns in pages.

use std::sync::Arc;

use bobbin_model::{Event, Spent, ThreadId, Turn, TurnDiff, TurnId};
use bobbin_store::{
    FoundThread, ListFilter, SearchFilter, SearchPage, ThreadSearch, ThreadSummary, UsageQuery, UsageRow,
    UsedRow,
};

use super::Threads;
use crate::answer::Snapshot;
use crate::owner::weight_of_turn;
use crate::{Command, CoreError, FrameBody, Read, ThreadHandle, Waker};

/// Bytes of a log that are read at once.
const READ_BYTES: usize = 64 << 10;
/// Turns read at once when a Thread is shown.
const TURN_PAGE: u32 = 16;

impl Threads {
    /// Lists Threads, newest activity first.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn list(&self, filter: ListFilter) -> Result<Vec<ThreadSummary>, CoreError> {
        Ok(self.store.list(filter).await?)
    }

    /// Searches for text in the history of the Threads that a client may see.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn search(&self, filter: SearchFilter) -> Result<SearchPage, CoreError> {
        Ok(self.store.search(filter).await?)
    }

    /// Sums what Turns used.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn usage(&self, query: UsageQuery) -> Result<(Vec<UsageRow>, Vec<UsedRow>), CoreError> {
        Ok(self.store.usage(query).await?)
    }

    /// Finds Threads by what was said in them.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn search_threads(&self, search: ThreadSearch) -> Result<Vec<FoundThread>, CoreError> {
        Ok(self.store.search_threads(search).await?)
    }

    /// Reads a Thread's present state.
    ///
    /// # Errors
    /// As [`Threads::thread`].
    pub async fn snapshot(self: &Arc<Self>, handle: &ThreadHandle) -> Result<Snapshot, CoreError> {
        handle.ask(|reply| Command::Read { reply }).await
    }

    /// Waits until a Turn no longer runs.
    ///
    /// # Errors
    /// As [`Threads::thread`]; [`CoreError::Busy`] if the Thread's owner ends.
    pub async fn turn_over(self: &Arc<Self>, handle: &ThreadHandle, turn: TurnId) -> Result<(), CoreError> {
        let waker = Waker::default();
        handle.log().watch(&waker);
        let over = self.over(handle, turn, &waker).await;
        handle.log().unwatch(&waker);
        over
    }

    async fn over(
        self: &Arc<Self>,
        handle: &ThreadHandle,
        turn: TurnId,
        waker: &Waker,
    ) -> Result<(), CoreError> {
        loop {
            let snapshot = self.snapshot(handle).await?;
            if snapshot.state.live_turn() != Some(turn) {
                return Ok(());
            }
            let mut next = snapshot.at.next();
            while let Read::Entries { entries, next: after } = handle.log().read(next, READ_BYTES) {
                next = after;
                let ends = |body: &FrameBody| {
                    matches!(body, FrameBody::Recorded(event)
                        if matches!(&**event, Event::TurnEnded { turn: ended, .. } if *ended == turn))
                };
                if entries.iter().any(|frame| ends(&frame.body)) {
                    return Ok(());
                }
                if entries.is_empty() {
                    if handle.ended().is_some() {
                        return Err(CoreError::Busy);
                    }
                    waker.woken().await;
                }
            }
        }
    }

    /// Reads the newest ended Turns of a snapshot's Thread, oldest first: those before `before` (`None` means all), at most
    /// `limit`, and about `max_bytes` but at least one. Returns whether there are more before them.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn turns_of(
        &self,
        snapshot: &Snapshot,
        before: Option<TurnId>,
        limit: usize,
        max_bytes: usize,
    ) -> Result<(Vec<Turn>, bool), CoreError> {
        let state = &snapshot.state;
        let end = state
            .live_turn()
            .unwrap_or(TurnId(state.last_turn.0.saturating_add(1)));
        let mut next = before.map_or(end, |before| before.min(end));
        // Newest first here, and reversed at the end.
        let (mut turns, mut bytes) = (Vec::new(), 0);
        // One Turn first, since it may fill `max_bytes` alone.
        let mut count = 1;
        let mut full = false;
        while !full && next.0 > 1 && turns.len() < limit {
            let wanted = u32::try_from(limit - turns.len()).unwrap_or(TURN_PAGE).min(count);
            let page = self.store.turns_before(&state.header.id, next, wanted).await?;
            let last = page.len() < wanted as usize;
            let oldest = page.first().map(|turn| turn.id);
            for turn in page.into_iter().rev() {
                bytes += weight_of_turn(&turn);
                full = bytes > max_bytes && !turns.is_empty();
                if full {
                    break;
                }
                turns.push(turn);
            }
            next = oldest.filter(|_| !last).unwrap_or(TurnId(1));
            count = (count * 2).min(TURN_PAGE);
        }
        turns.reverse();
        let more = match turns.first() {
            Some(first) if first.id.0 > 1 => self
                .store
                .turn_back(&state.header.id, first.id, 1)
                .await?
                .is_some(),
            _ => false,
        };
        Ok((turns, more))
    }

    /// Reads up to `limit` Turns of a Thread before a Turn, oldest first.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn turns_before(
        &self,
        id: &ThreadId,
        before: TurnId,
        limit: u32,
    ) -> Result<Vec<Turn>, CoreError> {
        Ok(self.store.turns_before(id, before, limit).await?)
    }

    /// Reads the last recorded diff of a Turn's file changes. `None` if it changed no file.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn diff(&self, id: &ThreadId, turn: TurnId) -> Result<Option<TurnDiff>, CoreError> {
        Ok(self.store.diff(id, turn).await?)
    }

    /// Returns the total usage of a snapshot's Thread, including rolled-back Turns.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn spent(&self, snapshot: &Snapshot) -> Result<Spent, CoreError> {
        let state = &snapshot.state;
        let live = state.live.as_ref();
        let next = live.map_or(TurnId(state.last_turn.0 + 1), |live| live.turn.id);
        let mut spent = self.store.spent(&state.header.id, next).await?;
        if let Some(live) = live {
            spent.add(live.turn.usage, live.turn.cost_micros);
        }
        Ok(spent)
    }

    /// Finds the Turn that is `count` positions before a Turn, if there is one.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn turn_back(
        &self,
        id: &ThreadId,
        before: TurnId,
        count: u32,
    ) -> Result<Option<TurnId>, CoreError> {
        Ok(self.store.turn_back(id, before, count).await?)
    }
}
