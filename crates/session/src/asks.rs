//! The questions this client has been asked and has not answered.
//!
//! One task a question, ended by the answer, by somebody else's answer, or with the Session. A question is
//! put to one connection once, however often it subscribes.

use std::collections::HashMap;
use std::sync::Arc;

use bobbin_core::engine::Answer;
use bobbin_core::{Command, ThreadHandle};
use bobbin_model::{Approval, ApprovalId, ThreadId};
use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Dialect;

#[derive(Default)]
pub(crate) struct Asks {
    open: Arc<Mutex<HashMap<ApprovalId, (ThreadId, CancellationToken)>>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Asks {
    /// Asks, unless this client has been asked already.
    pub(crate) fn ask(
        &self,
        dialect: &Arc<dyn Dialect>,
        peer: &PeerHandle,
        handle: &Arc<ThreadHandle>,
        approval: Approval,
    ) {
        let settled = self.closing.child_token();
        {
            let mut open = self.open.lock();
            if open.contains_key(&approval.id) {
                return;
            }
            open.insert(approval.id.clone(), (handle.id().clone(), settled.clone()));
        }
        let (dialect, peer, handle, open) =
            (dialect.clone(), peer.clone(), handle.clone(), self.open.clone());
        self.tasks.spawn(async move {
            let answered = tokio::select! {
                biased;
                () = settled.cancelled() => None,
                decision = dialect.ask(&peer, handle.id(), &approval) => decision,
            };
            if let Some(decision) = answered {
                let client = dialect.client_name();
                let answer = Answer {
                    approval: approval.id.clone(),
                    decision,
                    client,
                };
                // Nobody waits for this reply: a late answer is taken without a word.
                handle
                    .send(Command::Answer {
                        answer,
                        reply: Box::new(|_| {}),
                    })
                    .await;
            }
            // Whoever cancelled it has taken it out, and it may have been put in anew since.
            if !settled.is_cancelled() {
                open.lock().remove(&approval.id);
            }
        });
    }

    /// Stops waiting for an answer that has been given elsewhere.
    pub(crate) fn settled(&self, id: &ApprovalId) {
        if let Some((_, token)) = self.open.lock().remove(id) {
            token.cancel();
        }
    }

    /// Stops waiting for the answers about a Thread that this client watches no more.
    pub(crate) fn leave(&self, thread: &ThreadId) {
        self.open.lock().retain(|_, (of, token)| {
            if of == thread {
                token.cancel();
            }
            of != thread
        });
    }

    /// Stops waiting for all of them.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
