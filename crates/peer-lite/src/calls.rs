//! Own calls that wait for an answer: plain data.

use std::collections::HashMap;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::CallError;
use crate::envelope::Envelope;

type Outcome = Result<Box<RawValue>, CallError>;

#[derive(Default)]
pub(crate) struct Calls {
    last_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Outcome>>,
    closed: bool,
}

impl Calls {
    /// Begins a call; `None` after the end.
    pub(crate) fn begin(&mut self) -> Option<(u64, oneshot::Receiver<Outcome>)> {
        if self.closed {
            return None;
        }
        self.last_id += 1;
        let (tx, rx) = oneshot::channel();
        self.waiting.insert(self.last_id, tx);
        Some((self.last_id, rx))
    }

    /// Forgets a call whose caller has gone.
    pub(crate) fn forget(&mut self, id: u64) {
        self.waiting.remove(&id);
    }

    /// Gives an answer to its call. Returns whether there was one.
    pub(crate) fn settle(&mut self, id: u64, answer: Envelope) -> bool {
        let Some(caller) = self.waiting.remove(&id) else {
            return false;
        };
        let error = answer.error.filter(|error| error.get() != "null");
        let outcome = match (error, answer.result) {
            (Some(error), _) => Err(CallError::Remote(
                serde_json::from_str(error.get()).unwrap_or_else(|_| {
                    crate::ErrorObject::new(crate::code::INTERNAL_ERROR, "The error object is malformed")
                }),
            )),
            (None, Some(result)) => Ok(result),
            (None, None) => Ok(RawValue::NULL.to_owned()),
        };
        // A caller that has gone does not care.
        drop(caller.send(outcome));
        true
    }

    /// Fails every call, now and later.
    pub(crate) fn close(&mut self) {
        self.closed = true;
        for (_, caller) in self.waiting.drain() {
            drop(caller.send(Err(CallError::ShutDown)));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}
