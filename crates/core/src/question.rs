//! Open questions of models to users, sent through the workspace's log. The first answer counts.
//!
//! In memory, one for each waiting call. Their Items are recorded, and their calls ask again after a restart. Bounded by the
//! running calls.

use std::sync::Arc;

use bobbin_model::{ApprovalId, Question, QuestionAnswer, ThreadId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{Ephemeral, Threads};

/// Longest answer, in bytes; a longer one is cut.
const MAX_ANSWER_BYTES: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct Questions {
    open: Mutex<Vec<Open>>,
}

struct Open {
    question: Arc<Question>,
    answer: oneshot::Sender<QuestionAnswer>,
}

/// A question that stays open while this value lives.
struct Asking<'a> {
    threads: &'a Threads,
    question: Arc<Question>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let id = &self.question.id;
        self.threads
            .questions
            .open
            .lock()
            .retain(|open| open.question.id != *id);
        // Clients are notified after the question can no longer be found.
        self.threads
            .broadcasts()
            .announce(Ephemeral::QuestionClosed(self.question.clone()));
    }
}

impl Threads {
    /// Asks the clients that follow a Thread, including clients that subscribe meanwhile. `None` if no answer comes in time.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the question.
    pub(crate) async fn inquire(&self, question: Question) -> Option<QuestionAnswer> {
        let question = Arc::new(question);
        let (answer, answered) = oneshot::channel();
        self.questions.open.lock().push(Open {
            question: question.clone(),
            answer,
        });
        let _asking = Asking {
            threads: self,
            question: question.clone(),
        };
        self.broadcasts().announce(Ephemeral::QuestionOpened(question));
        let answered = tokio::time::timeout(self.settings().approval_max_wait, answered).await;
        answered.ok()?.ok()
    }

    /// Returns the open questions of a Thread.
    pub fn open_questions(&self, thread: &ThreadId) -> Vec<Arc<Question>> {
        let open = self.questions.open.lock();
        let own = open.iter().filter(|open| open.question.thread == *thread);
        own.map(|open| open.question.clone()).collect()
    }

    /// Answers a question. Has no effect if it is settled already.
    pub fn answer_question(&self, id: &ApprovalId, answer: QuestionAnswer) {
        let answer = match answer {
            QuestionAnswer::Text(mut text) => {
                text.truncate(text.floor_char_boundary(MAX_ANSWER_BYTES));
                QuestionAnswer::Text(text)
            }
            QuestionAnswer::None => QuestionAnswer::None,
        };
        let mut open = self.questions.open.lock();
        if let Some(at) = open.iter().position(|open| open.question.id == *id) {
            // The call may have ended.
            drop(open.swap_remove(at).answer.send(answer));
        }
    }
}
