//! Configuration: `~/.craft/config.json`, `.craft/config.json` of the workspace over it, and the `.mcp.json` there.
//!
//! [`mod@file`] has the format of a file, and `check` compares a file with it. The other modules decide which
//! settings count. All of the user's own file count. Of a workspace's file, stricter settings count, and others once
//! the user trusts them. A broken workspace's file stops the start only if the user trusts the folder. Otherwise it
//! is reported and ignored as a whole, since any author can put a file into a folder.
//!
//! This crate reads files only. The environment, the command line and the record of trust are arguments.

pub mod channels;
mod check;
mod commands;
mod config;
pub mod edit;
mod editor;
mod entries;
mod fields;
pub mod file;
mod fingerprint;
mod gate;
mod hermes;
pub mod hooks;
mod key_place;
mod limits;
mod lines;
pub mod mcp_json;
mod models;
pub mod plugins;
pub mod profiles;
mod rules;
mod sandbox;
pub mod servers;
pub mod shown;

pub use channels::DeclaredChannel;
pub use config::{Config, FILE};
pub use fields::sections;
pub use fingerprint::of_server;
pub use hermes::{DeclaredExtension, HermesExtension, HermesShape};
pub use key_place::{KeyPlace, expanded};
pub use limits::AgentLimits;
pub use models::{ModelSettings, Origin, ProviderEntry, is_built_in};
pub use plugins::PluginSettings;
pub use profiles::{DeclaredProfile, ProfileDefinition, SubAgentSettings};
pub use rules::Rules;
pub use sandbox::SandboxSettings;
pub use servers::{Declared, PluginFolder, ServerFile};

/// Largest configuration file, in bytes.
pub const MAX_CONFIG_BYTES: u64 = 1 << 20;
/// Name of an editor's options in messages.
const EDITORS_OPTIONS: &str = "the editor's options";
