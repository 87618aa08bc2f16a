//! Records the changes of calls in files, so that the Turn can be undone. A call that cannot be recorded runs all the
//! same; each run of a Turn notifies the user once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bobbin_agent_api::tool::Touches;
use bobbin_agent_api::undo::{FileChanges, OpenCall, RecordedTurn, Undo};
use bobbin_core::engine::TurnContext;

/// Records the calls of one run of a Turn.
pub(super) struct Recording {
    undo: Option<Arc<dyn Undo>>,
    turn: RecordedTurn,
    /// The user was notified that some changes cannot be undone.
    said: AtomicBool,
}

/// A call that may run now.
#[derive(Default)]
pub(super) struct RecordedCall {
    open: Option<Box<dyn OpenCall>>,
    /// A message to the user: this call cannot be undone.
    pub(super) notice: Option<String>,
}

impl Recording {
    /// Starts the first snapshot of the workspace, concurrently with the model's first answer.
    pub(super) fn start(undo: Option<Arc<dyn Undo>>, turn: &TurnContext) -> Self {
        let turn = RecordedTurn {
            thread: turn.thread().clone(),
            turn: turn.turn(),
            root: turn.environment().root.clone(),
        };
        if let Some(undo) = &undo {
            undo.prepare(&turn.root);
        }
        Self {
            undo,
            turn,
            said: AtomicBool::new(false),
        }
    }

    /// Returns the changes of calls that a crash interrupted.
    pub(super) async fn resume(&self) -> FileChanges {
        match &self.undo {
            Some(undo) => undo.resume(self.turn.clone()).await,
            None => FileChanges::default(),
        }
    }

    /// Records the files that a call may change, before it runs.
    pub(super) async fn start_call(&self, call: &str, touches: Touches) -> RecordedCall {
        let Some(undo) = self.undo.as_ref().filter(|_| touches != Touches::Nothing) else {
            return RecordedCall::default();
        };
        match undo.begin(self.turn.clone(), touches).await {
            Ok(open) => RecordedCall {
                open: Some(open),
                notice: None,
            },
            Err(why) => {
                let notice = format!("What {call} changes in files cannot be undone: {why}.");
                let first = !self.said.swap(true, Ordering::Relaxed);
                RecordedCall {
                    open: None,
                    notice: first.then_some(notice),
                }
            }
        }
    }
}

impl RecordedCall {
    /// Returns what the call has changed.
    ///
    /// # Cancel safety
    /// Dropping the future loses the answer; the changes are recorded all the same.
    pub(super) async fn end(self) -> FileChanges {
        match self.open {
            Some(open) => open.end().await,
            None => FileChanges::default(),
        }
    }
}
