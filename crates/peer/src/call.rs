//! Own calls from the sending to the answer, one by one or as a batch.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::calls::{CallResult, Pending, Timeout};
use crate::encode;
use crate::error::{CallError, SendError};
use crate::handle::{Message, PeerHandle};
use crate::outbox::OutFrame;
use crate::progress::ProgressTable;
use crate::shared::Shared;
use crate::state::{After, State};
use crate::stats::Phase;
use crate::timer;

/// A call on its way; dropping it gives it up.
#[derive(Debug)]
pub(crate) struct Call {
    shared: Arc<Shared>,
    id: u64,
    receiver: oneshot::Receiver<CallResult>,
    answered: bool,
}

impl Call {
    fn new(shared: &Arc<Shared>, id: u64, receiver: oneshot::Receiver<CallResult>) -> Self {
        Self {
            shared: Arc::clone(shared),
            id,
            receiver,
            answered: false,
        }
    }

    pub(crate) async fn answer(mut self) -> CallResult {
        let answer = (&mut self.receiver).await;
        self.answered = true;
        answer.unwrap_or(Err(CallError::ShutDown))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        self.shared.with(|state, after| {
            if state.calls.remove(self.id).is_some() {
                state.calls.forgive(self.id, Instant::now());
                self.shared.cancel_remote(state, self.id, after);
            }
        });
    }
}

impl PeerHandle {
    /// Queues a call; its answer is waited for with [`Call::answer`]. `begin` says, at the moment
    /// it is queued, when it gives up and which progress token it has.
    pub(crate) async fn begin_call(
        &self,
        method: &str,
        params: Option<Vec<u8>>,
        begin: impl FnOnce(&mut ProgressTable) -> (Option<Timeout>, Option<u64>) + Send,
    ) -> Result<Call, CallError> {
        let message = self.outgoing(method, params).map_err(CallError::Send)?;
        let (answer, receiver) = oneshot::channel();
        let queued = self.shared.send(message.size(), |state| {
            if !state.is_answerable() {
                return (None, None);
            }
            let id = state.calls.next_id();
            let frame = self.frame(Some(id), &message);
            if let Some(params) = message.params {
                encode::spent(params);
            }
            let (timeout, progress) = begin(&mut state.calls.progress);
            let pending = Pending {
                method: message.method,
                answer,
                timeout,
                progress,
            };
            state.calls.insert(id, pending);
            (Some(frame), Some((id, timeout.is_some())))
        });
        let queued = queued.await.and_then(|queued| queued.ok_or(SendError::Closed));
        let (id, timed) = queued.map_err(|error| self.call_failed(error, method))?;
        let call = Call::new(&self.shared, id, receiver);
        if timed {
            self.shared.arm_timer();
        }
        Ok(call)
    }

    /// Asks several things in one JSON-RPC batch and waits for all answers, in the order asked.
    ///
    /// Only for far ends known to take batches. Params that are neither object nor array are refused
    /// before anything is sent; `null` is left out.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the batch could not be sent; what became of each call is in the list.
    pub async fn call_batch(
        &self,
        calls: &[(&str, Value)],
    ) -> Result<Vec<Result<Value, CallError>>, CallError> {
        let mut messages = Vec::with_capacity(calls.len());
        for (method, params) in calls {
            let params = encode::params(params).map_err(CallError::Send)?;
            messages.push(self.outgoing(method, params).map_err(CallError::Send)?);
        }
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let size = messages.iter().map(Message::size).sum();
        let queued = self.shared.send(size, |state| {
            if !state.is_answerable() {
                return (None, None);
            }
            let mut texts = Vec::with_capacity(messages.len());
            let mut pending = Vec::with_capacity(messages.len());
            for message in messages {
                let id = state.calls.next_id();
                let (answer, receiver) = oneshot::channel();
                texts.push(encode::message(
                    Some(id),
                    &message.method,
                    message.params.as_deref(),
                ));
                let call = Pending {
                    method: message.method,
                    answer,
                    timeout: None,
                    progress: None,
                };
                state.calls.insert(id, call);
                pending.push(Call::new(&self.shared, id, receiver));
            }
            let bytes = self.shared.options.charset().finish(encode::array(&texts));
            (Some(OutFrame::new(bytes)), Some(pending))
        });
        let queued = queued.await.and_then(|queued| queued.ok_or(SendError::Closed));
        let pending = queued.map_err(|error| self.call_failed(error, "a batch of calls"))?;
        let mut answers = Vec::with_capacity(pending.len());
        for call in pending {
            let answer = call.answer().await;
            answers.push(answer.and_then(|raw| serde_json::from_str(raw.get()).map_err(CallError::Decode)));
        }
        Ok(answers)
    }

    fn call_failed(&self, error: SendError, what: &str) -> CallError {
        self.warn_closed(&error, what);
        match error {
            SendError::Closed => CallError::ShutDown,
            error => CallError::Send(error),
        }
    }
}

impl Shared {
    /// Makes the timer look at the deadlines, starting it if this is the first one.
    fn arm_timer(self: &Arc<Self>) {
        let first = self.peek(|state| !std::mem::replace(&mut state.timer_running, true));
        if first {
            self.runtime.spawn(timer::run(Arc::clone(self)));
        } else {
            self.timer.notify_one();
        }
    }

    /// Tells the other side that nobody waits for this call any more. Skipped where there is no
    /// room: it is a courtesy.
    pub(crate) fn cancel_remote(&self, state: &mut State, id: u64, after: &mut After) {
        if !self.options.cancel_on_abandon || state.phase != Phase::Active {
            return;
        }
        let dialect = &self.options.cancel;
        let params = dialect
            .id_path
            .iter()
            .rev()
            .fold(serde_json::Value::from(id), |value, member| {
                serde_json::Value::Object([(member.clone(), value)].into_iter().collect())
            });
        let message = encode::message(None, &dialect.method, Some(params.to_string().as_bytes()));
        let bytes = self.options.charset().finish(message);
        if state.out.has_room(bytes.len(), 1) {
            state.push(OutFrame::new(bytes), after);
        }
    }
}
