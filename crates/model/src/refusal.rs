//! Why a command was refused. A refusal is a value, not a failure: nothing has changed.

use crate::{ApprovalId, QueuedInputId, ThreadId, ThreadStatus, TurnId};

/// A reason not to carry out a command. Each dialect maps every variant to its own code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such Thread, or it was deleted.
    #[error("thread {0} does not exist")]
    ThreadNotFound(ThreadId),
    /// The Thread is paused or archived, and the command needs an active one.
    #[error("thread {thread} is {status}, not active")]
    ThreadNotActive {
        /// The Thread.
        thread: ThreadId,
        /// Its status.
        status: ThreadStatus,
    },
    /// A Turn runs or waits, and the command needs an idle Thread.
    #[error("turn {turn} is still in progress on thread {thread}")]
    TurnInProgress {
        /// The Thread.
        thread: ThreadId,
        /// The open Turn.
        turn: TurnId,
    },
    /// The Thread never had such a Turn.
    #[error("turn {0} does not exist")]
    TurnNotFound(String),
    /// The Turn has already ended, or (empty id) none runs.
    #[error("turn {0} is not running")]
    TurnNotRunning(String),
    /// No such entry in the Thread's queue.
    #[error("queued input {0} does not exist")]
    QueuedInputNotFound(QueuedInputId),
    /// The queue is full; see [`crate::state::MAX_QUEUED_INPUTS`].
    #[error("the queue of thread {0} is full; wait for a turn to end or remove an entry")]
    QueueFull(ThreadId),
    /// The Approval was never opened or is settled.
    #[error("approval {0} is not open")]
    ApprovalNotOpen(ApprovalId),
    /// A client used one request id for two different requests.
    #[error("the request id {0:?} was used for another request")]
    RequestIdReused(String),
    /// Files have changed since the Turn ended, and undoing it would lose those changes.
    #[error("since {turn} these files have, or may have, been changed by others: {}; undo later turns first, or force it and lose that", listed(.files))]
    FilesChanged {
        /// The Turn to be undone.
        turn: TurnId,
        /// The files, as shown to the user.
        files: Vec<String>,
    },
    /// The command is valid but cannot be carried out now; the text tells the user what to do first.
    #[error("{0}")]
    NotNow(String),
    /// The command itself breaks a rule; the text names the rule and is fit for the user.
    #[error("{0}")]
    Invalid(String),
}

/// Most files named in one sentence; the rest are only counted.
const LISTED: usize = 20;

fn listed(files: &[String]) -> String {
    let text = files.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match files.len().checked_sub(LISTED) {
        None | Some(0) => text,
        Some(more) => format!("{text} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_stand_in_the_way_are_named_and_many_are_counted() {
        let text = |count: usize| {
            let turn = TurnId(1);
            let files = (1..=count).map(|n| format!("f{n}")).collect();
            Refusal::FilesChanged { turn, files }.to_string()
        };
        assert!(text(2).contains("by others: f1, f2; "));
        assert!(text(LISTED).contains("f19, f20; "));
        assert!(text(LISTED + 2).contains("f19, f20 and 2 more; "));
    }
}
