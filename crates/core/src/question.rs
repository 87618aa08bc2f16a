//! Open questions of models to users: they are sent through the log of the workspace, and the first answer counts.
//!
//! Held in memory, one a waiting call; the call is recorded and asks anew after a restart. Bounded by the calls that run.

use std::sync::Arc;

use bobbin_model::{ApprovalId, Question, QuestionAnswer, ThreadId};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{Ephemeral, Threads};

/// Longest answer, bytes; a longer one is cut.
const MAX_ANSWER_BYTES: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct Questions {
    open: Mutex<Vec<Open>>,
}

struct Open {
    question: Arc<Question>,
    answer: oneshot::Sender<QuestionAnswer>,
    /// Clients that were asked and cannot answer.
    passed: usize,
}

/// A question that is open as long as this lives.
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
        // Clients that were asked are notified that it is over, after it cannot be found any more.
        self.threads
            .announce(Ephemeral::QuestionClosed(self.question.clone()));
    }
}

impl Threads {
    /// Asks the clients that follow a Thread, also those that subscribe meanwhile; `None` without an answer in time.
    ///
    /// # Cancel safety
    /// The question is taken back.
    pub(crate) async fn inquire(&self, question: Question) -> Option<QuestionAnswer> {
        let question = Arc::new(question);
        let (answer, answered) = oneshot::channel();
        self.questions.open.lock().push(Open {
            question: question.clone(),
            answer,
            passed: 0,
        });
        let _asking = Asking {
            threads: self,
            question: question.clone(),
        };
        self.announce(Ephemeral::QuestionOpened(question));
        let answered = tokio::time::timeout(self.settings().approval_max_wait, answered).await;
        answered.ok()?.ok()
    }

    /// Returns what is asked in a Thread.
    pub fn open_questions(&self, thread: &ThreadId) -> Vec<Arc<Question>> {
        let open = self.questions.open.lock();
        let own = open.iter().filter(|open| open.question.thread == *thread);
        own.map(|open| open.question.clone()).collect()
    }

    /// Answers a question. One that is settled already is left as it is.
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
            // A call that no longer waits has ended.
            drop(open.swap_remove(at).answer.send(answer));
        }
    }

    /// Takes note that a client which was asked cannot answer. Where all who could be asked cannot, that is the answer:
    /// the model does not wait for nobody.
    pub fn pass_question(&self, id: &ApprovalId) {
        let mut open = self.questions.open.lock();
        let Some(at) = open.iter().position(|open| open.question.id == *id) else {
            return;
        };
        open[at].passed += 1;
        if open[at].passed >= self.asked_of(&open[at].question.thread) {
            // A call that no longer waits has ended.
            drop(open.swap_remove(at).answer.send(QuestionAnswer::None));
        }
    }
}
