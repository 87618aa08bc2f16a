//! Layers: code around every handler and every send, the same for every protocol.
//!
//! A layer sees raw params. It may answer or refuse by itself, continue with the next layer, or do something before
//! and after. The handler is the innermost; the first layer added is the outermost.

use std::sync::Arc;

use bytes::Bytes;

use crate::context::{CallContext, NotificationContext};
use crate::error::SendError;
use crate::handlers::{CallEntry, HandlerFuture, NotificationEntry};
use crate::responder::Responder;

/// Code around all handlers and sends of a connection. Every default method only continues.
pub trait Layer: Send + Sync + std::fmt::Debug {
    /// Serves an incoming request, unknown methods included.
    fn call(&self, cx: CallContext, responder: Responder, next: NextCall) -> HandlerFuture {
        next.run(cx, responder)
    }

    /// Serves an incoming notification that has a handler.
    fn notification(&self, cx: NotificationContext, next: NextNotification) -> HandlerFuture {
        next.run(cx)
    }

    /// Sees an outgoing call or notification before it is queued, and may change it.
    ///
    /// # Errors
    ///
    /// An error stops the message and is returned to the sender.
    fn outgoing(&self, message: &mut Outgoing) -> Result<(), SendError> {
        let _ = message;
        Ok(())
    }
}

/// An outgoing call or notification.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Method name.
    pub method: Arc<str>,
    /// Params as JSON text.
    pub params: Option<Bytes>,
}

pub(crate) type Layers = Arc<[Arc<dyn Layer>]>;

/// The rest of the layers and the handler, for a request.
pub struct NextCall {
    layers: Layers,
    at: usize,
    entry: Arc<CallEntry>,
}

impl NextCall {
    pub(crate) fn new(layers: Layers, entry: Arc<CallEntry>) -> Self {
        Self { layers, at: 0, entry }
    }

    /// Continues with the next layer, or with the handler.
    pub fn run(mut self, cx: CallContext, responder: Responder) -> HandlerFuture {
        match self.layers.get(self.at).cloned() {
            None => (self.entry.run)(cx, responder),
            Some(layer) => {
                self.at += 1;
                layer.call(cx, responder, self)
            }
        }
    }
}

impl std::fmt::Debug for NextCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NextCall")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// The rest of the layers and the handler, for a notification.
pub struct NextNotification {
    layers: Layers,
    at: usize,
    entry: Arc<NotificationEntry>,
}

impl NextNotification {
    pub(crate) fn new(layers: Layers, entry: Arc<NotificationEntry>) -> Self {
        Self { layers, at: 0, entry }
    }

    /// Continues with the next layer, or with the handler.
    pub fn run(mut self, cx: NotificationContext) -> HandlerFuture {
        match self.layers.get(self.at).cloned() {
            None => (self.entry.run)(cx),
            Some(layer) => {
                self.at += 1;
                layer.notification(cx, self)
            }
        }
    }
}

impl std::fmt::Debug for NextNotification {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NextNotification")
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}
