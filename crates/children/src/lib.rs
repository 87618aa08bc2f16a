//! Child processes: starts them, watches them, and ends them with everything they started.
//!
//! No other crate of the workspace starts a process. This crate knows nothing of Threads, tools or protocols, and
//! does not read the environment: the binary passes an [`Environment`] built once.
//!
//! Three promises, each with its tests:
//!
//! 1. **A child leaves nothing behind.** Every child has a parent of ours ([`run_child`]). The parent ends all
//!    descendants of the child, in any session, before it reports the child's end.
//! 2. **Nor does a killed server.** The parent sees the end of the socket that it shares with the server.
//! 3. **All waits and buffers are bounded.** Output is captured up to a limit, chunks go through the caller's
//!    bounded channel, and a grandchild that leaves the pipe open cannot block the server.
//!
//! Unix only; on systems other than Linux, a child is its process group.
#![cfg(unix)]

mod capture;
mod children;
mod direct;
mod environment;
mod error;
mod files;
#[cfg(target_os = "linux")]
mod link;
mod network;
mod outcome;
mod output;
#[cfg(target_os = "linux")]
mod parent;
mod piped;
mod run;
mod running;
mod spec;
mod terminal;
mod utf8;
mod variable_rules;

pub use capture::Captured;
pub use children::{Children, Helper};
pub use environment::Environment;
pub use error::ChildError;
pub use files::raise_file_limit;
pub use outcome::{Exit, Limits, Outcome};
pub use output::{CHUNK_BYTES, OutputSink, output_channel};
#[cfg(target_os = "linux")]
pub use parent::{RUN_CHILD_ARGUMENT, run_child};
pub use piped::{PipedChild, Pipes};
pub use spec::{Confinement, Input, Network, ProcessSpec, ResourceLimits, Shell};
pub use terminal::{Terminal, TerminalSize};
pub use variable_rules::{Dropped, VariableRules};
