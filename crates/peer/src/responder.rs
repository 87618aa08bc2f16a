//! The obligation to answer one request.

use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::encode::{self, RawJson};
use crate::error::{ErrorObject, HandlerError};
use crate::id::WireId;
use crate::log::Note;
use crate::shared::Shared;
use crate::ticket::Ticket;

/// The one answer to a request, given by the holder of this value.
///
/// Answering queues the answer at once, without waiting: messages sent later on the connection come after it. A
/// responder dropped unused answers `-32603`, or `-32800` when the request was cancelled. An answer to a request
/// that is already gone is dropped.
pub struct Responder {
    shared: Arc<Shared>,
    ticket: Arc<Ticket>,
    done: bool,
}

impl Responder {
    pub(crate) fn new(shared: Arc<Shared>, ticket: Arc<Ticket>) -> Self {
        Self {
            shared,
            ticket,
            done: false,
        }
    }

    /// Returns the id of the request.
    pub fn id(&self) -> &WireId {
        &self.ticket.id
    }

    /// Returns the method of the request.
    pub fn method(&self) -> &str {
        &self.ticket.method
    }

    /// Returns the token that is cancelled when the request is.
    pub fn token(&self) -> &CancellationToken {
        self.ticket.token()
    }

    /// Answers with a result; one that cannot be serialized becomes `-32603`.
    pub fn ok(mut self, result: impl Serialize) {
        match encode::answer(&self.ticket.id, &result) {
            Ok(message) => self.send(message),
            Err(error) => self.give_error(HandlerError::from(error)),
        }
    }

    /// Answers with a result that is JSON text already: `Bytes`, `Box<RawValue>`, `String` and so on.
    pub fn ok_raw(mut self, result: impl RawJson) {
        self.send(encode::answer_raw(&self.ticket.id, result.json()));
    }

    /// Ends the request and returns its answer as a message for [`PeerHandle::send_batch`](crate::PeerHandle::send_batch),
    /// so that it comes right after the messages before it there. The caller sends it. Returns `None` if the request
    /// has already ended. An element of a batch is answered at once, which returns `None` too.
    pub fn into_message(mut self, result: Result<impl Serialize, ErrorObject>) -> Option<Bytes> {
        let message = match result {
            Ok(result) => match encode::answer(&self.ticket.id, &result) {
                Ok(message) => message,
                Err(error) => {
                    self.give_error(HandlerError::from(error));
                    return None;
                }
            },
            Err(error) => encode::error(&self.ticket.id, &error),
        };
        self.done = true;
        self.shared.hand_over(&self.ticket, message)
    }

    /// Answers with an error object.
    pub fn err(mut self, error: ErrorObject) {
        self.give_error(HandlerError::Rpc(error));
    }

    /// Answers with a handler's error. An error foreign to JSON-RPC is logged in full and answered by type name
    /// only.
    pub fn fail(mut self, error: HandlerError) {
        self.give_error(error);
    }

    fn give_error(&mut self, error: HandlerError) {
        let object = match error {
            HandlerError::Rpc(object) => object,
            HandlerError::Cancelled => ErrorObject::cancelled(),
            HandlerError::Foreign { type_name, text } => {
                self.shared.note(&Note::Error(format!(
                    "handler for {} failed: {type_name}: {text}",
                    self.ticket.method
                )));
                ErrorObject::internal(type_name)
            }
        };
        self.send(encode::error(&self.ticket.id, &object));
    }

    fn send(&mut self, message: Vec<u8>) {
        if !mem::replace(&mut self.done, true) {
            self.shared.respond(&self.ticket, message);
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let object = if self.ticket.is_cancelled() {
            ErrorObject::cancelled()
        } else if std::thread::panicking() {
            // The code that catches the panic logs it.
            ErrorObject::internal("panic")
        } else {
            self.shared.note(&Note::Error(format!(
                "request {} was never answered by its handler",
                self.ticket.method
            )));
            ErrorObject::internal("no answer")
        };
        self.send(encode::error(&self.ticket.id, &object));
    }
}

impl std::fmt::Debug for Responder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Responder")
            .field("method", &self.ticket.method)
            .field("id", &self.ticket.id)
            .finish_non_exhaustive()
    }
}
