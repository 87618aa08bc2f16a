//! Named requests that are not about a Thread's record: to terminals, to tool servers. Carried out once, answered as
//! often as they are repeated, on any connection.
//!
//! Kept in memory for as long as the server runs, for what they did is a file or a process and not a transaction of
//! the store: after a restart a repeated request is carried out again, which for each of them comes to the same unless
//! another request did something else in between. At most [`MAX_NAMES`] names and [`MAX_BYTES`] of answers; the oldest go
//! first. What failed was not carried out and is not kept.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_agent_api::Once;
use bobbin_peer::Responder;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::errors;
use crate::wire::RpcError;

/// Names kept (a guess: what clients repeat, they repeat within seconds).
const MAX_NAMES: usize = 256;
/// Bytes of answers kept.
const MAX_BYTES: usize = 4 << 20;

/// What is known of named requests.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    requests: VecDeque<(Once, State)>,
    bytes: usize,
}

#[derive(Debug)]
enum State {
    /// Being carried out; these wait for its answer: at most what connections have in flight.
    Open(Vec<Responder>),
    Done(Box<RawValue>),
}

/// Who is answered once a request is carried out.
pub struct Answer {
    responder: Option<Responder>,
    name: Option<(Arc<Repeats>, Once)>,
}

impl Repeats {
    /// Returns who is to be answered when the request at hand is to be carried out. One that was carried out
    /// before, or is being carried out, is answered as that one.
    pub(crate) fn first(self: &Arc<Self>, once: Option<&Once>, responder: Responder) -> Option<Answer> {
        let Some(once) = once else {
            let responder = Some(responder);
            return Some(Answer {
                responder,
                name: None,
            });
        };
        let mut known = self.0.lock();
        let found = known.requests.iter_mut().find(|(of, _)| of.id == once.id);
        match found {
            Some((of, _)) if of != once => {
                drop(known);
                responder.err(errors::object(RpcError::client_request_id_reused()));
                None
            }
            Some((_, State::Open(waiting))) => {
                waiting.push(responder);
                None
            }
            Some((_, State::Done(answer))) => {
                let answer = answer.clone();
                drop(known);
                responder.ok(&answer);
                None
            }
            None => {
                known.add(once.clone());
                drop(known);
                let name = Some((self.clone(), once.clone()));
                let responder = Some(responder);
                Some(Answer { responder, name })
            }
        }
    }

    /// Takes note of what a request was answered, and returns who waits for the same.
    fn settle(&self, once: &Once, answer: Option<&RawValue>) -> Vec<Responder> {
        let mut known = self.0.lock();
        let Some(place) = known.requests.iter().position(|(of, _)| of == once) else {
            return Vec::new();
        };
        let state = match answer {
            Some(answer) => {
                known.bytes += answer.get().len();
                std::mem::replace(&mut known.requests[place].1, State::Done(answer.to_owned()))
            }
            None => match known.requests.remove(place) {
                Some((_, state)) => state,
                None => return Vec::new(),
            },
        };
        while known.bytes > MAX_BYTES {
            known.forget_oldest();
        }
        match state {
            State::Open(waiting) => waiting,
            State::Done(_) => Vec::new(),
        }
    }
}

impl Known {
    fn add(&mut self, once: Once) {
        if self.requests.len() == MAX_NAMES {
            self.forget_oldest();
        }
        self.requests.push_back((once, State::Open(Vec::new())));
    }

    /// Forgets a request; one that is being carried out only where all of them are.
    fn forget_oldest(&mut self) {
        let done = |(_, state): &(Once, State)| matches!(state, State::Done(_));
        let place = self.requests.iter().position(done).unwrap_or(0);
        if let Some((_, State::Done(answer))) = self.requests.remove(place) {
            self.bytes -= answer.get().len();
        }
    }
}

impl Answer {
    /// Answers that it was done.
    pub fn ok(mut self, result: &impl Serialize) {
        let result = match to_raw_value(result) {
            Ok(result) => result,
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written as JSON");
                return self.err(RpcError::internal_error("The answer cannot be written."));
            }
        };
        for responder in self.settle(Some(&result)) {
            responder.ok(&result);
        }
    }

    /// Answers why it was not done.
    pub fn err(mut self, error: RpcError) {
        let error = errors::object(error);
        for responder in self.settle(None) {
            responder.err(error.clone());
        }
    }

    /// Returns all who are to be answered, the first to ask first.
    fn settle(&mut self, answer: Option<&RawValue>) -> Vec<Responder> {
        let waiting = self
            .name
            .take()
            .map(|(repeats, once)| repeats.settle(&once, answer));
        let first = self.responder.take();
        first.into_iter().chain(waiting.into_iter().flatten()).collect()
    }
}

impl Drop for Answer {
    /// A request that is not answered was not carried out: the connections of those that wait answer with an error.
    fn drop(&mut self) {
        drop(self.settle(None));
    }
}
