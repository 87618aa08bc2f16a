//! The format of a configuration file, as types.
//!
//! Files are checked against these types. The JSON Schema (`bobbin config schema`) and the reference
//! (`docs/configuration.md`) are generated from them, so users read these doc comments. Five words of the schema are
//! ours:
//!
//! - `x-restrains`: an unknown member in this section stops the start, since what it was to forbid would be allowed.
//! - `x-unread`: members that are there for other programs.
//! - `x-also`: further spellings of members or words, which other programs write.
//! - `x-lenient`: each entry stands for itself. A broken one is reported and left out.
//! - `x-secret`: the value is a secret, or can have one in it.

use std::collections::BTreeMap;

use bobbin_model::{Effort, SandboxProfile};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Settings of Bobbin: `~/.craft/config.json` for all workspaces, `.craft/config.json` for one.
///
/// Names and words have no case, and `null` is as good as left out. `bobbin doctor` names what it does not know.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(title = "Bobbin configuration")]
#[schemars(extend("x-unread" = ["$schema", "Skills", "Memory", "ExternalChannels"]))]
pub struct ConfigFile {
    /// The default model, as `PROVIDER/MODEL`; `offline` for none. With `Default`, the only key in the environment chooses one.
    #[schemars(extend("default" = "Default"))]
    pub model: Option<String>,
    /// Models that answer, in order, when the provider of the usual one fails.
    #[schemars(length(max = 8))]
    pub fallbacks: Option<Vec<String>>,
    /// Providers of models, by name.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 64))]
    pub providers: BTreeMap<String, Provider>,
    /// Address of a provider named `endpoint`, which has every model whose name has no provider.
    pub end_point: Option<String>,
    /// What `EndPoint` speaks.
    #[schemars(extend("default" = "chat"))]
    pub wire: Option<Wire>,
    /// Key for `EndPoint`.
    #[schemars(extend("x-secret" = true))]
    pub api_key: Option<String>,
    /// Variable with the key for `EndPoint`.
    pub api_key_env: Option<String>,
    /// File with the key for `EndPoint`.
    pub api_key_file: Option<String>,
    /// What commands can reach.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// What commands get.
    #[serde(default)]
    pub commands: Commands,
    /// What is allowed, asked about and refused.
    #[serde(default)]
    pub permissions: Permissions,
    /// Questions to the user.
    #[serde(default)]
    pub approvals: Approvals,
    /// What a Turn may use. A workspace's file can only lower these, unless you trust it.
    #[serde(default)]
    pub limits: Limits,
    /// Shortening of long conversations.
    #[serde(default)]
    pub compaction: Compaction,
    /// Titles of conversations.
    #[serde(default)]
    pub titles: Titles,
    /// Suggestions to begin with.
    #[serde(default)]
    pub welcome_suggestions: WelcomeSuggestions,
    /// Tools of MCP servers as models get them.
    #[serde(default)]
    pub tools: Tools,
    /// MCP servers, by name, or as a list of entries with names.
    #[serde(default)]
    #[schemars(extend("x-lenient" = true))]
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// External channels, by name: chat platforms whose adapters are clients.
    #[serde(default)]
    #[schemars(extend("x-lenient" = true))]
    pub external_channels: BTreeMap<String, ExternalChannel>,
    /// Programs that are asked at moments of a Turn, by event: [hooks.md](hooks.md) has the entries.
    #[schemars(extend("x-restrains" = true))]
    pub hooks: Option<Map<String, Value>>,
    /// Plugins: where they are, and which are disabled.
    #[serde(default)]
    pub plugins: Plugins,
    /// Subagents.
    #[serde(default)]
    pub sub_agent: SubAgent,
    /// Profiles of subagents, by name: agents with a model, instructions and tools of their own, and command lines of
    /// other agents.
    #[serde(default)]
    #[schemars(extend("x-lenient" = true))]
    pub sub_agent_profiles: BTreeMap<String, crate::profiles::ProfileDefinition>,
    /// Hermes extensions, in the order of their buttons and schemas. With the section, clients can edit HL7 messages.
    pub hermes_extensions: Option<Vec<crate::hermes::HermesExtension>>,
    /// Whether the agent works with HL7 messages, and their values reach models. A workspace can only switch it off.
    #[schemars(extend("default" = "ask"))]
    pub hermes_agent: Option<crate::hermes::HermesAgent>,
    /// FineCode projects and their runners.
    pub fine_code: Option<bobbin_finecode::Settings>,
    /// Where the server listens and who may connect. Counts in your own file only.
    #[serde(default)]
    pub app_server: AppServer,
    /// Where the Hub listens. Counts in your own file only.
    #[serde(default)]
    pub hub: Hub,
    /// What a commit to the database waits for.
    #[schemars(extend("default" = "full"))]
    pub durability: Option<Durability>,
}

/// A provider of models.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Provider {
    /// What it speaks.
    #[schemars(extend("default" = "chat"))]
    pub wire: Option<Wire>,
    /// Address in front of the wire's path; a query is kept. Needed, unless the provider is built in.
    pub base_url: Option<String>,
    /// The key itself; used only if nobody else can read the file.
    #[schemars(extend("x-secret" = true))]
    pub api_key: Option<String>,
    /// Variable with the key.
    pub api_key_env: Option<String>,
    /// File with the key and nothing else, which nobody else can read.
    pub api_key_file: Option<String>,
    /// Further headers of each request. Their values are treated as secrets; `authorization` replaces the key's.
    #[schemars(extend("x-secret" = true))]
    pub headers: Option<BTreeMap<String, String>>,
    /// Names of models to offer beside those that the provider lists.
    pub models: Option<Vec<String>>,
    /// Most tokens of a reply; the provider's own limit when left out.
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u64>,
    /// Whether the provider may search the web for its models; the wires `responses` and `messages` can.
    #[schemars(extend("default" = false))]
    pub web_search: Option<bool>,
    /// Members of each request, which win over Bobbin's.
    pub body: Option<Map<String, Value>>,
    /// Longest silence before a reply and in it, in seconds; more than a week counts as a week.
    #[schemars(range(min = 1), extend("default" = 180))]
    pub idle_seconds: Option<u64>,
    /// Longest time for one reply, in seconds; more than a week counts as a week.
    #[schemars(range(min = 1), extend("default" = 3600))]
    pub reply_seconds: Option<u64>,
    /// How often a request is tried; more than 10 counts as 10.
    #[schemars(range(min = 1), extend("default" = 4))]
    pub attempts: Option<u64>,
    /// Tokens of its models' window; known by name for usual models, else 200,000 (`ollama`: 32,768).
    #[schemars(range(min = 1024))]
    pub context_window: Option<u64>,
    /// Whether its models are sent pictures; known by name for usual models, else not.
    pub images: Option<bool>,
    /// The reasoning efforts that its models can be asked for; known by name for usual models, else none.
    pub efforts: Option<Vec<Effort>>,
    /// What its models cost.
    pub price: Option<Price>,
    /// The same of single models, by the provider's names for them.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 256))]
    pub model_facts: BTreeMap<String, Facts>,
}

/// What is known of one model.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Facts {
    /// Tokens of its window.
    #[schemars(range(min = 1024))]
    pub context_window: Option<u64>,
    /// Whether it is sent pictures.
    pub images: Option<bool>,
    /// The reasoning efforts that it can be asked for.
    pub efforts: Option<Vec<Effort>>,
    /// What it costs.
    pub price: Option<Price>,
}

/// What a million tokens cost, in any one currency.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Price {
    /// For a million tokens that the model reads.
    #[schemars(range(min = 0, max = 999_999_999))]
    pub input: f64,
    /// For a million of those that its provider has in a cache; as `Input` when left out.
    #[schemars(range(min = 0, max = 999_999_999))]
    pub cached_input: Option<f64>,
    /// For a million tokens that it writes.
    #[schemars(range(min = 0, max = 999_999_999))]
    pub output: f64,
}

/// What a provider speaks.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-also" = { "chatCompletions": "chat", "anthropic": "messages" }))]
pub enum Wire {
    /// Chat Completions, `POST …/chat/completions`.
    Chat,
    /// Responses, `POST …/responses`.
    Responses,
    /// Anthropic Messages, `POST …/messages`.
    Messages,
}

/// What commands can reach.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
pub struct Sandbox {
    /// Which files a command may write.
    #[schemars(extend("default" = "workspaceWrite"))]
    pub profile: Option<SandboxProfile>,
    /// Whether a command has a network; `true` when left out beside the profile `full`.
    #[schemars(extend("default" = false))]
    pub network: Option<bool>,
    /// Further places that may be written: absolute, with `~/`, or relative to the workspace.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub writable: Vec<String>,
    /// Further places that may not be read; at most 64 that a workspace's file names in itself.
    #[serde(default)]
    #[schemars(inner(length(min = 1)))]
    pub hidden: Vec<String>,
    /// What happens where commands cannot be confined.
    #[schemars(extend("default" = "ask"))]
    pub when_missing: Option<WhenMissing>,
    /// Whether bubblewrap is used.
    #[schemars(extend("default" = "auto"))]
    pub bubblewrap: Option<Bubblewrap>,
    /// How much of the machine one command may have.
    #[serde(default)]
    pub limits: SandboxLimits,
}

/// What commands get.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
pub struct Commands {
    /// The variables of commands: yours, without what looks like a secret.
    #[serde(default)]
    pub environment: CommandEnvironment,
}

/// The variables of commands: yours, without what looks like a secret.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct CommandEnvironment {
    /// Variables to set.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 256))]
    pub set: BTreeMap<String, String>,
    /// Variables that commands get although they look like secrets; `*` stands for any text.
    #[serde(default)]
    #[schemars(length(max = 256), inner(length(min = 1)))]
    pub keep: Vec<String>,
    /// Variables that commands do not get, whatever else is said; `*` stands for any text.
    #[serde(default)]
    #[schemars(length(max = 256), inner(length(min = 1)))]
    pub drop: Vec<String>,
}

/// How much of the machine one command may have.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct SandboxLimits {
    /// Processes and threads, with bubblewrap and a user other than root.
    #[schemars(range(min = 1), extend("default" = 4096))]
    pub processes: Option<u64>,
    /// Memory of all its processes together, in MiB; three quarters of the machine's when left out.
    #[serde(rename = "MemoryMiB")]
    #[schemars(range(min = 1))]
    pub memory_mib: Option<u64>,
    /// Size of each file that it writes, in MiB.
    #[serde(rename = "FileMiB")]
    #[schemars(range(min = 1), extend("default" = 65536))]
    pub file_mib: Option<u64>,
}

/// What happens where commands cannot be confined.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WhenMissing {
    /// Every command but plain reads is asked about.
    Ask,
    /// Commands are refused.
    Refuse,
}

/// Whether bubblewrap is used.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Bubblewrap {
    /// It is not used.
    Off,
    /// It is used where it works.
    Auto,
    /// Where it does not work, commands are refused.
    Require,
}

/// What is allowed, asked about and refused.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
pub struct Permissions {
    /// What happens to calls that no rule speaks of, in Threads that do not say otherwise. Not set: as `automatic`, and a
    /// first start on the page or a terminal asks.
    pub default_approval_policy: Option<Policy>,
    /// Rules for commands, paths and tools. `deny` beats `ask` beats `allow`.
    #[serde(default)]
    #[schemars(length(max = 500))]
    pub rules: Vec<Rule>,
    /// Not used any more: run `bobbin trust` in a folder that you trust.
    #[schemars(extend("deprecated" = true))]
    pub trust_workspace_rules: Option<Value>,
}

/// What happens to calls that no rule speaks of.
#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Policy {
    /// They are asked about, plain reads aside.
    Default,
    /// As `default`, and each change of a file in the workspace is asked about.
    AskWrites,
    /// What `askWrites` asks about is refused.
    Refuse,
    /// What the sandbox confines runs, the rest is asked about.
    Sandboxed,
    /// As `sandboxed` in Turns that a person starts in a trusted folder with bubblewrap; else as `default`.
    Automatic,
    /// They run.
    AutoApprove,
}

/// A rule: one of `Command`, `Path` and `Tool`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Rule {
    /// What happens.
    #[schemars(extend("enum" = ["allow", "ask", "deny"]))]
    pub action: String,
    /// A pattern of words; `**`, and `*` as the last word, stand for any number of words.
    pub command: Option<String>,
    /// A pattern of paths; `**` crosses directories.
    pub path: Option<String>,
    /// For `Path`: which use of it; both when left out.
    #[schemars(extend("enum" = ["read", "write"]))]
    pub operation: Option<String>,
    /// A tool's name; with `*` at its end all that begin so.
    pub tool: Option<String>,
    /// Why, for users and for the model.
    pub reason: Option<String>,
}

/// Questions to the user.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Approvals {
    /// How long a question waits before it is declined, in seconds.
    #[schemars(extend("default" = 86400))]
    pub max_wait_seconds: Option<u64>,
}

/// What a Turn may use.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-restrains" = true))]
pub struct Limits {
    /// Replies with calls.
    #[schemars(range(min = 1), extend("default" = 200))]
    pub rounds: Option<u64>,
    /// Tokens read and written, of all requests; no limit when left out.
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// Time at work, in seconds; no limit when left out.
    #[schemars(range(min = 1))]
    pub seconds: Option<u64>,
    /// Money, in the currency of the models' `Price`; no limit when left out.
    #[schemars(range(min = 0, max = 999_999_999))]
    pub cost: Option<f64>,
}

/// Shortening of long conversations.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Compaction {
    /// Whether conversations are compacted before they fill the model's window.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Share of the window at which that happens, in percent; by the model when left out.
    #[schemars(range(min = 30, max = 95))]
    pub at_percent: Option<u64>,
}

/// Titles of conversations.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Titles {
    /// Whether a model writes the title of a conversation after its first Turn.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// The model that does so; that of the conversation when left out.
    pub model: Option<String>,
}

/// Suggestions to begin with, which clients show in an empty window.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct WelcomeSuggestions {
    /// Whether a model makes them.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
}

/// Tools of MCP servers as models get them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Tools {
    /// Whether a model searches the tools of servers where these have many, instead of getting all in each request.
    #[schemars(extend("default" = true))]
    pub search: Option<bool>,
}

/// An MCP server: started by `Command`, or reached at `Url`. In a list it has a `Name`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-unread" = ["Name"]))]
#[schemars(extend("x-also" = {
    "type": "Transport",
    "args": "Arguments",
    "env": "EnvironmentVariables",
    "workingDirectory": "Cwd",
    "httpHeaders": "Headers",
}))]
pub struct McpServer {
    /// How it is reached; by which of `Command` and `Url` is there when left out.
    pub transport: Option<McpTransport>,
    /// The program that is started.
    pub command: Option<String>,
    /// Its arguments; `args` too.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables that are set for it; `env` too.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub environment_variables: BTreeMap<String, String>,
    /// Names of variables that it gets from Bobbin's environment, secrets included.
    #[serde(default)]
    pub env_vars: Vec<String>,
    /// Where it starts: absolute, or from the workspace. When left out, a server of a folder starts in the workspace, and
    /// one of your own in a directory without files.
    pub cwd: Option<String>,
    /// Whether a server that a folder brings runs in the sandbox. Your own never do. `.mcp.json` and plugins cannot say it.
    #[schemars(extend("default" = true))]
    pub sandbox: Option<bool>,
    /// Address of a server that is reached over streamable HTTP.
    pub url: Option<String>,
    /// Headers of each request; `httpHeaders` too.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub headers: BTreeMap<String, String>,
    /// Headers whose values stand in variables: header to variable.
    #[serde(default)]
    pub env_http_headers: BTreeMap<String, String>,
    /// Variable with the bearer token.
    pub bearer_token_env_var: Option<String>,
    /// Whether it may run.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Whether it may not run.
    #[schemars(extend("default" = false))]
    pub disabled: Option<bool>,
    /// How long it may take until its tools are known, in seconds; at most 10 minutes.
    #[schemars(range(min = 0.001, max = 1_000_000_000), extend("default" = 30))]
    pub startup_timeout_sec: Option<f64>,
    /// How long a call may take, in seconds; at most a day.
    #[schemars(range(min = 0.001, max = 1_000_000_000), extend("default" = 120))]
    pub tool_timeout_sec: Option<f64>,
}

/// How an MCP server is reached.
#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-also" = {
    "http": "streamableHttp",
    "streamable-http": "streamableHttp",
    "streamable_http": "streamableHttp",
}))]
pub enum McpTransport {
    /// It is started, and spoken with on its standard streams.
    Stdio,
    /// Over streamable HTTP.
    StreamableHttp,
}

/// An external channel: a chat platform, and how its adapter comes.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct ExternalChannel {
    /// Whether its adapter is let in, or started. Needed.
    pub enabled: Option<bool>,
    /// How its adapter comes. Needed.
    pub transport: Option<ExternalTransport>,
    /// The program of the adapter, unless it connects by itself.
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Where it starts; the workspace when left out.
    pub working_directory: Option<String>,
    /// Variables that are set for it.
    #[serde(default)]
    #[schemars(extend("x-secret" = true))]
    pub env: BTreeMap<String, String>,
}

/// Subagents.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct SubAgent {
    /// The model of subagents whose profile has none; that of the Thread that starts one when left out.
    pub model: Option<String>,
    /// Whether command lines of other agents go on with sessions of their own, where their profile says how.
    #[schemars(extend("default" = false))]
    pub enable_external_cli_session_resume: Option<bool>,
    /// Profiles that are switched off.
    #[serde(default)]
    pub disabled_profiles: Vec<String>,
}

/// How the adapter of a channel comes.
#[derive(Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExternalTransport {
    /// It is started, and served on its standard streams.
    Subprocess,
    /// It connects by itself.
    Websocket,
    /// It is started, and connects.
    ManagedWebsocket,
}

/// Plugins: where they are, and which are disabled.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(extend("x-unread" = ["EnabledPlugins"]))]
pub struct Plugins {
    /// Plugins that bring nothing, by their ids.
    #[serde(default)]
    pub disabled_plugins: Vec<String>,
    /// Folders of plugins beside `.craft/plugins` of the workspace and `~/.craft/plugins`: one plugin each, or with a folder for each plugin.
    #[serde(default)]
    pub plugin_roots: Vec<String>,
    /// Folders of the catalogue, whose plugins clients can install; those of the variable `DOTCRAFT_BUILTIN_PLUGIN_ROOTS` are added.
    #[serde(default)]
    pub builtin_roots: Vec<String>,
}

/// Where the server listens and who may connect.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct AppServer {
    /// Which connections `bobbin app-server` takes.
    #[schemars(extend("default" = "Stdio"))]
    pub mode: Option<Mode>,
    /// The listener.
    #[serde(default)]
    pub web_socket: WebSocket,
    /// TLS for other machines.
    #[serde(default)]
    pub tls: Tls,
    /// Web pages that may connect beside the listener's own, as `https://tea.example`.
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    /// Values of `Host` that may connect beside the listener's own, as clients send them.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
}

/// The listener.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct WebSocket {
    /// IP address to listen on, or `localhost`.
    #[schemars(extend("default" = "127.0.0.1"))]
    pub host: Option<String>,
    /// Port; 0 for a free one. When left out, a free one where 9100 is taken.
    #[schemars(extend("default" = 9100))]
    pub port: Option<u16>,
    /// What clients present instead of what `bobbin token` prints; empty for nothing, on loopback only.
    #[schemars(extend("x-secret" = true))]
    pub token: Option<String>,
    /// Whether other people can run programs on this machine: then the page without TLS has another address after each start. Looked up when left out.
    pub shared_machine: Option<bool>,
}

/// Where the Hub listens. `bobbin hub --port` goes before it.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Hub {
    /// IP address of this machine alone, such as `::1`, or `localhost`. The Hub is not reached from other machines.
    #[schemars(extend("default" = "127.0.0.1"))]
    pub host: Option<String>,
    /// Port; 0 for a free one.
    #[schemars(extend("default" = 0))]
    pub port: Option<u16>,
}

/// TLS for other machines. Both files or none.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct Tls {
    /// File with certificates as PEM, the listener's own first: absolute, or with `~/`.
    pub certificate: Option<String>,
    /// File with the key of the certificate as PEM.
    pub key: Option<String>,
}

/// Which connections `bobbin app-server` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum Mode {
    /// None.
    Disabled,
    /// Standard input and output.
    #[default]
    Stdio,
    /// WebSockets.
    WebSocket,
    /// Both.
    StdioAndWebSocket,
}

/// What a commit to the database waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Durability {
    /// The disk: nothing is lost when the power fails.
    #[default]
    Full,
    /// The system: nothing is lost when Bobbin ends in any way.
    Normal,
}

/// Returns the JSON Schema of a file, without references.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_deserialize()
        .with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<ConfigFile>()
        .to_value()
}
