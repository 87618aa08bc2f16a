//! Child processes: spawn, watch, end the whole tree.
//!
//! The only crate of the workspace that starts a process. It knows nothing of Threads, tools or
//! protocols, and it does not read the environment: the binary hands in an [`Environment`] built once.
//!
//! Three promises, each with its tests:
//!
//! 1. **A command leaves nothing behind.** Every command leads a process group of its own; when the leader is
//!    gone, timed out or cancelled, the whole group is killed before the outcome is reported. What moves
//!    itself into another session (`setsid`, daemons) is out of reach without privileges.
//! 2. **So does a server that was killed.** A [guard](guard_main) process outlives us for a moment and kills
//!    every group it was told of; on Linux the kernel also kills each leader by itself.
//! 3. **Nothing waits or grows without a bound**: output is captured up to a limit, chunks go through the
//!    caller's bounded channel, and a grandchild that holds the pipe cannot hold us.
//!
//! Owners: [`Children`] owns the thread that starts them; a `Group` owns one running tree and kills it when dropped.
//! Unix only.
#![cfg(unix)]

mod capture;
mod children;
mod companion;
mod environment;
mod error;
mod files;
mod fork;
mod group;
mod guard;
#[cfg(target_os = "linux")]
mod image;
mod leader;
mod outcome;
mod output;
mod run;
mod spec;
mod start;
mod utf8;
#[cfg(target_os = "linux")]
mod vfork;

pub use capture::Captured;
pub use children::Children;
pub use companion::{Companion, Pipes};
pub use environment::Environment;
pub use error::ChildError;
pub use files::raise_file_limit;
pub use guard::{GuardProgram, guard_main};
pub use outcome::{Exit, Limits, Outcome};
pub use output::{CHUNK_BYTES, OutputSink, output_channel};
pub use spec::{Input, ProcessSpec, Shell, Starter};
