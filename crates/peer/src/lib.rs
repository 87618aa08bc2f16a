//! JSON-RPC 2.0 on one connection, the same at both ends; knows no method of anyone's.
//!
//! A [`Peer`] answers requests, asks them, and sends and receives notifications, all at the same
//! time, whichever side opened the connection. Its methods are registered once, in [`Handlers`]. Our own
//! requests and notifications go through a [`PeerHandle`].
//!
//! # A language server and its client
//!
//! Both ends of one connection, in memory; the same code speaks over pipes and sockets.
//!
//! ```
//! use std::time::Duration;
//!
//! use bobbin_peer::{ErrorObject, Handlers, Limits, Mode, NoParams, Peer, PeerHandle, PeerOptions, Transport};
//! use serde_json::{Value, json};
//! use tokio::io::{duplex, split};
//!
//! /// The server. It gets its connection before the first message, to send requests and notifications to the editor.
//! fn language_server(editor: PeerHandle) -> Handlers {
//!     let exit = editor.clone();
//!     Handlers::new()
//!         // Nothing received later is looked at before this has been answered.
//!         .on_call_with("initialize", Mode::Barrier, |_, _: Value| async {
//!             Ok(json!({ "capabilities": { "hoverProvider": true } }))
//!         })
//!         // Notifications are applied one after the other, in the order they came.
//!         .on_notification("textDocument/didOpen", move |_, params: Value| {
//!             let editor = editor.clone();
//!             async move {
//!                 let uri = &params["textDocument"]["uri"];
//!                 let found = json!({ "uri": uri, "diagnostics": [] });
//!                 // Resolves once it is written, so a slow editor slows this lane and nothing else.
//!                 editor.notify("textDocument/publishDiagnostics", found).await?;
//!                 Ok(())
//!             }
//!         })
//!         // Requests run side by side. A cancelled request is dropped at its next await.
//!         .on_call("textDocument/hover", |cx, params: Value| async move {
//!             let line = params["position"]["line"]
//!                 .as_u64()
//!                 .ok_or_else(|| ErrorObject::invalid_params("no line"))?;
//!             // A handler may ask the other side and wait for its answer.
//!             let settings: Value = cx.peer.call("workspace/configuration", json!({ "items": [] })).await?;
//!             Ok(json!({ "contents": format!("line {line}, in {}", settings[0]["language"]) }))
//!         })
//!         .on_call("shutdown", |_, _: NoParams| async { Ok(()) })
//!         .on_notification("exit", move |_, _: NoParams| {
//!             exit.start_shutdown();
//!             async { Ok(()) }
//!         })
//!         .ignore_notifications("$/")
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Over a process's own pipes: Transport::content_length(tokio::io::stdin(), tokio::io::stdout(), limits).
//! let (near, far) = duplex(64 << 10);
//! let content_length = |stream| {
//!     let (read, write) = split(stream);
//!     Transport::content_length(read, write, Limits::default())
//! };
//! let server = Peer::start(content_length(near), PeerOptions::default(), language_server)?;
//!
//! // The client, of the same type.
//! let client = Peer::start(content_length(far), PeerOptions::default(), |_| {
//!     Handlers::new()
//!         .on_call("workspace/configuration", |_, _: Value| async { Ok(json!([{ "language": "tea" }])) })
//!         .on_notification("textDocument/publishDiagnostics", |_, _: Value| async { Ok(()) })
//! })?;
//! let _about: Value = client.call("initialize", json!({ "capabilities": {} })).await?;
//! client.notify("textDocument/didOpen", json!({ "textDocument": { "uri": "file:///a.tea" } })).await?;
//! let at = json!({ "position": { "line": 3, "character": 0 } });
//! let hover: Value = client.call_with_timeout("textDocument/hover", at, Duration::from_secs(5)).await?;
//! assert_eq!(hover["contents"], "line 3, in \"tea\"");
//!
//! client.call::<()>("shutdown", ()).await?;
//! client.notify("exit", ()).await?;
//! server.closed().await;
//! // The end of the one is the end of input for the other.
//! client.closed().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What to know before building on it
//!
//! * **Transports.** [`Transport::lines`], [`Transport::content_length`] and [`Transport::websocket`] take any byte stream;
//!   [`Peer::pair`] and [`Peer::pair_raw`] are for tests. `examples/server.rs` and `examples/client.rs` have all three.
//! * **Order.** Handlers are started in the order their messages came. A [`Mode`] says what may run beside what: requests
//!   are [`Mode::Concurrent`] unless registered otherwise, notifications are ordered in one lane. Answers to one's own
//!   calls never wait behind other messages, so a handler may wait for them in any mode.
//! * **Answers.** A handler returns its result or an error; anything that converts to [`HandlerError`] by `?` is `-32603`
//!   with the type's name, the text going to the log only. A handler that hands a request on takes a [`Responder`]
//!   ([`Handlers::on_call_deferred`]). Every request is answered exactly once, after a panic and a drop too.
//! * **Cancelling.** `$/cancelRequest`, the end of input and a shutdown cancel [`CallContext::token`]; the handler is dropped unless its
//!   [`Route`] says [`CancelStyle::Cooperative`]. Dropping the future of one's own call cancels it at the other side.
//! * **Errors of calls.** [`CallError`] distinguishes an error of the other side, a time-out and the end of the connection.
//! * **Bounds.** Every queue has one in items and in bytes, with what happens at it, in [`PeerOptions`]. A sender waits
//!   for room; [`PeerHandle::try_notify`] does not. Input over a bound is answered with an error or dropped with a log
//!   entry, and reading goes on.
//! * **The end.** [`PeerHandle::shutdown`] returns when the last answer is written. Dropping the [`Peer`] starts it; dropping
//!   handles does not. [`EofPolicy`] says what the end of input means for work that runs.
//! * **Looking in.** [`PeerHandle::stats`] never waits; [`PeerOptions::log`] sees every message and incident. A [`Layer`]
//!   wraps every handler and every send.

mod batch;
mod budget;
mod call;
mod calls;
mod connection;
mod context;
mod current;
mod dispatch;
mod encode;
mod envelope;
mod error;
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
mod reader;
mod recent;
mod responder;
mod run;
mod shared;
mod state;
mod stats;
mod test_client;
mod ticket;
mod timer;
mod writer;

pub use bobbin_framing::{BinaryFrames, CloseReason, KeepAlive, Limits, Transport, WebSocketOptions};
pub use budget::AnswerBudget;
pub use context::{CallContext, Extensions, NoParams, NotificationContext};
pub use encode::RawJson;
pub use error::{CallError, ConfigError, ErrorObject, HandlerError, SendError, code};
pub use handle::PeerHandle;
pub use handlers::{CancelStyle, HandlerFuture, Handlers, Mode, Route};
pub use id::WireId;
pub use layer::{Layer, NextCall, NextNotification, Outgoing};
pub use log::{LogEntry, LogFn, tee};
pub use options::{
    Batches, CancelDialect, EofPolicy, NullId, OversizeReply, ParseErrorReply, PeerOptions, VersionCheck,
};
pub use peer::Peer;
pub use responder::Responder;
pub use stats::{Phase, Stats};
pub use test_client::{StreamFraming, TestClient};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
