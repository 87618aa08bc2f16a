//! What everybody may do with a connection.

use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::Close;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::peer::Shared;
use crate::{CallError, Phase, SendError, Stats, envelope};

/// A connection, from any task. Cheap to clone; after the end every operation returns at once.
#[derive(Clone)]
pub struct PeerHandle {
    pub(crate) shared: Arc<Shared>,
}

impl PeerHandle {
    /// Sends a notification; returns once it was flushed.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn notify(&self, method: &str, params: &(impl Serialize + ?Sized)) -> Result<(), SendError> {
        let message = envelope::outgoing(None, method, params).map_err(SendError::Encode)?;
        self.send_batch(vec![message]).await
    }

    /// Sends whole messages, in order, with one flush; returns once they were flushed.
    ///
    /// # Errors
    /// [`SendError::ShutDown`].
    pub async fn send_batch(&self, messages: Vec<Bytes>) -> Result<(), SendError> {
        self.shared.outbox.room().await;
        let (tell, flushed) = oneshot::channel();
        if !self.shared.outbox.push(messages, Some(tell)) {
            return Err(SendError::ShutDown);
        }
        flushed.await.map_err(|_| SendError::ShutDown)
    }

    /// Asks the other side; waits as long as it takes. Dropping the future forgets the call.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call(
        &self,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, CallError> {
        self.shared.outbox.room().await;
        let (id, answer) = self.shared.calls.lock().begin().ok_or(CallError::ShutDown)?;
        let _forget = Forget {
            shared: &self.shared,
            id,
        };
        let message = envelope::outgoing(Some(id), method, params).map_err(CallError::Encode)?;
        if !self.shared.outbox.push(vec![message], None) {
            return Err(CallError::ShutDown);
        }
        answer.await.unwrap_or(Err(CallError::ShutDown))
    }

    /// Asks the other side and waits so long at most.
    ///
    /// # Errors
    /// [`CallError`].
    pub async fn call_within(
        &self,
        limit: Duration,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, CallError> {
        tokio::time::timeout(limit, self.call(method, params))
            .await
            .unwrap_or(Err(CallError::TimedOut))
    }

    /// Begins to end the connection: requests are cancelled, answers still written.
    pub fn begin_shutdown(&self) {
        self.shared.begin_shutdown(Close::normal());
    }

    /// Begins to end the connection and says why, where the framing can.
    pub fn close_with(&self, code: u16, reason: &str) {
        self.shared.begin_shutdown(Close {
            code,
            reason: reason.to_owned(),
        });
    }

    /// Ends the connection; returns when it has ended.
    pub async fn shutdown(&self) {
        self.begin_shutdown();
        self.closed().await;
    }

    /// Waits for the connection's end.
    pub async fn closed(&self) {
        let mut phase = self.shared.phase.subscribe();
        // The sender lives in what this handle holds.
        drop(phase.wait_for(|phase| *phase == Phase::Stopped).await);
    }

    /// Returns figures; never waits.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }
}

/// Forgets a call when its future is dropped or done.
struct Forget<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.calls.lock().forget(self.id);
    }
}
