//! Calls of tools outside of any Turn, at a client's request (AppServer protocol 07 §7.4).
//!
//! The rules, the policy of the Thread and hooks decide as for a call of a model. Users are not asked there, so a call
//! that needs their answer is refused.

use std::sync::Arc;

use bobbin_model::{Json, ThreadState, TurnFeatures};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::tool::Questions;
use crate::tool_server::NoTool;

/// A call of a server's tool.
#[derive(Clone)]
pub struct OutsideCall {
    /// The Thread whose rules and policy count.
    pub thread: Arc<ThreadState>,
    /// The features of a Turn that the client would start.
    pub features: TurnFeatures,
    /// The server.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Json,
    /// An object that goes with the call.
    pub meta: Option<Json>,
    /// Asks the client what the server wants to know.
    pub questions: Arc<dyn Questions>,
    /// Stops the call.
    pub cancel: CancellationToken,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutsideAnswer {
    /// The server's answer as it is.
    Whole(Json),
    /// The call was not run; the reason.
    Refused(String),
}

/// Reason why a call has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutsideError {
    /// The tool cannot be called.
    #[error(transparent)]
    NoTool(#[from] NoTool),
    /// The arguments are invalid.
    #[error("{0}")]
    Unusable(String),
    /// The server has not answered the call; the text is for the user.
    #[error("{0}")]
    Failed(String),
}

/// Runs calls of tools outside of Turns.
pub trait OutsideCalls: Send + Sync + 'static {
    /// Runs a call. Dropping the future gives it up, and the server is notified.
    fn call(&self, call: OutsideCall) -> BoxFuture<'_, Result<OutsideAnswer, OutsideError>>;
}
