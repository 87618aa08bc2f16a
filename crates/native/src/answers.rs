//! Permission for large answers: bounds the memory of answers that clients request and do not read.
//!
//! A connection makes one large answer at a time, after its client has read the earlier ones. The whole server makes a
//! few at once. While [`MAX_QUEUED_BYTES`] wait on all connections, a request for another is refused with `-32001`.

use std::sync::Arc;

use bobbin_native_wire::RpcError;
use bobbin_peer::{AnswerBudget, PeerHandle};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::RETRY_AFTER_MS;

/// Limit of bytes of unread answers on all connections together: four of the largest answers.
const MAX_QUEUED_BYTES: usize = 256 << 20;
/// Limit of large answers that are made at once. Each needs a few times its size meanwhile.
const MAX_MADE: usize = 4;

/// The limits that all connections of a server share.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) budget: Arc<AnswerBudget>,
    making: Arc<Semaphore>,
}

impl Default for Answers {
    fn default() -> Self {
        Self {
            budget: Arc::new(AnswerBudget::new(MAX_QUEUED_BYTES)),
            making: Arc::new(Semaphore::new(MAX_MADE)),
        }
    }
}

/// Permission to make one large answer. Drop it once the answer is queued.
#[derive(Debug)]
pub(crate) struct AnswerPermit {
    _connection: OwnedSemaphorePermit,
    _server: OwnedSemaphorePermit,
}

impl Answers {
    /// Waits until the connection makes no other large answer and its client has read the queued ones.
    ///
    /// # Errors
    /// The answers of other clients fill the budget, or the connection has ended.
    pub(crate) async fn permit(
        &self,
        connection: Arc<Semaphore>,
        peer: &PeerHandle,
    ) -> Result<AnswerPermit, RpcError> {
        let overloaded = || RpcError::overloaded(RETRY_AFTER_MS);
        let connection = connection.acquire_owned().await.map_err(|_| overloaded())?;
        if !peer.answers_drained().await {
            return Err(overloaded());
        }
        let server = self
            .making
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| overloaded())?;
        if !self.budget.has_room() {
            return Err(overloaded());
        }
        Ok(AnswerPermit {
            _connection: connection,
            _server: server,
        })
    }
}
