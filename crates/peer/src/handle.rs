//! The handle: everything a program can do with a connection, from any task and at any time.

use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::CloseReason;
use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::calls::Timeout;
use crate::context::Extensions;
use crate::encode;
use crate::error::{CallError, SendError};
use crate::layer::Outgoing;
use crate::log::Note;
use crate::outbox::OutFrame;
use crate::shared::Shared;
use crate::stats::{Phase, Stats};

/// An outgoing call or notification after the layers.
pub(crate) struct Message {
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Vec<u8>>,
}

impl Message {
    /// Most bytes it takes, whatever its id.
    pub(crate) fn size(&self) -> usize {
        // An id has at most 20 digits.
        self.method.len() + self.params.as_ref().map_or(0, Vec::len) + 64
    }
}

/// A handle to one connection. Cheap to clone; outlives the connection harmlessly: after the end
/// every operation returns at once.
#[derive(Clone)]
pub struct PeerHandle {
    pub(crate) shared: Arc<Shared>,
}

impl std::fmt::Debug for PeerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerHandle").finish_non_exhaustive()
    }
}

impl PeerHandle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Waits until the answers in the write queue are within
    /// [`max_queue_bytes`](crate::PeerOptions::max_queue_bytes). Returns whether the connection is still open. Call
    /// it before making a large answer.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn answers_drained(&self) -> bool {
        crate::reader::wait_for_room(&self.shared).await
    }

    /// Sends a notification; returns after it was written and flushed.
    ///
    /// Params that serialize to `null`, such as `()`, are left out.
    ///
    /// # Errors
    ///
    /// [`SendError::Closed`] when the connection is shutting down, gone, or breaks meanwhile; the
    /// others when the message itself cannot be sent.
    pub async fn notify(&self, method: &str, params: impl Serialize + Send) -> Result<(), SendError> {
        let params = encode::params(&params)?;
        self.flushed(method, params).await
    }

    /// Sends a notification without waiting for anything.
    ///
    /// # Errors
    ///
    /// As [`notify`](Self::notify), and [`SendError::Full`] when the write queue has no room.
    pub fn try_notify(&self, method: &str, params: impl Serialize) -> Result<(), SendError> {
        let params = encode::params(&params)?;
        let message = self.outgoing(method, params)?;
        let frame = self.frame(None, &message);
        let size = frame.bytes.len();
        let sent = self.shared.send_now(size, 1, |_| (Some(frame), ()));
        sent.inspect_err(|error| self.warn_closed(error, method))
    }

    /// Sends already encoded messages as one batch of writes; returns after the last one was flushed. Nothing else
    /// is written between them.
    ///
    /// Waits for room for all of them together; an empty queue accepts any batch. Layers do not see these messages.
    ///
    /// # Errors
    ///
    /// [`SendError::Closed`] when the connection is shutting down, gone, or breaks meanwhile.
    pub async fn send_batch(&self, frames: Vec<Bytes>) -> Result<(), SendError> {
        if frames.is_empty() {
            return Ok(());
        }
        let charset = self.shared.options.charset();
        let mut frames: Vec<_> = frames
            .into_iter()
            .map(|bytes| OutFrame::new(charset.convert(bytes)))
            .collect();
        let size = frames.iter().map(|frame| frame.bytes.len()).sum();
        let (done, flushed) = oneshot::channel();
        if let Some(last) = frames.last_mut() {
            last.flushed = Some(done);
        }
        let count = frames.len();
        let sent = self.shared.send_all(size, count, |_| (frames, ())).await;
        sent.inspect_err(|error| self.warn_closed(error, "a batch of messages"))?;
        flushed.await.unwrap_or(Err(SendError::Closed))
    }

    /// Calls the other side and waits for its answer without a time limit.
    ///
    /// # Errors
    ///
    /// [`CallError`] says whether the other side answered with an error or will never answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the call: a cancel notification is sent to the other side unless the options
    /// say otherwise.
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
    ) -> Result<R, CallError> {
        decode(&self.call_raw(method, params, None).await?)
    }

    /// As [`call`](Self::call), but gives up with [`CallError::TimedOut`] after `timeout`.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_with_timeout<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
        timeout: Duration,
    ) -> Result<R, CallError> {
        decode(&self.call_raw(method, params, Some(timeout)).await?)
    }

    /// As [`call`](Self::call), with the result as raw JSON.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_raw(
        &self,
        method: &str,
        params: impl Serialize + Send,
        timeout: Option<Duration>,
    ) -> Result<Box<RawValue>, CallError> {
        let timeout = timeout.map(|after| Timeout::new(Instant::now(), after));
        let params = encode::params(&params).map_err(CallError::Send)?;
        self.ask(method, params, timeout, |_| {}).await
    }

    /// As [`call`](Self::call). `note` gets the id of the request before it can be answered.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_noted<R: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
        note: impl FnOnce(u64) + Send,
    ) -> Result<R, CallError> {
        let params = encode::params(&params).map_err(CallError::Send)?;
        decode(&self.ask(method, params, None, note).await?)
    }

    /// Starts the shutdown sequence and returns at once.
    pub fn start_shutdown(&self) {
        self.shared.start_shutdown();
    }

    /// Starts the shutdown sequence and returns when the connection has stopped: all handlers have ended and the
    /// last answer is written. When one of the connection's own handlers calls it, it does not wait for that
    /// handler.
    pub async fn shutdown(&self) {
        let slot = self.shared.current_slot();
        if let Some(slot) = slot {
            self.shared.with(|state, after| {
                state.enter_shutdown(slot);
                after.changed = true;
            });
        }
        self.shared.start_shutdown();
        let own = slot.is_some();
        self.shared
            .wait_until(|state| state.phase == Phase::Stopped || (own && state.only_waiters_left()))
            .await;
    }

    /// As [`start_shutdown`](Self::start_shutdown); a WebSocket is closed with this code and reason. The first
    /// reason counts.
    pub fn close_with(&self, code: u16, reason: impl Into<std::borrow::Cow<'static, str>>) {
        // In one step: of two calls at once, the call that starts the shutdown also gives the reason.
        let reason = CloseReason::new(code, reason);
        self.shared.with(|state, after| {
            if state.phase == Phase::Active {
                state.close_reason = reason;
                state.start_shutdown(&self.shared.options, after);
            }
        });
    }

    /// Returns when the connection has stopped.
    pub async fn closed(&self) {
        self.shared
            .wait_until(|state| state.phase == Phase::Stopped)
            .await;
    }

    /// Returns the connection's phase.
    pub fn phase(&self) -> Phase {
        self.shared.peek(|state| state.phase)
    }

    /// Returns a snapshot of the connection's counters.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Returns the values that belong to this connection.
    pub fn extensions(&self) -> &Extensions {
        &self.shared.extensions
    }

    async fn flushed(&self, method: &str, params: Option<Vec<u8>>) -> Result<(), SendError> {
        let message = self.outgoing(method, params)?;
        let mut frame = self.frame(None, &message);
        let (done, flushed) = oneshot::channel();
        frame.flushed = Some(done);
        let sent = self.shared.send(frame.bytes.len(), |_| (Some(frame), ())).await;
        sent.inspect_err(|error| self.warn_closed(error, method))?;
        flushed.await.unwrap_or(Err(SendError::Closed))
    }

    /// Shows a message to the layers.
    pub(crate) fn outgoing(&self, method: &str, params: Option<Vec<u8>>) -> Result<Message, SendError> {
        let Some(layers) = self.shared.layers.get().filter(|layers| !layers.is_empty()) else {
            let method = method.into();
            return Ok(Message { method, params });
        };
        let mut message = Outgoing {
            method: method.into(),
            params: params.map(Bytes::from),
        };
        for layer in layers.iter() {
            layer.outgoing(&mut message)?;
        }
        Ok(Message {
            method: message.method.as_ref().into(),
            params: message.params.map(Vec::from),
        })
    }

    pub(crate) fn frame(&self, id: Option<u64>, message: &Message) -> OutFrame {
        let text = encode::message(id, &message.method, message.params.as_deref());
        OutFrame {
            bytes: self.shared.options.charset().finish(text),
            flushed: None,
            is_answer: false,
        }
    }

    pub(crate) fn warn_closed(&self, error: &SendError, what: &str) {
        if matches!(error, SendError::Closed) {
            self.shared
                .note(&Note::Warn(format!("{what} not sent: transport shut down")));
        }
    }
}

fn decode<R: DeserializeOwned>(result: &RawValue) -> Result<R, CallError> {
    serde_json::from_str(result.get()).map_err(CallError::Decode)
}
