//! The format of a configuration file: the sections of all features.
//!
//! Files are checked against these types. The JSON Schema (`bobbin config schema`) and the reference
//! (`docs/configuration.md`) are generated from them, so users read the doc comments of the sections. `bobbin-settings`
//! has the words that the schemas have beside those of JSON Schema.

use bobbin_settings::Entries;
use bobbin_store_sqlite::Durability;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::database::Database;
use crate::listener::{AppServer, Hub};

/// Settings of Bobbin: `~/.craft/config.json` for all workspaces, `.craft/config.json` for one.
///
/// Names and words have no case, and `null` is as good as left out. `bobbin doctor` names what it does not know.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(title = "Bobbin configuration")]
#[schemars(extend("x-unread" = ["$schema", "Skills", "Memory", "ExternalChannels"]))]
pub(crate) struct ConfigFile {
    #[serde(flatten)]
    pub(crate) models: bobbin_models::settings::Section,
    #[serde(flatten)]
    pub(crate) permissions: bobbin_policy::settings::Section,
    #[serde(flatten)]
    pub(crate) agent: bobbin_agent::settings::Section,
    #[serde(flatten)]
    pub(crate) profiles: bobbin_profiles::settings::Section,
    #[serde(flatten)]
    pub(crate) hermes: bobbin_hermes::settings::Section,
    /// Files, network and resources of commands.
    #[serde(default)]
    pub(crate) sandbox: bobbin_tools::settings::SandboxSection,
    /// The environment of commands.
    #[serde(default)]
    pub(crate) commands: bobbin_tools::settings::CommandSection,
    /// MCP servers, by name, or as a list of entries with names.
    #[serde(default)]
    pub(crate) mcp_servers: Entries<bobbin_mcp::settings::McpServer>,
    /// Other agents that can run the Turns of Threads, by name. [agents.md](agents.md) has those that were tried.
    #[serde(default)]
    pub(crate) engines: Entries<bobbin_engine_acp::settings::EngineEntry>,
    /// External channels, by name: chat platforms whose adapters are clients.
    #[serde(default)]
    pub(crate) external_channels: Entries<bobbin_channels::settings::ExternalChannel>,
    /// Programs that are asked at moments of a Turn, by event: [hooks.md](hooks.md) has the entries.
    #[schemars(extend("x-restrains" = true))]
    pub(crate) hooks: Option<Map<String, Value>>,
    /// Plugins: where they are, and which are disabled.
    #[serde(default)]
    pub(crate) plugins: bobbin_plugins::Section,
    /// FineCode projects and their runners.
    pub(crate) fine_code: Option<bobbin_finecode::Settings>,
    /// Address or program that notifies you when a question waits, or when a long Turn has ended. Counts in your own file only.
    #[serde(default)]
    pub(crate) alerts: bobbin_alerts::AlertsSection,
    /// Days after which old Threads are archived and deleted. Counts in your own file only.
    #[serde(default)]
    pub(crate) threads: bobbin_retention::settings::ThreadsSection,
    /// Where the server listens and who may connect. Counts in your own file only.
    #[serde(default)]
    pub(crate) app_server: AppServer,
    /// Where the Hub listens. Counts in your own file only.
    #[serde(default)]
    pub(crate) hub: Hub,
    /// The database that stores conversations. Counts in your own file only.
    #[serde(default)]
    pub(crate) database: Database,
    /// The durability of a commit to the database, if that is a file of this machine.
    #[schemars(extend("default" = "full"))]
    pub(crate) durability: Option<Durability>,
}

/// Returns the JSON Schema of a file, without references.
pub fn schema() -> Value {
    bobbin_settings::schema::<ConfigFile>()
}
