//! For tests: an engine that does what the prompt says, an undo that a Turn waits for, a hand-driven clock, a workspace
//! in a temporary directory, a model provider that follows a script, and a client that shares no code with the server.

mod client;
mod clock;
mod endless_look;
mod engine;
mod folder;
#[cfg(feature = "mcp-server")]
pub mod kiosk;
mod model_server;
#[cfg(unix)]
mod postgres;
mod redact;
pub mod store_story;
#[cfg(feature = "mcp-server")]
pub mod tea_server;
mod workspace;

pub use client::{Client, Link};
pub use clock::ManualClock;
pub use endless_look::EndlessLook;
pub use engine::ScriptEngine;
pub use folder::Folder;
pub use model_server::{Asked, ErrorPart, ModelServer, Part, Reply, Script, ScriptedCall, Usage};
#[cfg(unix)]
pub use postgres::Postgres;
pub use redact::redacted;
pub use workspace::TestWorkspace;
