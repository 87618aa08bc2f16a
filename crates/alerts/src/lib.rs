//! Alerts: the user is notified outside of all clients when a question has waited for a while, and when a long Turn has ended.
//!
//! An alert goes to an address by POST, or to a program of the user, as the user's own configuration says. It has the name of
//! the workspace and the title of the Thread, and no other text. Each question is reported once. A process that ends takes the
//! times with it: a question that is open at the next start waits anew.

pub mod group;
mod overdue;
mod send;
pub mod settings;
mod watch;

pub use group::GROUPS;
pub use send::{Alert, AlertError, AlertKind, Sender};
pub use settings::{AlertSettings, AlertsSection};
pub use watch::Alerts;
