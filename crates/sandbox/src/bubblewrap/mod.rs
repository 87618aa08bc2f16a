//! Bubblewrap, where the machine has it: makes a view of the machine for one command, around the helper.
//!
//! It confines what Landlock and seccomp cannot: hidden places in writable ones, owners and modes of files,
//! processes, shared memory and a separate network. The helper runs in the view and restricts itself as well, so
//! both apply. This module decides which program is safe ([`find`]) and builds the arguments for a command's view
//! ([`view_of`]). The `children` crate starts bubblewrap; the helper
//! compares the view with what was planned ([`PlannedMounts`]).

mod find;
#[cfg(target_os = "linux")]
pub(crate) mod inside;
pub(crate) mod mounts;
mod readable;
mod sockets;
mod view;

pub use find::{PLACES, Unfit, find};
pub use mounts::PlannedMounts;
pub use view::{CommandNetwork, CommandView, hidden_sockets, view_of};
