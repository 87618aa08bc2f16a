//! Commands of agents: run in the foreground of a Turn, or left to themselves as background terminals.
//!
//! [`Terminals`] starts every command as a task of its own (`attend`) that collects its output (`spool`) and, once
//! the command is left in the background, tells everyone what becomes of it (`teller`). What does not fit into memory
//! goes to files below a directory that no command can reach (`shelf`), which are there after a restart, as are the records of
//! terminals: those that ran when the server died are found and recorded as lost.
//!
//! It knows nothing of tools, rules, approvals or wires: whoever hands over an [`Order`] has had it allowed, and its process wrapped.
//! Processes are started by `bobbin-children` only and are gone with the server, however it ends. Everything is bounded by
//! [`Bounds`], which also says what happens when something is full.

mod attend;
mod bounds;
mod entry;
mod follow;
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
