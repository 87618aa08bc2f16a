//! Answers of owners to commands: values only.

use std::sync::Arc;

use bobbin_model::{Edge, QueuedInput, Seq, SubAgentSource, ThreadState, Turn, TurnId};

use bobbin_agent_api::undo::Undone;

/// A Thread at one Seq.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Seq up to which the state includes everything, text of open Items too.
    pub at: Seq,
    /// The state.
    pub state: Arc<ThreadState>,
}

/// A subagent, and its edge to the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edged {
    /// Its place in the tree.
    pub source: SubAgentSource,
    /// The edge.
    pub edge: Edge,
}

/// A Turn that has just started.
#[derive(Debug, Clone)]
pub struct StartedTurn {
    /// The Turn, with the user's message.
    pub turn: Turn,
    /// Seq of its first event.
    pub seq: Seq,
}

/// A Thread that has just been resumed.
#[derive(Debug, Clone)]
pub struct Resumed {
    /// Seq of the first event of the resume.
    pub first: Seq,
    /// Seq of its last event.
    pub last: Seq,
    /// The Thread.
    pub snapshot: Snapshot,
}

/// A queue that has just changed.
#[derive(Debug, Clone)]
pub struct QueueChanged {
    /// Seq of the change.
    pub seq: Seq,
    /// The whole queue.
    pub queue: Vec<QueuedInput>,
}

/// A Thread whose newest Turns have just been rolled back.
#[derive(Debug, Clone)]
pub struct RolledBack {
    /// The Thread.
    pub snapshot: Snapshot,
    /// The newest remaining Turns, oldest first.
    pub turns: Vec<Turn>,
    /// Whether there are Turns before these.
    pub more: bool,
}

/// A Turn whose file changes have just been undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// The Turn.
    pub turn: TurnId,
    /// The result of the undo.
    pub undone: Undone,
}

/// A queued input that has just become guidance.
#[derive(Debug, Clone)]
pub struct Steered {
    /// Seq of the change.
    pub seq: Seq,
    /// The Turn it is for.
    pub turn: TurnId,
    /// Whether that Turn still runs.
    pub running: bool,
    /// The whole queue.
    pub queue: Vec<QueuedInput>,
}

/// An input that has just been queued.
#[derive(Debug, Clone)]
pub struct Enqueued {
    /// Seq of the change.
    pub seq: Seq,
    /// The Turn that the input started at once, if it still runs.
    pub started: Option<TurnId>,
    /// The new entry.
    pub entry: QueuedInput,
    /// The whole queue with it.
    pub queue: Vec<QueuedInput>,
}
