//! Runs commands of agents: in the foreground of a Turn, or in the background as terminals.
//!
//! [`Terminals`] starts each command as a task of its own (`attend`) that collects its output (`spool`). Once the
//! command is in the background, the task broadcasts its changes (`teller`). Output that exceeds memory goes to files
//! in a directory that no command can reach (`shelf`). The files and the records of terminals survive a restart:
//! terminals that ran when the server died are recorded as lost.
//!
//! The crate knows nothing of tools, rules, approvals or wires: the caller of [`Order`] has the approval and wraps the
//! process. Only `bobbin-children` starts processes, and they end with the server, however it ends. [`Bounds`] bounds
//! everything and says what happens at each limit.

mod attend;
mod bounds;
mod entry;
mod follow;
mod networks;
mod pictures;
mod record;
mod running;
mod shelf;
mod spool;
mod tail;
mod teller;
mod terminals;

pub use bounds::Bounds;
pub use running::{Ended, NotLeft, Order, Running};
pub use terminals::Terminals;
