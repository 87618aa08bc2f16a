//! The greeting: versions, capabilities, logins.

use serde::{Deserialize, Serialize};
use serde_with::{DefaultOnNull, serde_as};

use crate::Meta;

/// The version of the protocol that these types are of.
pub const VERSION: u16 = 1;

/// A feature that is there. Absent and null mean that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Supported {}

/// The parameters of `initialize`.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeParams {
    /// The newest version that the client speaks.
    pub protocol_version: u16,
    /// The client's features.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub client_capabilities: ClientCapabilities,
    /// The client's name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_info: Option<Implementation>,
}

/// The answer of `initialize`.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version that both ends speak from here on.
    pub protocol_version: u16,
    /// The agent's features.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub agent_capabilities: AgentCapabilities,
    /// How a user can sign in; empty where no login is needed.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub auth_methods: Vec<AuthMethod>,
    /// The agent's name and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_info: Option<Implementation>,
}

/// The name and version of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Implementation {
    /// Its name for programs.
    pub name: String,
    /// Its name for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

/// The features that a client offers to the agent.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// Files, as the editor has them.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub fs: FileCapabilities,
    /// Whether the client runs commands: all methods of `terminal/`.
    #[serde(default)]
    pub terminal: bool,
    /// Logins.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub auth: ClientAuth,
    /// Questions to the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapabilities>,
    /// News and options of sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionSupport>,
}

/// Which file methods a client answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCapabilities {
    /// `fs/read_text_file`.
    #[serde(default)]
    pub read_text_file: bool,
    /// `fs/write_text_file`.
    #[serde(default)]
    pub write_text_file: bool,
}

/// Which logins a client can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClientAuth {
    /// Logins by a command in a terminal.
    #[serde(default)]
    pub terminal: bool,
}

/// Which questions a client shows. Each mode counts only if it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ElicitationCapabilities {
    /// Forms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Supported>,
    /// Addresses to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Supported>,
}

/// Which news and options of sessions a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSupport {
    /// Options beyond selections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_options: Option<ConfigOptionSupport>,
    /// The update `notice`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notices: Option<Supported>,
    /// The updates of compactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Supported>,
}

/// Which options a client shows, beside selections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConfigOptionSupport {
    /// Options that are on or off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boolean: Option<Supported>,
}

/// The features that an agent offers to the client.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// `session/load`.
    #[serde(default)]
    pub load_session: bool,
    /// Blocks of prompts beyond text and links.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub prompt_capabilities: PromptCapabilities,
    /// Transports of MCP servers beyond stdio.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub mcp_capabilities: McpCapabilities,
    /// Further methods of sessions.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub session_capabilities: SessionCapabilities,
    /// Logins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<AgentAuth>,
}

/// Which blocks an agent takes beyond text and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptCapabilities {
    /// Pictures.
    #[serde(default)]
    pub image: bool,
    /// Sounds.
    #[serde(default)]
    pub audio: bool,
    /// Resources with their content.
    #[serde(default)]
    pub embedded_context: bool,
}

/// Which transports of MCP servers an agent speaks beyond stdio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct McpCapabilities {
    /// Streamable HTTP.
    #[serde(default)]
    pub http: bool,
    /// HTTP with server-sent events.
    #[serde(default)]
    pub sse: bool,
}

/// Which further methods of sessions an agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCapabilities {
    /// `session/list`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Supported>,
    /// `session/delete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<Supported>,
    /// More roots beside `cwd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_directories: Option<Supported>,
    /// `session/resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Supported>,
    /// `session/close`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<Supported>,
}

/// The offers of an agent about logins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentAuth {
    /// `logout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logout: Option<Supported>,
}

/// One way to sign in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuthMethod {
    /// Its name for `authenticate`.
    pub id: String,
    /// Its name for users.
    #[serde(default)]
    pub name: String,
    /// More about it for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it works.
    #[serde(rename = "type", default, skip_serializing_if = "is_agent")]
    pub kind: AuthKind,
    /// Arguments of the agent's own command, for [`AuthKind::Terminal`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The command's variables, for [`AuthKind::Terminal`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<serde_json::Map<String, serde_json::Value>>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// How a login works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// The agent does it when `authenticate` is called.
    #[default]
    Agent,
    /// The user does it in a terminal, with the agent's command.
    Terminal,
    /// The user sets a variable.
    EnvVar,
    /// In another way. It is never written.
    #[serde(other, skip_serializing)]
    Unknown,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_agent(kind: &AuthKind) -> bool {
    *kind == AuthKind::Agent
}

/// The parameters of `authenticate`. Its answer is [`crate::Empty`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticateParams {
    /// An [`AuthMethod::id`].
    pub method_id: String,
}
