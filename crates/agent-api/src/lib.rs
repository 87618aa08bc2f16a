//! Contracts between the server and the features of an agent: traits and their values.
//!
//! A feature implements a trait, and a dialect, the agent or a Thread's owner calls it; neither side knows the other. This
//! crate starts no process, reads no file and does not know how a Thread is stored. `bobbin-model` has the rules of what is
//! legal in a Thread; `bobbin-core` has `Engine`, the contract of running a Turn.

pub mod channel;
pub mod checks;
pub mod client;
mod clock;
pub mod cut;
pub mod dynamic_tool;
pub mod elicitation;
pub mod engines;
mod features;
pub mod forward;
pub mod hook;
mod instructions;
pub mod json_schema;
pub mod model;
pub mod model_catalog;
pub mod model_providers;
mod once;
pub mod outside;
pub mod permission;
pub mod picture;
pub mod policy;
mod process;
mod services;
pub mod session_servers;
pub mod slash;
pub mod sub_agent;
pub mod suggest;
pub mod terminal;
pub mod tool;
pub mod tool_name;
pub mod tool_server;
pub mod trust;
pub mod undo;
mod upkeep;
pub mod workspace_config;

pub use clock::{Clock, SystemClock};
pub use features::Features;
pub use instructions::InstructionFiles;
pub use once::Once;
pub use process::{OpenConnection, ServerProcess};
pub use services::{ConfigNews, ConfigValueNews, Services};

/// The Turn accepts nothing more: it was interrupted, or its Thread could not record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn takes nothing more")]
pub struct TurnGone;
