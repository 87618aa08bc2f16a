//! Named requests that change something outside of a Thread's record: terminals, tool servers. Each is executed once,
//! and its repeats get the same answer, on any connection.
//!
//! Answers are in memory while the server runs, because these requests change a file or a process, not the store. A
//! repeat after a restart is executed again, with the same outcome unless another request came in between. At most
//! [`MAX_NAMES`] names and [`MAX_BYTES`] of answers are stored; the oldest are dropped first. A request that failed is
//! not stored.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_agent_api::Once;
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::errors;

/// Limit of stored names (a guess: clients repeat a request within seconds).
const MAX_NAMES: usize = 256;
/// Limit of stored bytes of answers.
const MAX_BYTES: usize = 4 << 20;

/// The stored named requests.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    requests: VecDeque<(Once, State)>,
    bytes: usize,
}

#[derive(Debug)]
enum State {
    /// Being executed. These wait for its answer, at most as many as connections have in flight.
    Open(Vec<Responder>),
    Done(Box<RawValue>),
}

/// The receivers of a request's answer.
pub struct Answer {
    responder: Option<Responder>,
    name: Option<(Arc<Repeats>, Once)>,
}

impl Repeats {
    /// Returns the receiver of the answer if the request must be executed. A repeated request gets the answer of the
    /// first one instead.
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

    /// Stores the answer of a request, and returns those who wait for the same.
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

    /// Forgets the oldest finished request, or the oldest of all if none is finished.
    fn forget_oldest(&mut self) {
        let done = |(_, state): &(Once, State)| matches!(state, State::Done(_));
        let place = self.requests.iter().position(done).unwrap_or(0);
        if let Some((_, State::Done(answer))) = self.requests.remove(place) {
            self.bytes -= answer.get().len();
        }
    }
}

impl Answer {
    /// Answers with the result.
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

    /// Answers with the error.
    pub fn err(mut self, error: RpcError) {
        let error = errors::object(error);
        for responder in self.settle(None) {
            responder.err(error.clone());
        }
    }

    /// Returns all receivers, in the order of their requests.
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
    /// Without an answer the request was not executed. The waiting connections answer with an error.
    fn drop(&mut self) {
        drop(self.settle(None));
    }
}
