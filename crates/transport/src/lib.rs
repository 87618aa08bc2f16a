//! Where connections come from: this process's stdio, the WebSocket listener, a socket file.
//!
//! A connection is handed to a [`Connections`] handler as a framed transport; what is spoken over it is
//! not known here.

mod access;
mod listener;
mod local;
mod stdio;

pub use access::{Access, AccessError, Admission};
pub use listener::{Connections, ListenError, Listener, Route};
pub use local::{LocalListener, connect_local};
pub use stdio::{MAX_BODY_BYTES, stdio, stdio_with_headers};
