//! The handle of a live Thread: its command queue, its log and the values that its owner publishes.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use bobbin_model::{ApprovalPolicy, Refusal, ThreadHeader, ThreadId};
use tokio::sync::{mpsc, oneshot};

use crate::{Command, CoreError, Frame, Log, Reply};

/// Reason why a handle's Thread is no longer live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was deleted.
    Deleted,
    /// The store could not record a change; the Thread will be loaded again from disk.
    Failed,
    /// The server is shutting down.
    Stopped,
}

/// Most commands that wait for one owner. More senders wait for room; the owner itself waits only for the store.
const COMMAND_QUEUE: usize = 64;

/// A live Thread. A handle prevents the Thread from being unloaded.
pub struct ThreadHandle {
    id: ThreadId,
    /// The root of the tree, for a subagent.
    root: Option<ThreadId>,
    /// The parent, for a subagent.
    parent: Option<ThreadId>,
    log: Arc<Log<Arc<Frame>>>,
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
}

/// Values shared by an owner and the users of its handle.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    approvers: AtomicUsize,
    /// Clients that get the questions of a model.
    asked: AtomicUsize,
    /// Present approval policy, for its subagents.
    policy: AtomicU8,
    /// Number of open Approvals.
    open: AtomicUsize,
    /// Whether a Turn has not ended.
    has_turn: AtomicBool,
    ended: OnceLock<Ended>,
}

impl Shared {
    pub(crate) fn end(&self, why: Ended) {
        // The first reason counts.
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
            ApprovalPolicy::Default | ApprovalPolicy::Ask => 0,
            ApprovalPolicy::AutoApprove => 1,
            ApprovalPolicy::Interrupt => 2,
            ApprovalPolicy::Sandboxed => 3,
            ApprovalPolicy::AskWrites => 4,
            ApprovalPolicy::Refuse => 5,
        };
        self.policy.store(number, Ordering::Release);
    }

    pub(crate) fn set_has_turn(&self, has_turn: bool) {
        self.has_turn.store(has_turn, Ordering::Release);
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
            3 => ApprovalPolicy::Sandboxed,
            4 => ApprovalPolicy::AskWrites,
            5 => ApprovalPolicy::Refuse,
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
                root: header.source.sub_agent().map(|source| source.root.clone()),
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

    /// Returns the root of the tree, for a subagent.
    pub fn root(&self) -> Option<&ThreadId> {
        self.root.as_ref()
    }

    /// Returns the parent, for a subagent.
    pub(crate) fn parent(&self) -> Option<&ThreadId> {
        self.parent.as_ref()
    }

    /// Whether a Turn in it has not ended.
    pub(crate) fn has_turn(&self) -> bool {
        self.shared.has_turn.load(Ordering::Acquire)
    }

    /// Returns the number of its open Approvals.
    pub(crate) fn open(&self) -> usize {
        self.shared.open()
    }

    /// Returns its present approval policy.
    pub(crate) fn policy(&self) -> ApprovalPolicy {
        self.shared.policy()
    }

    /// Returns the number of clients that can answer its Approvals.
    pub fn approvers(&self) -> usize {
        self.shared.approvers()
    }

    /// Returns its log.
    pub fn log(&self) -> &Arc<Log<Arc<Frame>>> {
        &self.log
    }

    /// Sends a command, waiting for room. If the owner has ended, the command is answered with the reason.
    pub async fn send(&self, command: Command) {
        if let Err(unsent) = self.commands.send(command).await {
            unsent.0.refuse(match self.ended() {
                Some(Ended::Deleted) => Refusal::ThreadNotFound(self.id.clone()).into(),
                Some(Ended::Failed) => CoreError::Busy,
                Some(Ended::Stopped) | None => CoreError::Stopping,
            });
        }
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// Those of the answer; [`CoreError::Stopping`] if there is none.
    pub async fn ask<T: Send + 'static>(
        &self,
        command: impl FnOnce(Reply<T>) -> Command,
    ) -> Result<T, CoreError> {
        let (done, answered) = oneshot::channel();
        // The caller may have left.
        let reply = Box::new(move |result| drop(done.send(result)));
        self.send(command(reply)).await;
        answered.await.unwrap_or(Err(CoreError::Stopping))
    }

    /// Counts one more Subscription whose client answers Approvals.
    pub fn add_approver(&self) {
        self.shared.approvers.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one fewer.
    pub fn remove_approver(&self) {
        self.shared.approvers.fetch_sub(1, Ordering::AcqRel);
    }

    /// Counts one more Subscription whose client gets a model's questions.
    pub fn add_asked(&self) {
        self.shared.asked.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one fewer.
    pub fn remove_asked(&self) {
        self.shared.asked.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns the reason why the Thread is no longer live; `None` if it is.
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
