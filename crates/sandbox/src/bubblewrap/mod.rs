//! Bubblewrap, where the machine has it: a view of the machine made for one command, around the helper.
//!
//! It adds what Landlock and seccomp cannot hold: places hidden within those that may be written, owners and modes of
//! files, processes, shared memory and the network as nobody else's. The helper runs within it and restricts itself as
//! ever, so both hold. Here is which program may be used ([`find`]), with which arguments a command's view is made
//! ([`view_arguments`]); whoever may start processes starts it. What it makes is looked at by the helper.

mod find;
#[cfg(target_os = "linux")]
pub(crate) mod inside;
mod kept;
mod view;

pub use find::{PLACES, Unfit, find};
pub use view::view_arguments;
