//! Requests concerning one Thread, on their way to its owner.
//!
//! An answer is a closure the owner calls, in its own task and without waiting, *before* readers can see
//! what the command caused. That is how a response precedes the notifications it causes.

use std::sync::Arc;

use bobbin_model::state::{StartTurn, StatusChange};
use bobbin_model::{
    DynamicTool, EdgeStatus, GivenMessage, Mode, QueuedInputId, Sender, ThreadConfig, ThreadId, TokenUsage,
    TurnId,
};

use bobbin_agent_api::Once;

use crate::CoreError;
use crate::answer::{
    Edged, Enqueued, Resumed, Reverted, RolledBack, Snapshot, StartedTurn, Steered, Unqueued,
};
use crate::engine::Answer;
use bobbin_agent_api::undo::ChangedSince;

/// Takes a command's answer. Must not wait.
pub type Reply<T> = Box<dyn FnOnce(Result<T, CoreError>) + Send>;

/// A title for a Thread that has got none of a user's.
pub struct Retitle {
    /// The title that it must still have.
    pub before: String,
    /// The new one.
    pub display_name: String,
    /// Tokens and cost of writing it, which count in the first Turn.
    pub spent: (TokenUsage, u64),
    /// Takes the answer; also where nothing has changed.
    pub reply: Reply<()>,
}

/// A request concerning one Thread.
pub enum Command {
    /// Give it another title.
    Rename {
        /// The title.
        display_name: String,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Give it another title, unless it has got one of a user's.
    Retitle(Retitle),
    /// Set one of its labels, or take it away.
    Label {
        /// The label.
        name: String,
        /// What it is to say; `None` to take it away.
        value: Option<String>,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Pause, archive, unarchive.
    Status {
        /// Which.
        change: StatusChange,
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Take it up again; `by` is the client's name.
    Resume {
        /// Name of the client.
        by: String,
        /// Tools that it brings along, in place of those there were.
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
    /// Begin a Turn.
    StartTurn {
        /// The Turn to be.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<StartedTurn>,
    },
    /// Begin a Turn after a conversation that its client hands in, where the client keeps the history.
    StartTurnAfter {
        /// The conversation before it.
        messages: Arc<[GivenMessage]>,
        /// The Turn to be.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<StartedTurn>,
    },
    /// Put an input into the queue; begins a Turn when none runs.
    Enqueue {
        /// What the Turn will be.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<Enqueued>,
    },
    /// The same, for an input that is not to wait for a word when the Turn before it fails or is stopped.
    EnqueueNext {
        /// What the Turn is to be.
        request: StartTurn,
        /// Takes the answer.
        reply: Reply<Enqueued>,
    },
    /// Carry a command out unless it was carried out under this name before; then answer as before.
    Once {
        /// The name.
        once: Once,
        /// What to do.
        command: Box<Command>,
    },
    /// Take an input out of the queue.
    Unqueue {
        /// The entry.
        id: QueuedInputId,
        /// Takes the answer.
        reply: Reply<Unqueued>,
    },
    /// Give a queued input to the Turn that runs.
    Steer {
        /// The entry.
        id: QueuedInputId,
        /// The Turn that must be running.
        expected: String,
        /// Who says it, in place of who queued it.
        sender: Option<Sender>,
        /// Takes the answer.
        reply: Reply<Steered>,
    },
    /// Say something to the Turn that runs and to no other.
    Guide {
        /// What is said, and by whom.
        request: StartTurn,
        /// That Turn.
        turn: TurnId,
        /// An earlier word that this one goes behind, if it still waits.
        replaces: Option<QueuedInputId>,
        /// Takes the entry's id.
        reply: Reply<QueuedInputId>,
    },
    /// Take the newest Turns out of the conversation.
    RollBack {
        /// Which.
        which: Newest,
        /// About how many bytes of the Turns that are left are wanted with the answer.
        max_bytes: usize,
        /// Takes the answer.
        reply: Reply<RolledBack>,
    },
    /// Undo what a Turn did to files.
    Revert {
        /// The Turn.
        turn: String,
        /// What happens to files that have changed since.
        changed_since: ChangedSince,
        /// Takes the answer.
        reply: Reply<Reverted>,
    },
    /// Stop a Turn; an empty text means the one that runs.
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
        /// Which.
        status: EdgeStatus,
        /// Takes the answer.
        reply: Reply<Edged>,
    },
    /// Stop the Turn that runs, if one does: what it belongs to is over.
    Stop {
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Stop what the parent's Turn started in a subagent, since that Turn is over, and drop the inputs it left in the queue. A
    /// Turn of a user goes on.
    ParentEnded {
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Do to a subagent what is done to its parent: archive, unarchive or delete it.
    WithParent(Box<Command>),
    /// Say how things stand.
    Read {
        /// Takes the answer.
        reply: Reply<Snapshot>,
    },
    /// Remove it for good.
    Delete {
        /// Takes the answer.
        reply: Reply<()>,
    },
}

impl Command {
    /// Whether a server that stops refuses it: it may start a Turn, or it ends one for a parent whose own Turn goes on at
    /// the next start.
    pub(crate) fn is_for_a_running_server(&self) -> bool {
        matches!(
            self,
            Self::StartTurn { .. }
                | Self::StartTurnAfter { .. }
                | Self::Enqueue { .. }
                | Self::EnqueueNext { .. }
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
            Self::Enqueue { reply, .. } | Self::EnqueueNext { reply, .. } => reply(Err(error)),
            Self::Unqueue { reply, .. } => reply(Err(error)),
        }
    }
}

/// The newest Turns of a Thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newest {
    /// So many.
    Count(u32),
    /// This one and all after it.
    From(TurnId),
}
