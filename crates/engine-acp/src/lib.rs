//! Other agents as engines of Threads, over the Agent Client Protocol, version 1.
//!
//! [`AcpEngine`] runs the Turns of Threads whose configuration names an engine, and leaves all others to the engine that
//! it wraps. A Turn starts the agent's process in the sandbox of commands, opens the agent's session of this Thread,
//! sends the user's input once and records the updates as Items. The process waits some minutes for the next Turn
//! (`idle`); after that, as after a death, the next Turn starts it and opens its session again. A file of the workspace's state has the agent's session and the Turn whose input was sent: a
//! Turn that was in flight when the server ended fails with a sentence and is never sent again.
//!
//! Beside `engine/list`, this crate knows no client and no dialect. The messages are in `bobbin-acp-wire`, the connection is a `bobbin-peer`.

mod agent;
mod checks;
mod choices;
mod commands;
mod engine;
mod group;
mod hosts;
mod idle;
mod items;
mod permission;
mod prompt;
mod requests;
pub mod settings;
mod stored;
mod terminal;
mod turn;

pub use checks::check;
pub use engine::{AcpEngine, HostedSessions, Surroundings};
pub use group::GROUPS;
