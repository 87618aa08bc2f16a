//! JSON-RPC 2.0 on one connection, the same at both ends; knows no method of anyone's.
//!
//! A [`Peer`] answers requests, asks them, and sends and receives notifications, all at the same
//! time, whichever side opened the connection. What it serves is said once, in [`Handlers`]; what it
//! is asked to do goes through a [`PeerHandle`].

mod batch;
mod call;
mod calls;
mod connection;
mod context;
mod current;
mod dispatch;
mod encode;
mod envelope;
mod error;
mod far_end;
mod handle;
mod handlers;
mod id;
mod job;
mod lanes;
mod layer;
mod log;
mod members;
mod options;
mod outbox;
mod output;
mod peer;
mod progress;
mod reader;
mod recent;
mod responder;
mod run;
mod shared;
mod state;
mod stats;
mod ticket;
mod timer;
mod writer;

pub use bobbin_framing::{CloseReason, Transport};
pub use context::{CallContext, Extensions, NoParams, NotificationContext};
pub use encode::RawJson;
pub use error::{CallError, ConfigError, ErrorObject, HandlerError, SendError, code};
pub use far_end::{FarEnd, StreamFraming};
pub use handle::PeerHandle;
pub use handlers::{CancelStyle, HandlerFuture, Handlers, Mode, Route};
pub use id::WireId;
pub use layer::{Layer, NextCall, NextNotification, Outgoing};
pub use log::{LogEntry, LogFn, Redaction, tee};
pub use options::{
    Batches, CancelDialect, EofPolicy, NullId, OversizeReply, ParseErrorReply, PeerOptions, ProgressDialect,
    VersionCheck,
};
pub use peer::Peer;
pub use progress::{ProgressCall, ProgressDeadline};
pub use responder::Responder;
pub use stats::{Phase, Stats};
