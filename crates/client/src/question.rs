//! Questions of the server to this user. They outlive connections: an answer that was given meanwhile, or that was lost on its
//! way, is sent when the server asks again.

use std::collections::{BTreeMap, VecDeque};

use bobbin_model::Decision;
use bobbin_native_wire::item::approval::{ApprovalRequestParams, ApprovalRequestResult};
use bobbin_native_wire::item::user_input_types::{
    RequestUserInputParams, RequestUserInputResult, UserInputAnswer,
};
use bobbin_peer::Responder;
use serde_json::{Value, json};

/// Answers that are remembered, in case the server asks again.
const MAX_ANSWERED: usize = 256;

/// A question of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A call waits for a decision.
    Approval(Box<ApprovalRequestParams>),
    /// A model wants to know something.
    UserInput(Box<RequestUserInputParams>),
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To an approval.
    Decision(Decision),
    /// To a model's questions: labels or texts, by the ids of the questions. Empty leaves it to the model.
    Texts(BTreeMap<String, Vec<String>>),
}

impl Question {
    /// Returns the id that distinguishes it.
    pub fn request_id(&self) -> &str {
        match self {
            Self::Approval(params) => &params.request_id,
            Self::UserInput(params) => &params.request_id,
        }
    }

    /// Returns the Thread that waits; a subagent's may be another one than the followed Thread.
    pub fn thread_id(&self) -> &str {
        match self {
            Self::Approval(params) => &params.thread_id,
            Self::UserInput(params) => &params.thread_id,
        }
    }

    /// Returns the Item that shows it.
    pub fn item_id(&self) -> &str {
        match self {
            Self::Approval(params) => &params.item_id,
            Self::UserInput(params) => &params.item_id,
        }
    }
}

impl Answer {
    fn result(self) -> Value {
        match self {
            Self::Decision(decision) => json!(ApprovalRequestResult { decision }),
            Self::Texts(texts) => {
                let answers = texts
                    .into_iter()
                    .map(|(id, answers)| (id, UserInputAnswer { answers }))
                    .collect();
                json!(RequestUserInputResult { answers })
            }
        }
    }
}

#[derive(Debug, Default)]
struct Entry {
    /// The request on the present connection, if the server asked on it.
    responder: Option<Responder>,
    /// The answer, once it is given.
    result: Option<Value>,
}

/// The questions that wait, and the answers of late.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    entries: BTreeMap<String, Entry>,
    answered: VecDeque<String>,
}

impl Questions {
    /// Takes a request of the server. Returns whether the user does not know it yet.
    pub(crate) fn asked(&mut self, request_id: &str, responder: Responder) -> bool {
        let is_new = !self.entries.contains_key(request_id);
        let entry = self.entries.entry(request_id.to_owned()).or_default();
        match &entry.result {
            Some(result) => responder.ok(result),
            None => entry.responder = Some(responder),
        }
        is_new
    }

    /// Takes the user's answer, and sends it if the server waits on this connection.
    pub(crate) fn answer(&mut self, request_id: &str, answer: Answer) {
        let Some(entry) = self.entries.get_mut(request_id) else {
            return;
        };
        if entry.result.is_some() {
            return;
        }
        let result = answer.result();
        if let Some(responder) = entry.responder.take() {
            responder.ok(&result);
        }
        entry.result = Some(result);
        self.answered.push_back(request_id.to_owned());
        if self.answered.len() > MAX_ANSWERED
            && let Some(oldest) = self.answered.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }

    /// Forgets a question that is settled. Returns whether the user knew it as open.
    pub(crate) fn settled(&mut self, request_id: &str) -> bool {
        let known = self.entries.remove(request_id);
        self.answered.retain(|one| one != request_id);
        known.is_some_and(|entry| entry.result.is_none())
    }

    /// Takes the end of the connection.
    pub(crate) fn disconnected(&mut self) {
        for entry in self.entries.values_mut() {
            entry.responder = None;
        }
    }

    /// Forgets the open questions that the server has not asked again on this connection, and returns them.
    pub(crate) fn not_asked_again(&mut self) -> Vec<String> {
        let is_over = |entry: &Entry| entry.responder.is_none() && entry.result.is_none();
        let over: Vec<String> = self
            .entries
            .iter()
            .filter(|(_, entry)| is_over(entry))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &over {
            self.entries.remove(id);
        }
        over
    }
}
