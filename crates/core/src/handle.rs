//! How the rest of the server talks to a live Thread: commands, their answers, and the log.
//!
//! An answer is a closure the owner calls, in its own task and without waiting, *before* readers can see
//! what the command caused. That is how a response precedes the notifications it causes.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use bobbin_model::state::{StartTurn, StatusChange};
use bobbin_model::{
    ApprovalPolicy, DynamicTool, Edge, EdgeStatus, GivenMessage, Mode, QueuedInput, QueuedInputId, Refusal,
    Sender, Seq, SubAgentSource, ThreadConfig, ThreadHeader, ThreadId, ThreadState, Turn, TurnId,
};
use tokio::sync::mpsc;

use crate::Once;
use crate::engine::Answer;
use crate::undo::{ChangedSince, Undone};
use crate::{CoreError, Frame, Log};

/// Takes a command's answer. Must not wait.
pub type Reply<T> = Box<dyn FnOnce(Result<T, CoreError>) + Send>;

/// A wish concerning one Thread.
pub enum Command {
    /// Give it another title.
    Rename {
        /// The title.
        display_name: String,
        /// Takes the answer.
        reply: Reply<()>,
    },
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
        wish: StartTurn,
        /// Takes the answer.
        reply: Reply<StartedTurn>,
    },
    /// Begin a Turn after a conversation that its client hands in, where the client keeps the history.
    StartTurnAfter {
        /// The conversation before it.
        messages: Arc<[GivenMessage]>,
        /// The Turn to be.
        wish: StartTurn,
        /// Takes the answer.
        reply: Reply<StartedTurn>,
    },
    /// Put an input into the queue; begins a Turn when none runs.
    Enqueue {
        /// What the Turn will be.
        wish: StartTurn,
        /// Takes the answer.
        reply: Reply<Enqueued>,
    },
    /// The same, for an input that is not to wait for a word when the Turn before it fails or is stopped.
    EnqueueNext {
        /// What the Turn is to be.
        wish: StartTurn,
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
        wish: StartTurn,
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
        /// What happens to files that somebody has changed since.
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
    /// Open or close the edge to the Thread above, of a subagent. Closing stops what runs.
    Edge {
        /// The Thread that must be above.
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
    /// Let go of a subagent whose Turn above is over: what that began in it is stopped, what it left for later is taken
    /// out of the queue, and what a person does there goes on.
    LetGo {
        /// Takes the answer.
        reply: Reply<()>,
    },
    /// Do to a subagent what is done to the Thread above: archive, unarchive or delete it.
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
    /// Whether it may begin a Turn.
    pub(crate) fn begins_a_turn(&self) -> bool {
        matches!(
            self,
            Self::StartTurn { .. }
                | Self::StartTurnAfter { .. }
                | Self::Enqueue { .. }
                | Self::EnqueueNext { .. }
        )
    }

    /// Answers the command with an error.
    pub(crate) fn refuse(self, error: CoreError) {
        match self {
            Self::Rename { reply, .. }
            | Self::Label { reply, .. }
            | Self::Status { reply, .. }
            | Self::Configure { reply, .. }
            | Self::SetMode { reply, .. }
            | Self::Interrupt { reply, .. }
            | Self::Answer { reply, .. }
            | Self::Stop { reply }
            | Self::LetGo { reply }
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

/// A Thread at one Seq.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Everything up to and including this is in it, text of open Items included.
    pub at: Seq,
    /// The state.
    pub state: Arc<ThreadState>,
}

/// A subagent whose edge to the Thread above is as it says here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edged {
    /// Where it hangs.
    pub source: SubAgentSource,
    /// The edge.
    pub edge: Edge,
}

/// A Turn that has just begun.
#[derive(Debug, Clone)]
pub struct StartedTurn {
    /// The Turn, with what the user said.
    pub turn: Turn,
    /// Seq of its first event.
    pub seq: Seq,
}

/// A Thread that has just been taken up again.
#[derive(Debug, Clone)]
pub struct Resumed {
    /// Seq of the first event this caused.
    pub first: Seq,
    /// Seq of the last.
    pub last: Seq,
    /// The Thread.
    pub snapshot: Snapshot,
}

/// A queue that has just changed.
#[derive(Debug, Clone)]
pub struct Unqueued {
    /// Seq of the change.
    pub seq: Seq,
    /// The whole queue.
    pub queue: Vec<QueuedInput>,
}

/// A Thread whose newest Turns have just been taken out.
#[derive(Debug, Clone)]
pub struct RolledBack {
    /// The Thread.
    pub snapshot: Snapshot,
    /// The newest of the Turns that are left, oldest first.
    pub turns: Vec<Turn>,
    /// Whether there are Turns before them.
    pub more: bool,
}

/// A Turn whose file changes have just been undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverted {
    /// The Turn.
    pub turn: TurnId,
    /// What was undone, and what was not.
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
    /// The Turn it began at once, when none ran and that one still runs.
    pub started: Option<TurnId>,
    /// The new entry.
    pub entry: QueuedInput,
    /// The whole queue with it.
    pub queue: Vec<QueuedInput>,
}

/// Why a Thread is live no more although somebody still holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was deleted.
    Deleted,
    /// The store could not record it; it will be loaded again as it is on disk.
    Failed,
    /// The server is going down.
    Stopped,
}

/// Commands that may wait for one owner. More senders wait; the owner waits for nobody but the store.
const COMMAND_QUEUE: usize = 64;

/// A live Thread. Holding one keeps it loaded.
pub struct ThreadHandle {
    id: ThreadId,
    /// The Thread at the top of the tree, of a subagent.
    above: Option<ThreadId>,
    /// The Thread right above, of a subagent.
    parent: Option<ThreadId>,
    log: Arc<Log<Arc<Frame>>>,
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
}

/// What an owner and the holders of its handle both see.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    approvers: AtomicUsize,
    /// Those of them that are asked what a model wants to know.
    asked: AtomicUsize,
    /// How its Approvals are decided now, for its subagents.
    policy: AtomicU8,
    /// Approvals that are open.
    open: AtomicUsize,
    ended: OnceLock<Ended>,
}

impl Shared {
    pub(crate) fn end(&self, why: Ended) {
        // The first reason stands.
        let _ = self.ended.set(why);
    }

    pub(crate) fn approvers(&self) -> usize {
        self.approvers.load(Ordering::Acquire)
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Acquire)
    }

    pub(crate) fn set_policy(&self, policy: ApprovalPolicy) {
        let number = match policy {
            ApprovalPolicy::Default => 0,
            ApprovalPolicy::AutoApprove => 1,
            ApprovalPolicy::Interrupt => 2,
        };
        self.policy.store(number, Ordering::Release);
    }

    pub(crate) fn set_open(&self, open: usize) {
        self.open.store(open, Ordering::Release);
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    fn policy(&self) -> ApprovalPolicy {
        match self.policy.load(Ordering::Acquire) {
            1 => ApprovalPolicy::AutoApprove,
            2 => ApprovalPolicy::Interrupt,
            _ => ApprovalPolicy::Default,
        }
    }
}

impl ThreadHandle {
    pub(crate) fn new(
        header: &ThreadHeader,
        log: Arc<Log<Arc<Frame>>>,
        shared: Arc<Shared>,
    ) -> (Self, mpsc::Receiver<Command>) {
        let (commands, inbox) = mpsc::channel(COMMAND_QUEUE);
        (
            Self {
                id: header.id.clone(),
                above: header.source.sub_agent().map(|source| source.root.clone()),
                parent: header.source.sub_agent().map(|source| source.parent.clone()),
                log,
                shared,
                commands,
            },
            inbox,
        )
    }

    pub(crate) fn shares(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Returns the Thread's id.
    pub fn id(&self) -> &ThreadId {
        &self.id
    }

    /// Returns the Thread at the top of the tree, of a subagent.
    pub fn above(&self) -> Option<&ThreadId> {
        self.above.as_ref()
    }

    /// Returns the Thread right above, of a subagent.
    pub(crate) fn parent(&self) -> Option<&ThreadId> {
        self.parent.as_ref()
    }

    /// Returns how many Approvals are open in it.
    pub(crate) fn open(&self) -> usize {
        self.shared.open()
    }

    /// Returns how its Approvals are decided now.
    pub(crate) fn policy(&self) -> ApprovalPolicy {
        self.shared.policy()
    }

    /// Returns how many clients can answer what it asks.
    pub(crate) fn approvers(&self) -> usize {
        self.shared.approvers()
    }

    /// Returns how many clients are asked what a model wants to know in it.
    pub(crate) fn asked(&self) -> usize {
        self.shared.asked()
    }

    /// Returns its log.
    pub fn log(&self) -> &Arc<Log<Arc<Frame>>> {
        &self.log
    }

    /// Hands over a command, waiting for room. When the owner is gone the command is answered with why.
    pub async fn send(&self, command: Command) {
        if let Err(unsent) = self.commands.send(command).await {
            unsent.0.refuse(match self.ended() {
                Some(Ended::Deleted) => Refusal::ThreadNotFound(self.id.clone()).into(),
                Some(Ended::Failed) => CoreError::Busy,
                Some(Ended::Stopped) | None => CoreError::Stopping,
            });
        }
    }

    /// Counts one more Subscription whose client answers Approvals.
    pub fn add_approver(&self) {
        self.shared.approvers.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one fewer.
    pub fn remove_approver(&self) {
        self.shared.approvers.fetch_sub(1, Ordering::AcqRel);
    }

    /// Counts one more Subscription whose client is asked what a model wants to know.
    pub fn add_asked(&self) {
        self.shared.asked.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one fewer.
    pub fn remove_asked(&self) {
        self.shared.asked.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns why the Thread is no longer live, once it is not.
    pub fn ended(&self) -> Option<Ended> {
        self.shared.ended.get().copied()
    }
}

impl fmt::Debug for ThreadHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadHandle")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
