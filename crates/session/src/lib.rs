//! One connected client: its Subscriptions, the pump that feeds them to its Peer, and the questions that it is asked.
//!
//! A dialect implements [`Dialect`]: it encodes frames as notifications and puts questions to the client. It also implements
//! [`Handler`], whose messages [`serve`] brings in from the first to the last. A slow client costs its cursors and one
//! batch. No queue grows for it, and only its own pump waits for it.

mod connection;
mod dialect;
mod failure;
mod flushes;
pub mod history;
mod pending_requests;
mod pump;
mod quiet;
mod session;
mod subscription;
mod subscriptions;

pub use connection::{Connection, ConnectionOptions, Handler, NO_LONGER_ADMITTED, serve};
pub use dialect::{Dialect, LogSource};
pub use failure::client_failure;
pub use quiet::until_answered;
pub use session::{Held, Session};
pub use subscriptions::{Lifetime, Start, SubscribeOptions};
