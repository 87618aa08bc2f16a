//! The sources of connections: this process's stdio, the HTTP listener, a socket file.
//!
//! A connection is handed to a [`Connections`] handler as a framed transport; what is spoken over it is
//! not known here.

mod access;
mod cut;
mod guesses;
mod http;
mod listener;
mod local;
mod loopback;
mod page_origin;
mod stdio;
mod tls;
mod web_socket;

use bobbin_framing::Transport;
use bobbin_model::Actor;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use axum::Router;

pub use access::{Access, AccessError, Admission, Admitted, Denied, Guests, NodeKey, bearer_token};
pub use guesses::Guesses;
pub use http::ROOT_WEB_SOCKET;
pub use listener::{ListenError, Listener, Readiness};
pub use local::{LocalListener, connect_local};
pub use loopback::bind_loopbacks;
pub use page_origin::PageOrigin;
pub use stdio::{MAX_BODY_BYTES, stdio, stdio_with_headers};
pub use tls::{Tls, TlsError};
pub use web_socket::{WebSockets, web_socket, web_socket_by};

/// Takes accepted connections.
pub trait Connections: Send + Sync + 'static {
    /// Serves one connection to its end.
    fn serve(&self, transport: Transport, caller: Caller) -> BoxFuture<'static, ()>;
}

/// The client at the other end of a connection.
#[derive(Debug, Clone)]
pub struct Caller {
    /// On whose behalf it acts.
    pub actor: Actor,
    /// Cancelled when it may no longer be connected. The connection ends by itself a moment later.
    pub until: CancellationToken,
    /// Whether no other machine can read or change its bytes on their way: they stay on this one, or TLS protects them.
    pub is_private: bool,
}
