//! The store as the rest of the server sees it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bobbin_model::{
    Edge, Runtime, Scope, Seq, Spent, StandingAnswer, ThreadHeader, ThreadId, ThreadState, Turn, TurnDiff,
    TurnId,
};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{
    AuditEntry, AuditRow, FoundThread, KnownRequest, Lease, ListFilter, SearchFilter, SearchPage, StoreError,
    StoredEvent, ThreadSearch, UsageQuery, UsageRow, UsedRow, Write,
};

/// The future result of a store operation.
type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Durable storage of Threads.
pub trait Store: Send + Sync + 'static {
    /// Submits a write, waiting for room in the writer's queue. The writes of one caller are committed in the order
    /// of their submission.
    fn submit(&self, write: Write) -> Answer<'_, Receipt>;

    /// Reads a Thread with its open Turn, or `None` when there is none.
    fn load(&self, id: &ThreadId) -> Answer<'_, Option<LoadedThread>>;

    /// Lists Threads, newest activity first, ties by id, newest first.
    fn list(&self, filter: ListFilter) -> Answer<'_, Vec<ThreadSummary>>;

    /// Lists the subagents of a Thread, oldest first: at most the newest `limit`. Subagents with a closed edge are
    /// included only if `closed` says so.
    fn children(&self, parent: &ThreadId, closed: Closed, limit: u32) -> Answer<'_, Vec<ThreadSummary>>;

    /// Returns every descendant of a Thread in the tree of subagents, the deepest first.
    fn descendants(&self, top: &ThreadId) -> Answer<'_, Vec<ThreadId>>;

    /// Searches the history; newest hits first.
    fn search(&self, filter: SearchFilter) -> Answer<'_, SearchPage>;

    /// Finds Threads by what was said in them.
    fn search_threads(&self, search: ThreadSearch) -> Answer<'_, Vec<FoundThread>>;

    /// Reads the newest `limit` Turns before a Turn with their Items, in order, without Turns that were rolled
    /// back.
    fn turns_before(&self, id: &ThreadId, before: TurnId, limit: u32) -> Answer<'_, Vec<Turn>>;

    /// Finds the Turn that is `count` places before a Turn, without Turns that were rolled back. `count` is at
    /// least 1.
    fn turn_back(&self, id: &ThreadId, before: TurnId, count: u32) -> Answer<'_, Option<TurnId>>;

    /// Counts a Turn and all later ones, without Turns that were rolled back; zero if the Turn itself was rolled
    /// back.
    fn turns_from(&self, id: &ThreadId, first: TurnId) -> Answer<'_, u32>;

    /// Sums the usage of all Turns before a Turn, including Turns that were rolled back.
    fn spent(&self, id: &ThreadId, before: TurnId) -> Answer<'_, Spent>;

    /// Sums what Turns used, rolled-back ones included: the Turns, and their uses of tools and skills.
    fn usage(&self, query: UsageQuery) -> Answer<'_, (Vec<UsageRow>, Vec<UsedRow>)>;

    /// Reads one Turn with its Items, rolled back or not.
    fn turn(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<Turn>>;

    /// Reads what a Turn changed in files, if it changed any.
    fn diff(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<TurnDiff>>;

    /// Reads up to `limit` events in order, after the Seq `after` and up to the Seq `up_to`.
    fn events(&self, id: &ThreadId, after: Seq, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>>;

    /// Reads the newest `limit` events up to a Seq, in order.
    fn recent_events(&self, id: &ThreadId, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>>;

    /// Returns the Threads whose newest Turn has not ended.
    fn threads_with_open_turns(&self) -> Answer<'_, Vec<ThreadId>>;

    /// Whether an operation is covered by an answer for ever.
    fn is_remembered(&self, scope: &Scope) -> Answer<'_, bool>;

    /// Reads up to `limit` answers for ever, in a fixed order.
    fn standing_answers(&self, limit: u32) -> Answer<'_, Vec<StandingAnswer>>;

    /// Removes these answers for ever, or all (`None`).
    fn forget_answers(&self, answers: Option<Vec<StandingAnswer>>) -> Answer<'_, ()>;

    /// Adds entries to the audit, and removes those up to the number `cut`.
    fn record(&self, entries: Vec<AuditEntry>, cut: Option<u64>) -> Answer<'_, ()>;

    /// Reads up to `limit` rows of the audit after the number `after`, oldest first.
    fn audit(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditRow>>;

    /// Looks up a named request: about a Thread, or (`None`) one that created a Thread.
    fn request(&self, about: Option<&ThreadId>, id: &str) -> Answer<'_, Option<KnownRequest>>;

    /// Returns the lease of the workspace; `None` where a lock on a file of this machine excludes other processes.
    fn lease(&self) -> Option<Lease> {
        None
    }

    /// Returns statistics.
    fn stats(&self) -> StoreStats;

    /// Finishes the submitted writes and closes. Later calls fail with [`StoreError::Closed`].
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Whether to include subagents with a closed edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// Include them.
    Included,
    /// Leave them out.
    LeftOut,
}

/// Resolves when a write is committed, or with the error.
#[derive(Debug)]
pub struct Receipt(oneshot::Receiver<Result<(), StoreError>>);

impl Receipt {
    /// Makes a receipt; the holder of the sender resolves it.
    pub fn new(done: oneshot::Receiver<Result<(), StoreError>>) -> Self {
        Self(done)
    }
}

impl Future for Receipt {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0)
            .poll(context)
            .map(|done| done.unwrap_or(Err(StoreError::Closed)))
    }
}

/// A Thread as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedThread {
    /// Its state, with the open Turn.
    pub state: ThreadState,
    /// No Seq above this was ever shown to a client.
    pub head_seq: Seq,
}

/// A Thread as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSummary {
    /// Its header, without configuration.
    pub header: ThreadHeader,
    /// How many Turns it has.
    pub turn_count: u32,
    /// Its current activity.
    pub runtime: Runtime,
    /// The edge to the parent Thread, for a subagent.
    pub edge: Option<Edge>,
}

/// Statistics of a store since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreStats {
    /// Writes waiting for the writer.
    pub queued_writes: usize,
    /// Transactions committed.
    pub commits: u64,
    /// Writes in them.
    pub writes: u64,
    /// Events in them.
    pub events: u64,
    /// Transactions that were refused because this process is not, or may not be, the holder of the workspace's lease.
    pub fenced: u64,
    /// Whether the storage took nothing at the last attempt.
    pub is_stuck: bool,
}
