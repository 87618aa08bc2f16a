//! For tests: an engine that does what the prompt says, a hand-driven clock, a workspace in a temporary
//! directory, and a client that shares no code with the server.

mod client;
mod clock;
mod engine;
#[cfg(feature = "mcp-server")]
pub mod tea_server;
mod workspace;

pub use client::{Client, Link};
pub use clock::ManualClock;
pub use engine::ScriptEngine;
pub use workspace::TestWorkspace;
