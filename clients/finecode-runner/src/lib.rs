//! Makes a Rust program a FineCode runner: it hosts handlers of actions for a workspace manager.
#![doc = include_str!("../README.md")]

mod action;
mod answer;
mod call;
mod command_line;
mod execute;
mod manager;
mod methods;
mod program;
mod schema;
mod serve;
mod wal;

pub use bobbin_finecode_wire::{Dialect, Document, EditError, Json, Position, Range};

pub use action::{Action, ActionResult, Done, Failure};
pub use call::Call;
pub use command_line::{CommandLine, run};
pub use manager::{Manager, MessageLevel, Nested};
pub use program::Program;
pub use serve::{Setup, serve};
