//! Holding a command: which files it may write, whether it may use the network, and no way out of its process.
//!
//! The server never restricts itself. It starts a helper mode of its own binary ([`held`]) that restricts itself with
//! Landlock and seccomp and then becomes the command; both stay with every process the command starts. Where the
//! machine has bubblewrap and it works, the helper runs in a view of the machine that bubblewrap makes ([`view_arguments`]). What can be
//! held is found out beforehand ([`Support`]), so that it can be said before anybody is asked, and the helper holds exactly
//! what was promised or does not run the command, and says so on stderr.
//!
//! Knows nothing of Threads, tools or rules, starts no process (it makes the arguments, others start bubblewrap) and
//! reads no environment. Bounds: 256 paths in a plan, 4,096 entries beside hidden places. Linux only; elsewhere nothing
//! is held, and [`Support`] says so.

mod bubblewrap;
#[cfg(target_os = "linux")]
mod calls;
mod error;
#[cfg(target_os = "linux")]
mod files;
mod helper;
mod plan;
mod profile;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod signals;
mod support;
mod written;

pub use bubblewrap::{PLACES, Unfit, find, view_arguments};
pub use error::SandboxError;
pub use helper::{HANDED_ARGUMENT, HELPER_ARGUMENT, MAX_HANDED, REPORT_ARGUMENT, held};
pub use plan::{Outer, Plan};
pub use profile::{Files, Network, Profile};
pub use support::Support;
