//! Outgoing calls from sending to answer.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Instant, sleep_until};

use crate::calls::{CallResult, Pending, Timeout};
use crate::encode;
use crate::error::{CallError, SendError};
use crate::handle::PeerHandle;
use crate::log::Note;
use crate::outbox::OutFrame;
use crate::shared::Shared;
use crate::state::{After, State};
use crate::stats::Phase;
use crate::timer;

/// A call that is queued.
struct QueuedCall {
    id: u64,
    /// Whether its caller is registered already, as of the same poll.
    known: bool,
}

/// A call on its way; dropping it abandons the call.
#[derive(Debug)]
struct Call<'a> {
    shared: &'a Arc<Shared>,
    id: u64,
    ended: bool,
}

impl<'a> Call<'a> {
    fn new(shared: &'a Arc<Shared>, id: u64) -> Self {
        Self {
            shared,
            id,
            ended: false,
        }
    }

    fn poll(&mut self, cx: &Context<'_>) -> Poll<CallResult> {
        let (answer, _former) = self.shared.peek(|state| state.calls.poll(self.id, cx.waker()));
        self.ended = answer.is_ready();
        answer
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let _caller = self.shared.with(|state, after| {
            let (open, caller) = state.calls.give_up(self.id, Instant::now());
            if open {
                self.shared.cancel_remote(state, self.id, after);
            }
            caller
        });
    }
}

impl PeerHandle {
    /// Queues a call and waits for its answer.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Option<Vec<u8>>,
        timeout: Option<Timeout>,
        note: impl FnOnce(u64) + Send,
    ) -> CallResult {
        let queued = self.queue_call(method, params, timeout).await?;
        note(queued.id);
        let mut call = Call::new(&self.shared, queued.id);
        let mut known = queued.known;
        poll_fn(|cx| {
            if std::mem::take(&mut known) {
                Poll::Pending
            } else {
                call.poll(cx)
            }
        })
        .await
    }

    /// Queues a call. The time limit covers waiting for room too.
    async fn queue_call(
        &self,
        method: &str,
        params: Option<Vec<u8>>,
        timeout: Option<Timeout>,
    ) -> Result<QueuedCall, CallError> {
        let message = self.outgoing(method, params).map_err(CallError::Send)?;
        let caller = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        let queued = self.shared.send(message.size(), |state| {
            if !state.is_answerable() {
                return (None, None);
            }
            let id = state.calls.next_id();
            let frame = self.frame(Some(id), &message);
            if let Some(params) = message.params {
                encode::spent_params(params);
            }
            let pending = Pending {
                method: message.method,
                caller: Some(caller),
                timeout,
            };
            state.calls.insert(id, pending);
            (Some(frame), Some(id))
        });
        let (queued, known) = self.in_time(queued, timeout, method).await?;
        let queued = queued.and_then(|queued| queued.ok_or(SendError::Closed));
        let id = queued.map_err(|error| self.call_failed(error, method))?;
        if timeout.is_some() {
            self.shared.arm_timer();
        }
        Ok(QueuedCall { id, known })
    }

    /// Waits for a call to be queued, within the call's time limit; says whether it was queued at once.
    async fn in_time<T>(
        &self,
        queued: impl Future<Output = T>,
        limit: Option<Timeout>,
        method: &str,
    ) -> Result<(T, bool), CallError> {
        let mut queued = pin!(queued);
        // Usually there is room, and no timer is needed.
        if let Poll::Ready(queued) = poll_fn(|cx| Poll::Ready(queued.as_mut().poll(cx))).await {
            return Ok((queued, true));
        }
        let Some(limit) = limit else {
            return Ok((queued.await, false));
        };
        let out_of_time = {
            // The caller need not be in a runtime.
            let _entered = self.shared.runtime.enter();
            sleep_until(limit.deadline)
        };
        tokio::select! {
            biased;
            queued = queued => Ok((queued, false)),
            () = out_of_time => {
                self.shared.peek(|state| state.counters.calls_timed_out += 1);
                let after = limit.after;
                self.shared.note(&Note::Warn(format!("call {method} timed out after {after:?} without having been sent")));
                Err(CallError::TimedOut(after))
            }
        }
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
    /// Makes the timer check the deadlines, starting it for the first one.
    fn arm_timer(self: &Arc<Self>) {
        let first = self.peek(|state| !std::mem::replace(&mut state.timer_running, true));
        if first {
            self.runtime.spawn(timer::run(Arc::clone(self)));
        } else {
            self.timer.notify_one();
        }
    }

    /// Notifies the other side that this call was abandoned. Skipped if the queue is full: the notification is
    /// optional.
    pub(crate) fn cancel_remote(&self, state: &mut State, id: u64, after: &mut After) {
        // The method of an abandoned call is known for as long as its answer may come.
        let is_wanted = state.calls.method(id).is_some_and(self.options.cancel_on_abandon);
        if !is_wanted || state.phase != Phase::Active {
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
