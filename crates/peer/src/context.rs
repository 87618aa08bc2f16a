//! The context that a handler gets with its message.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::error::ErrorObject;
use crate::handle::PeerHandle;
use crate::handlers::decode_params;
use crate::id::WireId;
use crate::ticket::Ticket;

/// An incoming request, as its handler sees it.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// Method name as sent.
    pub method: Arc<str>,
    /// Params as sent; absent and `null` are `None`.
    pub params: Option<Box<RawValue>>,
    /// Id as sent.
    pub id: WireId,
    /// Position among all requests and notifications of the connection, from 0.
    pub ordinal: i64,
    /// The connection.
    pub peer: PeerHandle,
    pub(crate) ticket: Arc<Ticket>,
}

impl CallContext {
    /// Returns the token that is cancelled when the other side cancels the request or the connection shuts down.
    pub fn token(&self) -> &CancellationToken {
        self.ticket.token()
    }

    /// Decodes the params; absent ones as `null`, or else as an empty object.
    ///
    /// # Errors
    ///
    /// `-32602` with the decoder's message in `data.detail`.
    pub fn decode<P: DeserializeOwned>(&self) -> Result<P, ErrorObject> {
        decode_params(self.params.as_deref())
    }
}

/// An incoming notification, as its handler sees it.
#[derive(Debug, Clone)]
pub struct NotificationContext {
    /// Method name as sent.
    pub method: Arc<str>,
    /// Params as sent; absent and `null` are `None`.
    pub params: Option<Box<RawValue>>,
    /// Position among all requests and notifications of the connection, from 0.
    pub ordinal: i64,
    /// The connection.
    pub peer: PeerHandle,
    pub(crate) ticket: Arc<Ticket>,
}

impl NotificationContext {
    /// Returns the token that is cancelled when the connection shuts down.
    pub fn token(&self) -> &CancellationToken {
        self.ticket.token()
    }

    /// Decodes the params; absent ones as `null`, or else as an empty object.
    ///
    /// # Errors
    ///
    /// `-32602` with the decoder's message in `data.detail`; for the log, since nothing is answered.
    pub fn decode<P: DeserializeOwned>(&self) -> Result<P, ErrorObject> {
        decode_params(self.params.as_deref())
    }
}

/// Params of methods that take none: anything structured decodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoParams;

impl<'de> serde::Deserialize<'de> for NoParams {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Values of any type that belong to a connection, one per type.
#[derive(Debug, Default)]
pub struct Extensions(RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Inserts a value, replacing the former one of its type.
    pub fn insert<T: Send + Sync + 'static>(&self, value: T) {
        let former = self.0.write().insert(TypeId::of::<T>(), Arc::new(value));
        // Dropped here, with the lock released.
        drop(former);
    }

    /// Returns the value of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.0.read().get(&TypeId::of::<T>()).cloned()?;
        value.downcast().ok()
    }
}
