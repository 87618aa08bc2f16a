//! The ECA dialect: JSON-RPC over Content-Length frames, as editors' plugins speak it.
//!
//! [`serve`] runs one connection from its handshake to its end. A chat is a Thread, a prompt a Turn, a waiting tool
//! call an Approval, a behaviour a mode; contents show Items. This crate decides nothing: it sends requests to the
//! core and makes contents of the core's events. `chats` and `view` describe the state of a connection.
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
mod running;
mod view;
mod wire;

pub use connection::{End, serve};
pub use early::{cannot_open, early};
