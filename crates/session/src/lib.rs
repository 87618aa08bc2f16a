//! One connected client: its Subscriptions, the pump that feeds them to its Peer, and the questions that it is asked.
//!
//! A dialect implements [`Dialect`]: it encodes frames as notifications and puts questions to the client. A slow client
//! costs its cursors and one batch. No queue grows for it, and only its own pump waits for it.

mod dialect;
mod flushes;
mod pending_requests;
mod pump;
mod quiet;
mod session;
mod subscription;
mod subscriptions;

pub use dialect::{Dialect, LogSource, QuestionReply};
pub use quiet::until_answered;
pub use session::{Held, Session};
pub use subscriptions::{Lifetime, Start, SubscribeOptions};
