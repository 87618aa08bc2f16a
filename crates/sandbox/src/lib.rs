//! Confines a command: limits the files that it may write and its use of the network, and closes other processes to it.
//!
//! The server never confines itself. The parent of a command confines the new process before its program runs
//! ([`confine`]). If bubblewrap works, the parent starts it with [`view_of`]. In bubblewrap's view, a
//! helper mode of our own binary ([`helped`]) confines itself and becomes the command. [`Support`] finds out
//! beforehand what the machine can confine, so that a request for approval can say it. A command is confined as
//! announced, or does not run.
//!
//! The crate knows nothing of Threads, tools or rules, starts no process and reads no environment. Limit: 4,096
//! entries next to hidden places. Linux only; on other systems nothing is confined, and [`Support`] says so.

mod bubblewrap;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod descriptors;
mod error;
#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod network;
mod plain;
mod plan;
mod profile;
mod repositories;
#[cfg(target_os = "linux")]
mod rights;
mod serialized;
mod support;
mod written;

pub use bubblewrap::{
    CommandNetwork, CommandView, PLACES, PlannedMounts, Unfit, find, hidden_sockets, view_of,
};
#[cfg(target_os = "linux")]
pub use descriptors::{close_on_exec, receive_descriptor, send_descriptor, take_descriptor};
pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use helper::{Failure, HELPER_ARGUMENT, Handed, StartNote, confine, helped};
#[cfg(target_os = "linux")]
pub use network::{join, shown};
pub use plan::{GitSettings, Outer, Plan};
pub use profile::{Files, Network, Profile};
pub use repositories::repositories_in;
pub use serialized::{optional_path, path};
pub use support::Support;
