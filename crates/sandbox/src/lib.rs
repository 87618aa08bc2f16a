//! Holding a command: which files it may write, whether it may use the network, and no way out of its process.
//!
//! The server never confines itself. The parent of a command does that in the new process, before it runs its program
//! ([`confine`]). Where the machine has bubblewrap and it works, the parent starts it with [`view_arguments`], and a helper mode
//! of our own binary ([`helped`]) confines itself in the view that bubblewrap makes and becomes the command. What can be held is
//! found out beforehand ([`Support`]), so that a request for approval can say it; a command is confined exactly so, or does
//! not run.
//!
//! Knows nothing of Threads, tools or rules, starts no process and reads no environment. Bounds: 4,096 entries beside hidden
//! places. Linux only; elsewhere nothing is held, and [`Support`] says so.

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
mod plan;
mod profile;
#[cfg(target_os = "linux")]
mod rights;
mod serialized;
mod support;
mod written;

pub use bubblewrap::{PLACES, Unfit, find, view_arguments};
#[cfg(target_os = "linux")]
pub use descriptors::{keep_back, take_descriptor};
pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use helper::{Failure, HELPER_ARGUMENT, Handed, StartNote, confine, helped};
pub use plan::{Outer, Plan};
pub use profile::{Files, Network, Profile};
pub use serialized::{optional_path, path};
pub use support::Support;
