//! The native dialect: the AppServer protocol's messages to core commands, events to its notifications.
//!
//! [`serve`] runs one connection from its handshake to its end. No state machine of its own beside the
//! handshake: Threads and Turns live in the core, cursors in the session.

mod answers;
mod channels;
mod client;
mod connection;
mod convert;
mod cursor;
mod dialect;
mod encode;
mod errors;
pub mod group;
pub mod groups;
mod repeats;
pub mod wire;

pub use connection::{Endpoint, Server, serve};
