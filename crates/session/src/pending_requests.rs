//! The questions that this client has been asked and has not answered.
//!
//! Each question has one task, which ends with the answer, another client's answer, or the Session. A connection is
//! asked a question once while it follows the Thread. A client that leaves a Thread may still answer its questions (02
//! §5.6), and is asked anew when it returns. At most [`MAX_LEFT`] such questions stay open.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::engine::Answer;
use bobbin_core::{Command, CoreError, ThreadHandle, Threads};
use bobbin_model::{Actor, Approval, ApprovalId, Decision, Need, Question, ThreadId};
use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::quiet::until_next_answered;
use crate::{Dialect, until_answered};

/// Limit of open questions about Threads that the client has left; the oldest is dropped first (a guess: more than a
/// screen has dialogs).
const MAX_LEFT: usize = 64;

/// Delay before a question is put again because its answer could not be stored (a guess: a full disk stays full longer,
/// and a client that answers by itself must not do so all the time).
const ASK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct PendingRequests {
    open: Arc<Mutex<HashMap<ApprovalId, PendingRequest>>>,
    /// Questions about Threads that the client no longer follows, oldest first.
    left: Mutex<VecDeque<(ApprovalId, ThreadId, CancellationToken)>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// When an Approval is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// At once: it has just opened.
    Now,
    /// After the answers to the client's requests: it was open before, and the client is only now reading the Thread.
    Answered,
}

/// A question that was put to the client.
struct PendingRequest {
    /// The Thread that asks.
    of: ThreadId,
    /// The root of the Thread's tree, if the client is asked because it follows the root.
    via: Option<ThreadId>,
    settled: CancellationToken,
}

impl PendingRequests {
    /// Whether this client was asked a question and may still answer it, in a Thread that it follows.
    pub(crate) fn is_open(&self, id: &ApprovalId) -> bool {
        self.open.lock().contains_key(id)
    }

    /// Asks an Approval, unless this client has been asked already.
    pub(crate) fn ask(
        &self,
        dialect: &Arc<dyn Dialect>,
        peer: &PeerHandle,
        handle: &Arc<ThreadHandle>,
        via: Option<&ThreadId>,
        approval: Approval,
        when: When,
    ) {
        if !dialect.approves() || !dialect.actor().may(approval.scope.need()) {
            return;
        }
        let settled = self.closing.child_token();
        {
            let mut open = self.open.lock();
            if open.contains_key(&approval.id) {
                return;
            }
            let asked = PendingRequest {
                of: handle.id().clone(),
                via: via.cloned(),
                settled: settled.clone(),
            };
            open.insert(approval.id.clone(), asked);
        }
        let (dialect, peer, handle, open) =
            (dialect.clone(), peer.clone(), handle.clone(), self.open.clone());
        self.tasks.spawn(async move {
            if when == When::Answered {
                let answered = async {
                    if dialect.drops_early_questions() {
                        until_next_answered(&peer).await;
                    } else {
                        until_answered(&peer, || 0).await;
                    }
                };
                tokio::select! {
                    () = settled.cancelled() => {}
                    () = answered => {}
                }
            }
            loop {
                let answered = tokio::select! {
                    biased;
                    () = settled.cancelled() => None,
                    decision = dialect.ask(&peer, handle.id(), &approval) => decision,
                };
                let Some(decision) = answered else { break };
                let actor = dialect.actor();
                let answer = Answer {
                    approval: approval.id.clone(),
                    decision: allowed(decision, &actor),
                    client: dialect.client_name(),
                    actor,
                };
                let (done_tx, done) = oneshot::channel();
                // Only this task waits for the reply: an answer that comes too late is ignored.
                let reply = Box::new(move |result| drop(done_tx.send(result)));
                handle.send(Command::Answer { answer, reply }).await;
                if !matches!(done.await, Ok(Err(CoreError::Store(_)))) {
                    break;
                }
                // The answer could not be stored, so it does not count.
                tokio::select! {
                    biased;
                    () = settled.cancelled() => break,
                    () = tokio::time::sleep(ASK_AGAIN) => {}
                }
            }
            // A cancelled token means that the canceller has removed this entry, and a newer one may have the same id.
            // An entry in `left` is dropped by the next `leave`.
            if !settled.is_cancelled() {
                settled.cancel();
                let mut open = open.lock();
                if open
                    .get(&approval.id)
                    .is_some_and(|own| own.settled.is_cancelled())
                {
                    open.remove(&approval.id);
                }
            }
        });
    }

    /// Asks a question of the model, unless this client has been asked already.
    pub(crate) fn inquire(
        &self,
        dialect: &Arc<dyn Dialect>,
        peer: &PeerHandle,
        threads: &Arc<Threads>,
        question: &Arc<Question>,
    ) {
        let settled = self.closing.child_token();
        {
            let mut open = self.open.lock();
            if open.contains_key(&question.id) {
                return;
            }
            let asked = PendingRequest {
                of: question.thread.clone(),
                via: None,
                settled: settled.clone(),
            };
            open.insert(question.id.clone(), asked);
        }
        let (dialect, peer, threads, question) =
            (dialect.clone(), peer.clone(), threads.clone(), question.clone());
        let open = self.open.clone();
        self.tasks.spawn(async move {
            let answered = tokio::select! {
                biased;
                () = settled.cancelled() => None,
                answer = dialect.inquire(&peer, &question) => answer,
            };
            match answered {
                // The broadcast of the outcome removes the question.
                Some(answer) => threads.answer_question(&question.id, answer),
                // The client may be asked again when it subscribes again. A canceller has removed the entry.
                None if !settled.is_cancelled() => drop(open.lock().remove(&question.id)),
                None => {}
            }
        });
    }

    /// Stops waiting for an answer that another client has given.
    pub(crate) fn settled(&self, id: &ApprovalId) {
        if let Some(asked) = self.open.lock().remove(id) {
            asked.settled.cancel();
        }
        self.left.lock().retain(|(of, _, token)| {
            if of == id {
                token.cancel();
            }
            of != id
        });
    }

    /// Notes that the client no longer follows a Thread. It may still answer the Thread's questions.
    pub(crate) fn leave(&self, thread: &ThreadId) {
        let is_of = |asked: &mut PendingRequest| asked.of == *thread || asked.via.as_ref() == Some(thread);
        let gone: Vec<_> = self.open.lock().extract_if(|_, asked| is_of(asked)).collect();
        let mut left = self.left.lock();
        left.retain(|(.., token)| !token.is_cancelled());
        for (id, asked) in gone {
            if left.len() == MAX_LEFT
                && let Some((.., oldest)) = left.pop_front()
            {
                oldest.cancel();
            }
            left.push_back((id, asked.of, asked.settled));
        }
    }

    /// Stops waiting for answers about a Thread that has no open question any more.
    pub(crate) fn over(&self, thread: &ThreadId) {
        self.open.lock().retain(|_, asked| {
            if asked.of == *thread {
                asked.settled.cancel();
            }
            asked.of != *thread
        });
        self.forget_left(thread);
    }

    /// Stops waiting for the answers about a Thread that the client has left.
    pub(crate) fn forget_left(&self, thread: &ThreadId) {
        self.left.lock().retain(|(_, of, token)| {
            if of == thread {
                token.cancel();
            }
            of != thread
        });
    }

    /// Stops waiting for all answers.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Returns the decision that an actor's answer is. Answers for ever are rules of the workspace, so those of others than its
/// owners count for the session.
fn allowed(decision: Decision, actor: &Actor) -> Decision {
    match decision {
        Decision::AcceptAlways if !actor.may(Need::Own) => Decision::AcceptForSession,
        decision => decision,
    }
}
