//! The native dialect: the AppServer protocol's messages to core commands, events to its notifications.
//!
//! [`serve`] runs one connection from its handshake to its end. No state machine of its own beside the
//! handshake: Threads and Turns live in the core, cursors in the session.

mod answers;
mod channels;
mod connection;
mod convert;
mod cursor;
mod dialect;
mod encode;
mod errors;
mod history;
mod input;
mod methods;
mod repeats;
mod serving;
mod user_input;

pub use connection::{Door, Server, serve};
