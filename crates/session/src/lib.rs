//! One connected client: its Subscriptions, the pump that feeds them to its Peer, and the Approvals it is
//! asked.
//!
//! What a dialect adds is behind [`Dialect`]: how frames become notifications and how a question is put.
//! A slow client costs its cursors and one batch; nothing is queued for it, and nobody waits for it but
//! its own pump.

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
