//! The ECA dialect: JSON-RPC over Content-Length frames, as editors' plugins speak it.
//!
//! [`serve`] runs one connection from its handshake to its end. A chat is a Thread, a prompt is a Turn,
//! contents are what its Items become, a tool call that waits is an Approval, a behaviour is a mode. Nothing
//! here decides what may happen: requests go to the core, contents are made of its events. What a connection
//! remembers is said in `chats` and `view`.
//!
//! Wire rules: the ECA page of the specification; section numbers in this crate are its.

mod chats;
mod commands;
mod connection;
mod diagnostics;
mod dialect;
mod early;
mod errors;
mod flags;
mod handshake;
mod methods;
mod question;
mod replay;
mod view;
mod wire;

pub use connection::{End, serve};
pub use early::{cannot_open, early};
