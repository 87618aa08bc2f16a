//! The native dialect: turns the AppServer protocol's messages into core commands, and events into its notifications.
//!
//! [`serve`] runs one connection from its handshake to its end. The handshake is its only state machine: Threads and
//! Turns live in the core, cursors in the session.

mod answers;
mod audit;
pub mod call;
mod channels;
pub mod client;
mod connection;
pub mod convert;
mod cursor;
mod dialect;
mod encode;
pub mod errors;
pub mod group;
pub mod groups;
pub mod new_thread;
mod own_turns;
mod repeats;

pub use bobbin_model::Actor;
pub use connection::{Endpoint, LocalClient, Server, serve, serve_until};
pub use encode::message;
pub use groups::GROUPS;
pub use groups::serving::dynamic::answer_in as tool_answer;
