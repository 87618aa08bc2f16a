//! JSON-RPC 2.0 on one connection, the same at both ends. Knows no method of anybody's.
//!
//! A [`Peer`] reads on one task and writes on another; neither waits for the other. What arrives goes to a
//! [`Service`] in arrival order, one after the other: the service decodes and hands on, and answers later
//! through the [`Responder`], from wherever it likes. Answers are always accepted and never wait, because a
//! request is admitted only together with room for its answer; whoever sends anything else waits for room.
//!
//! ```
//! use bobbin_peer_lite::{Notification, Options, Peer, Request, Responder, Service, memory_pair};
//! use futures_util::future::BoxFuture;
//!
//! struct Echo;
//!
//! impl Service for Echo {
//!     fn request(&self, request: Request, responder: Responder) -> BoxFuture<'_, ()> {
//!         Box::pin(async move { responder.ok(&request.params) })
//!     }
//!     fn notification(&self, _: Notification) -> BoxFuture<'_, ()> {
//!         Box::pin(async {})
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let (here, there) = memory_pair();
//! let server = Peer::start(here, Options::default(), |_| Echo);
//! let client = Peer::start(there, Options::default(), |_| Echo);
//! let answer = client.handle().call("echo", &[1, 2]).await.unwrap();
//! assert_eq!(answer.get(), "[1,2]");
//! client.handle().shutdown().await;
//! server.closed().await;
//! # });
//! ```

mod calls;
mod envelope;
mod error;
mod handle;
mod id;
mod incoming;
mod options;
mod outbox;
mod peer;
mod responder;
mod service;
mod stats;

pub use bobbin_framing::{Close, Transport, memory_pair};
pub use error::{CallError, ErrorObject, SendError, code};
pub use handle::PeerHandle;
pub use id::Id;
pub use options::{EofPolicy, NullId, Options, ParseErrorReply, VersionCheck};
pub use peer::Peer;
pub use responder::Responder;
pub use service::{Notification, Request, Service};
pub use stats::{Phase, Stats};
