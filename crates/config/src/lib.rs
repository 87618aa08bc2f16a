//! Configuration: `~/.craft/config.json`, `.craft/config.json` of the workspace over it, and the `.mcp.json` there.
//!
//! [`mod@file`] says what a file can have, `check` finds what it has and should not, and the other modules say what counts:
//! all of the user's own file; of a workspace's what is stricter, and what its user trusts. A workspace's file that is broken
//! stops the start only where the user trusts the folder. Elsewhere it is reported and left aside as a whole: any author can
//! put a file into a folder.
//!
//! Reads files and nothing else: the environment, the command line and what the user trusts come in as values.

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
/// What an editor's options are called in messages.
const EDITORS_OPTIONS: &str = "the editor's options";
