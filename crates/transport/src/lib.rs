//! Where connections come from: this process's stdio and the WebSocket listener.
//!
//! A connection is handed to a [`Connections`] handler as a framed transport; what is spoken over it is
//! not known here.

mod access;
mod listener;
mod stdio;

pub use access::{Access, AccessError};
pub use listener::{Connections, ListenError, Listener, Route};
pub use stdio::{MAX_BODY_BYTES, stdio, stdio_with_headers};
