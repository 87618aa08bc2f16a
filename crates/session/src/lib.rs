//! One connected client: its Subscriptions, the pump that feeds them to its Peer, and the Approvals it is
//! asked.
//!
//! What a dialect adds is behind [`Dialect`]: how frames become notifications and how a question is put.
//! A slow client costs its cursors and one batch; nothing is queued for it, and nobody waits for it but
//! its own pump.

mod asks;
mod dialect;
mod pump;
mod reader;
mod readers;
mod session;
mod told;

pub use dialect::{Dialect, Inquired, Through};
pub use readers::{Attach, Begin, Until};
pub use session::Session;
