//! The store as the rest of the server sees it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bobbin_model::{
    Edge, Runtime, Scope, Seq, Spent, StandingAnswer, ThreadHeader, ThreadId, ThreadState, Turn, TurnId,
};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use crate::{KnownRequest, ListFilter, SearchFilter, SearchPage, StoreError, StoredEvent, Write};

/// A future of a store's answer.
type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Durable storage of Threads.
pub trait Store: Send + Sync + 'static {
    /// Hands over a write, waiting for room in the writer's queue. Writes of one caller are committed in
    /// the order of their submission.
    fn submit(&self, write: Write) -> Answer<'_, Receipt>;

    /// Reads a Thread with its open Turn, or `None` when there is none.
    fn load(&self, id: &ThreadId) -> Answer<'_, Option<LoadedThread>>;

    /// Lists Threads, newest activity first, ties by id, newest first.
    fn list(&self, filter: ListFilter) -> Answer<'_, Vec<ThreadSummary>>;

    /// Lists the subagents of a Thread, oldest first: at most the newest `limit`, those with a closed edge only
    /// where asked for.
    fn children(&self, parent: &ThreadId, closed: Closed, limit: u32) -> Answer<'_, Vec<ThreadSummary>>;

    /// Returns every Thread below one in its tree, those furthest from it first.
    fn descendants(&self, top: &ThreadId) -> Answer<'_, Vec<ThreadId>>;

    /// Finds text in the history, newest first.
    fn search(&self, filter: SearchFilter) -> Answer<'_, SearchPage>;

    /// Reads the newest `limit` Turns before a Turn with their Items, in order. Turns that were rolled back are
    /// not among them.
    fn turns_before(&self, id: &ThreadId, before: TurnId, limit: u32) -> Answer<'_, Vec<Turn>>;

    /// Finds the Turn that is `count` places before a Turn, those that were rolled back left out. `count` is
    /// at least 1.
    fn turn_back(&self, id: &ThreadId, before: TurnId, count: u32) -> Answer<'_, Option<TurnId>>;

    /// Counts a Turn and those after it, those that were rolled back left out; none if it was itself.
    fn turns_from(&self, id: &ThreadId, first: TurnId) -> Answer<'_, u32>;

    /// Adds up what the Turns before one have used, those that were rolled back too.
    fn spent(&self, id: &ThreadId, before: TurnId) -> Answer<'_, Spent>;

    /// Reads one Turn with its Items, rolled back or not.
    fn turn(&self, id: &ThreadId, turn: TurnId) -> Answer<'_, Option<Turn>>;

    /// Reads up to `limit` events after one number and up to another, in order.
    fn events(&self, id: &ThreadId, after: Seq, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>>;

    /// Reads the newest `limit` events up to a number, in order.
    fn recent_events(&self, id: &ThreadId, up_to: Seq, limit: u32) -> Answer<'_, Vec<StoredEvent>>;

    /// Returns the Threads whose newest Turn has not ended.
    fn threads_with_open_turns(&self) -> Answer<'_, Vec<ThreadId>>;

    /// Whether an operation was accepted for ever.
    fn is_remembered(&self, scope: &Scope) -> Answer<'_, bool>;

    /// Reads up to `limit` answers for ever, always in the same order.
    fn standing_answers(&self, limit: u32) -> Answer<'_, Vec<StandingAnswer>>;

    /// Removes these answers for ever, or all (`None`).
    fn forget_answers(&self, answers: Option<Vec<StandingAnswer>>) -> Answer<'_, ()>;

    /// Looks a named request up: about a Thread, or (`None`) one that made a Thread.
    fn request(&self, about: Option<&ThreadId>, id: &str) -> Answer<'_, Option<KnownRequest>>;

    /// Returns figures.
    fn stats(&self) -> StoreStats;

    /// Finishes what was handed over and closes. Later calls fail with [`StoreError::Closed`].
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Whether subagents with a closed edge are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// They are.
    Included,
    /// They are not.
    LeftOut,
}

/// Resolves when a write is committed, or with why it is not.
#[derive(Debug)]
pub struct Receipt(oneshot::Receiver<Result<(), StoreError>>);

impl Receipt {
    /// Makes a receipt that whoever holds the sender fulfils.
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

/// A Thread as it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedThread {
    /// Its state, with the open Turn.
    pub state: ThreadState,
    /// No Seq above this was ever shown.
    pub head_seq: Seq,
}

/// What a list shows of a Thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadSummary {
    /// Its header, without configuration.
    pub header: ThreadHeader,
    /// How many Turns it has.
    pub turn_count: u32,
    /// What it is doing.
    pub runtime: Runtime,
    /// The edge to the Thread above, of a subagent.
    pub edge: Option<Edge>,
}

/// Figures of a store since it was opened.
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
}
