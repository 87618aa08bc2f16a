//! The questions this client has been asked and has not answered.
//!
//! One task a question, ended by the answer, by another client's answer, or with the Session. A question is
//! put to one connection once as long as it follows the Thread. A client that leaves a Thread may still answer what
//! it was asked (02 §5.6), and is asked anew when it comes back; at most [`MAX_LEFT`] such questions are kept.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bobbin_core::engine::Answer;
use bobbin_core::{Command, CoreError, ThreadHandle, Threads};
use bobbin_model::{Approval, ApprovalId, Question, ThreadId};
use bobbin_peer::PeerHandle;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::quiet::until_next_answered;
use crate::{Dialect, QuestionReply, until_answered};

/// Questions about Threads the client has left that it may still answer; the oldest goes first (a guess: more
/// than a person has dialogs on the screen).
const MAX_LEFT: usize = 64;

/// How soon a question is put again whose answer could not be stored (a guess: a full disk stays full for longer, and a
/// client that answers by itself must not do so all the time).
const ASK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct PendingRequests {
    open: Arc<Mutex<HashMap<ApprovalId, PendingRequest>>>,
    /// Questions about Threads that the client follows no more, oldest first.
    left: Mutex<VecDeque<(ApprovalId, ThreadId, CancellationToken)>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// When an Approval is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// As it opens.
    Now,
    /// It has been open, and the client is only just reading the Thread: behind the answers to its requests.
    Answered,
}

/// A question that was put to the client.
struct PendingRequest {
    /// The Thread that asks.
    of: ThreadId,
    /// The Thread at the top of its tree, where the client is asked because it follows that.
    via: Option<ThreadId>,
    settled: CancellationToken,
}

impl PendingRequests {
    /// Whether a question was put to this client and may still be answered.
    pub(crate) fn is_open(&self, id: &ApprovalId) -> bool {
        self.open.lock().contains_key(id)
    }

    /// Whether a question was put to this client, whatever it follows by now.
    pub(crate) fn was_asked(&self, id: &ApprovalId) -> bool {
        self.is_open(id) || self.left.lock().iter().any(|(of, ..)| of == id)
    }

    /// Asks, unless this client has been asked already.
    pub(crate) fn ask(
        &self,
        dialect: &Arc<dyn Dialect>,
        peer: &PeerHandle,
        handle: &Arc<ThreadHandle>,
        via: Option<&ThreadId>,
        approval: Approval,
        when: When,
    ) {
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
                let answer = Answer {
                    approval: approval.id.clone(),
                    decision,
                    client: dialect.client_name(),
                };
                let (done_tx, done) = oneshot::channel();
                // Nobody but us waits for this reply: a late answer is taken without a word.
                let reply = Box::new(move |result| drop(done_tx.send(result)));
                handle.send(Command::Answer { answer, reply }).await;
                if !matches!(done.await, Ok(Err(CoreError::Store(_)))) {
                    break;
                }
                // It could not be recorded, so it was not given.
                tokio::select! {
                    biased;
                    () = settled.cancelled() => break,
                    () = tokio::time::sleep(ASK_AGAIN) => {}
                }
            }
            // The code that cancelled it has taken it out, and it may have been put in again since; what is left behind
            // is dropped when the next is.
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

    /// Asks what a model wants to know, unless this client has been asked already.
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
        self.tasks.spawn(async move {
            let answered = tokio::select! {
                biased;
                () = settled.cancelled() => QuestionReply::Gone,
                answer = dialect.inquire(&peer, &question) => answer,
            };
            // The outcome is broadcast; the question is taken out then.
            match answered {
                QuestionReply::Answered(answer) => threads.answer_question(&question.id, answer),
                QuestionReply::Passed => threads.pass_question(&question.id),
                QuestionReply::Gone => {}
            }
        });
    }

    /// Stops waiting for an answer that has been given elsewhere.
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

    /// Takes note that the client follows a Thread no more. What it was asked about it stays answerable.
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

    /// Stops waiting for the answers about a Thread in which nothing is open any more.
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

    /// Stops waiting for all of them.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
