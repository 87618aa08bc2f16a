//! A model provider that follows a script: the three wires over loopback, for tests and for people without a key.
//!
//! It answers each request with the next entry of a [`Script`], or, without entries, with what the prompt asks for
//! ([`prompt`]); what providers refuse it answers with 400 ([`check`]). It shares no code with the clients it is there
//! to test. Bounds: requests of 16 MiB, the last 1,000 remembered, one task a connection, all ended with the server.

mod check;
mod http;
mod prompt;
mod script;
mod server;
mod wire;

pub use script::{ErrorPart, Part, Reply, Script, ScriptedCall, Usage};
pub use server::{Asked, ModelServer};
