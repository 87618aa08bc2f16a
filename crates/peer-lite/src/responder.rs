//! The one answer to a request.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::id::IdKey;
use crate::peer::Shared;
use crate::{ErrorObject, Id, code, envelope};

/// Answers one request, exactly once. Queueing the answer never waits: what is sent after it, by anybody,
/// is written after it. Dropped unused, it answers `-32603`.
#[must_use = "a request wants an answer"]
pub struct Responder {
    id: Id,
    key: IdKey,
    shared: Option<Arc<Shared>>,
}

impl Responder {
    pub(crate) fn new(id: Id, key: IdKey, shared: Arc<Shared>) -> Self {
        Self {
            id,
            key,
            shared: Some(shared),
        }
    }

    /// Answers with a value.
    pub fn ok(self, result: &impl Serialize) {
        match envelope::result(&self.id, result) {
            Ok(message) => self.send(message),
            Err(error) => {
                tracing::error!(%error, "a result cannot be serialized");
                self.err(&ErrorObject::new(code::INTERNAL_ERROR, "Internal error"));
            }
        }
    }

    /// Answers with an error.
    pub fn err(self, error: &ErrorObject) {
        let message = envelope::error(Some(&self.id), error);
        self.send(message);
    }

    fn send(mut self, message: Bytes) {
        if let Some(shared) = self.shared.take() {
            shared.answer(&self.key, message);
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            let error = ErrorObject::new(code::INTERNAL_ERROR, "Internal error");
            shared.answer(&self.key, envelope::error(Some(&self.id), &error));
        }
    }
}
