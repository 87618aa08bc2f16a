//! Runs commands of agents: in the foreground of a Turn, or in the background as terminals.
//!
//! [`Terminals`] starts each command as a task of its own (`supervise`) that collects its output (`output_buffer`). Once the
//! command is in the background, the task broadcasts its changes (`announcer`). Output that exceeds memory goes to files
//! in a directory that no command can reach (`output_files`). The files and the records of terminals survive a restart:
//! terminals that ran when the server died are recorded as lost.
//!
//! The crate knows nothing of tools, rules, approvals or wires: the caller of [`CommandOrder`] has the approval and
//! wraps the process. Only `bobbin-children` starts processes, and they end with the server, however it ends.
//! [`Bounds`] bounds everything and says what happens at each limit.

mod announcer;
mod bounds;
mod entry;
mod first_request;
mod follow;
mod forwards;
mod networks;
mod output_buffer;
mod output_files;
mod pictures;
mod record;
mod running;
mod supervise;
mod tail;
mod terminals;

pub use bounds::Bounds;
pub use running::{CommandOrder, Ended, NotLeft, Running};
pub use terminals::Terminals;
