//! What a connection hands its input to.

use futures_util::future::BoxFuture;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{Id, Responder};

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// The method, case-sensitive.
    pub method: String,
    /// The parameters, untouched; absent and `null` are the same.
    pub params: Option<Box<RawValue>>,
    /// The id.
    pub id: Id,
    /// How many requests and notifications came before it on this connection.
    pub ordinal: i64,
    /// Cancelled by `$/cancelRequest` and by the connection's end.
    pub cancel: CancellationToken,
}

/// A notification as it came.
#[derive(Debug)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The parameters, untouched.
    pub params: Option<Box<RawValue>>,
    /// How many requests and notifications came before it on this connection.
    pub ordinal: i64,
}

/// Takes what arrives, in the order of arrival, one message after the other.
///
/// A method's future should decode and hand on; the next message waits for it. Long work goes elsewhere,
/// with the responder. A panic is caught: the request is answered `-32603`, the connection goes on.
pub trait Service: Send + Sync + 'static {
    /// Takes a request. It counts as unanswered until the responder is used or dropped.
    fn request(&self, request: Request, responder: Responder) -> BoxFuture<'_, ()>;

    /// Takes a notification. Nothing is ever answered.
    fn notification(&self, notification: Notification) -> BoxFuture<'_, ()>;
}
