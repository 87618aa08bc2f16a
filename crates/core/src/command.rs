//! Requests about one Thread, on their way to its owner.
//!
//! The owner answers a command by calling a closure, in its own task and without blocking. It does so before readers can see
//! the events of the command, so a response precedes its notifications.

use std::sync::Arc;

use bobbin_model::state::{QueueChange, StartTurn, StatusChange};
use bobbin_model::{
    DynamicTool, EdgeStatus, GivenMessage, Mode, QueuedInputId, Sender, ThreadConfig, ThreadId, TokenUsage,
    TurnId,
};

use bobbin_agent_api::Once;

use crate::CoreError;
use crate::answer::{
    Edged, Enqueued, QueueChanged, Resumed, Reverted, RolledBack, Snapshot, StartedTurn, Steered,
};
use crate::engine::Answer;
use bobbin_agent_api::undo::ChangedSince;

/// Receives a command's answer. Must not block.
pub type Reply<T> = Box<dyn FnOnce(Result<T, CoreError>) + Send>;

/// A new title for a Thread that no user has renamed.
pub struct Retitle {
    /// The title that the Thread must still have.
    pub before: String,
    /// The new title.
    pub display_name: String,
    /// Tokens and cost of writing it, which are added to the first Turn.
    pub spent: (TokenUsage, u64),
    /// Takes the answer, also if nothing has changed.
    pub reply: Reply<()>,
}

/// A request about one Thread.
pub enum Command {
    /// Rename it.
    Rename {
        /// The title.
        display_name: String,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Rename it, unless a user has renamed it.
    Retitle(Retitle),
    /// Set or remove one of its labels.
    Label {
        /// The label.
        name: String,
        /// The new value; `None` removes the label.
        value: Option<String>,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Pause, archive, unarchive.
    Status {
        /// The change.
        change: StatusChange,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Resume it; `by` is the client's name.
    Resume {
        /// Name of the client.
        by: String,
        /// Tools that the client declares, in place of earlier ones.
        tools: Option<Arc<[DynamicTool]>>,
        /// Takes the answer.
        reply: Reply<Resumed>,
    },
    /// Replace its configuration.
    Configure {
        /// The configuration.
        config: ThreadConfig,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Set its mode.
    SetMode {
        /// The mode.
        mode: Mode,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Start a Turn.
    StartTurn {
        /// The new Turn.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<StartedTurn>,
    },
    /// Start a Turn after a conversation that the client sends, if the client stores the history.
    StartTurnAfter {
        /// The conversation before it.
        messages: Arc<[GivenMessage]>,
        /// The new Turn.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<StartedTurn>,
    },
    /// Queue an input; start its Turn if none runs.
    Enqueue {
        /// The Turn of the input.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<Enqueued>,
    },
    /// Like `Enqueue`, for an input that also starts after a Turn that failed or was stopped.
    EnqueueNext {
        /// The Turn of the input.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<Enqueued>,
    },
    /// Like `Enqueue`, for an input that starts no Turn: the next model call gets it.
    LeaveMessage {
        /// The Turn that the input would have.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<Enqueued>,
    },
    /// Execute a command, unless it was executed under this id before; then repeat the answer.
    Once {
        /// The id.
        once: Once,
        /// The command.
        command: Box<Command>,
    },
    /// Change the queue.
    ChangeQueue {
        /// The change.
        change: QueueChange,
        /// Takes the answer.
        reply: Reply<QueueChanged>,
    },
    /// Give an input to the running Turn.
    Steer {
        /// The input.
        what: Guidance,
        /// The Turn that must run.
        expected: String,
        /// Takes the answer.
        reply: Reply<Steered>,
    },
    /// Give an input to this running Turn and no other.
    Guide {
        /// The input and its sender.
        request: StartTurn,
        /// The Turn.
        turn: TurnId,
        /// An earlier input that this one is appended to, if it still waits.
        replaces: Option<QueuedInputId>,
        /// Takes the id of the entry.
        reply: Reply<QueuedInputId>,
    },
    /// Roll back the newest Turns.
    RollBack {
        /// The Turns.
        which: Newest,
        /// Most bytes, roughly, of the remaining Turns in the answer.
        max_bytes: usize,
        /// Takes the answer.
        reply: Reply<RolledBack>,
    },
    /// Undo the file changes of a Turn, or make them again.
    Revert {
        /// The Turn.
        turn: String,
        /// Whether they are made again.
        redo: bool,
        /// Treatment of files that have changed since.
        changed_since: ChangedSince,
        /// Takes the answer.
        reply: Reply<Reverted>,
    },
    /// Stop a Turn; an empty text means the running Turn.
    Interrupt {
        /// The Turn.
        turn: String,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Answer an Approval.
    Answer {
        /// The answer.
        answer: Answer,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Open or close the edge between a subagent and its parent. Closing stops what runs.
    Edge {
        /// The Thread that must be the parent.
        parent: ThreadId,
        /// The new status.
        status: EdgeStatus,
        /// Takes the answer.
        reply: Reply<Edged>,
    },
    /// Stop the running Turn, if there is one, for its caller.
    Stop {
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Stop the Turn that the parent's Turn started in this subagent, since that Turn is over. Remove the
    /// inputs that it queued. A user's Turn goes on.
    ParentEnded {
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Apply a command for the parent to its subagent: archive, unarchive or delete.
    WithParent(Box<Command>),
    /// Return a snapshot.
    Read {
        /// Takes the answer.
        reply: Reply<Snapshot>,
    },
    /// Delete it.
    Delete {
        /// Takes the answer.
        reply: Reply<()>,
    },
}

impl Command {
    /// Whether a stopping server refuses it. Such a command may start a Turn, or ends a Turn for a parent whose own Turn
    /// goes on at the next start.
    pub(crate) fn is_for_a_running_server(&self) -> bool {
        matches!(
            self,
            Self::StartTurn { .. }
                | Self::StartTurnAfter { .. }
                | Self::Enqueue { .. }
                | Self::EnqueueNext { .. }
                | Self::LeaveMessage { .. }
                | Self::Stop { .. }
                | Self::ParentEnded { .. }
        )
    }

    /// Answers the command with an error.
    pub(crate) fn refuse(self, error: CoreError) {
        match self {
            Self::Rename { reply, .. }
            | Self::Retitle(Retitle { reply, .. })
            | Self::Label { reply, .. }
            | Self::Status { reply, .. }
            | Self::Configure { reply, .. }
            | Self::SetMode { reply, .. }
            | Self::Interrupt { reply, .. }
            | Self::Answer { reply, .. }
            | Self::Stop { reply }
            | Self::ParentEnded { reply }
            | Self::Delete { reply } => reply(Err(error)),
            Self::Edge { reply, .. } => reply(Err(error)),
            Self::Resume { reply, .. } => reply(Err(error)),
            Self::Read { reply } => reply(Err(error)),
            Self::RollBack { reply, .. } => reply(Err(error)),
            Self::Revert { reply, .. } => reply(Err(error)),
            Self::Steer { reply, .. } => reply(Err(error)),
            Self::Guide { reply, .. } => reply(Err(error)),
            Self::StartTurn { reply, .. } | Self::StartTurnAfter { reply, .. } => reply(Err(error)),
            Self::Once { command, .. } | Self::WithParent(command) => command.refuse(error),
            Self::Enqueue { reply, .. }
            | Self::EnqueueNext { reply, .. }
            | Self::LeaveMessage { reply, .. } => reply(Err(error)),
            Self::ChangeQueue { reply, .. } => reply(Err(error)),
        }
    }
}

/// An input for the running Turn.
#[derive(Debug, Clone)]
pub enum Guidance {
    /// An entry of the queue.
    Queued {
        /// The entry.
        id: QueuedInputId,
        /// The sender, in place of the one who queued it.
        sender: Option<Sender>,
    },
    /// A new input. If the Turn ends first, it waits in the queue.
    New(Box<StartTurn>),
}

/// The newest Turns of a Thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest {
    /// This many.
    Count(u32),
    /// This Turn and all later ones.
    From(TurnId),
}
