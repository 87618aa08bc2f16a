//! Files that somebody else may have written: ordinary ones, in bounded pieces.
//!
//! A workspace can hold a link to `/dev/zero`, a pipe, or a sparse file of many gigabytes where a program expects a small
//! text. Every file that is read because of its name goes through here. Knows nothing of Threads, tools and rules.
//! Blocking.

mod ignores;
mod read;

pub use ignores::{IgnoreRules, Ignores};
pub use read::{open_regular, read_bytes, read_text};
