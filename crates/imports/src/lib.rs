//! Files that a user has for other agents, as values of Bobbin.
//!
//! [`brought`] reads Claude Code's settings and subagents in the form of a configuration file. Nothing here decides what
//! counts: `bobbin-config` reads the result with the same trust as a file of ours. A part without an exact counterpart is
//! left out and named, and never becomes looser. Commands and skills are read by `bobbin-prompts`, instructions by
//! `bobbin-agent`. [`conversations`] reads what other agents have recorded, as finished history.
//!
//! The files may come with a folder, so every file, list and sentence is bounded. Blocks on the disk.

mod agents;
mod brought;
mod checks;
pub mod conversations;
mod hooks;
mod permissions;
mod settings;
mod tools;
mod unread;

pub use brought::{Author, Brought, Unused, brought};
pub use checks::check;
