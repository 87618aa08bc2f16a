//! The capabilities that each side declares once, in `initialize`.
//!
//! AppServer protocol 01 §5 (client) and §6 (server). Unknown keys are ignored on both sides.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use bobbin_model::Json;

/// What a client can do. Absent keys have the defaults of the protocol.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent switches on the wire"
)]
pub struct ClientCapabilities {
    /// Can be asked for approvals. Default `true`.
    pub approval_support: bool,
    /// Extension: can be asked what a model wants to know (`item/tool/requestUserInput`), together with
    /// `approvalSupport`. Default `false`.
    pub user_input_support: bool,
    /// Today's name of `userInputSupport`; does not depend on `approvalSupport`. Default `false`.
    pub request_user_input_support: Option<bool>,
    /// The version of program bindings that the client knows. Only its presence counts: it shows a client of today.
    pub app_binding_version: Option<Json>,
    /// `true`: can be asked by MCP servers (`mcpServer/elicitation/request`). Its presence shows a client of today, as that
    /// of the next three.
    pub mcp_elicitation: Option<Json>,
    /// Shows pages of MCP servers.
    pub mcp_apps: Option<Json>,
    /// Shows drawings inside a conversation.
    pub inline_visualizations: Option<Json>,
    /// Drives a desktop.
    pub computer_use: Option<Json>,
    /// Wants delta notifications. Default `true`.
    pub streaming_support: bool,
    /// Turns started here produce `commandExecution` Items and their output. Default `false`.
    pub command_execution_streaming: bool,
    /// Turns started here produce `toolExecution` Items, and this client is shown them. Default `false`.
    pub tool_execution_lifecycle: bool,
    /// Wants `terminal/*` notifications. Default `false`.
    pub background_terminals: bool,
    /// Wants `workspace/configChanged`. Default `true`.
    pub config_change: bool,
    /// Turns started here produce `fileChange` Items. Default `false`.
    pub file_change_items: bool,
    /// Extension: wants `seq` on event notifications and may subscribe with `afterSeq`. Default `false`.
    pub event_cursors: bool,
    /// Extension: shows its user what `workspace/trust/get` lists, and wants `workspace/trustChanged`. Default `false`.
    pub workspace_trust: bool,
    /// Extension: knows the approval policy `sandboxed`; without it, the policy is shown as `default`. Default `false`.
    pub sandboxed_policy: bool,
    /// Extension: a person starts the Turns of this client and reads along. Where no approval policy is configured, what the
    /// sandbox confines runs unasked in them. Default: whether the client is a page, a terminal or a desktop that the server
    /// knows, or an editor.
    pub person: Option<bool>,
    /// Exact names of notifications this connection does not want.
    pub opt_out_notification_methods: Vec<String>,
    /// Present when the connection is the backend of an external channel.
    pub channel_adapter: Option<Json>,
    /// Present when the client serves `ext/acp/*`.
    pub acp_extensions: Option<AcpExtensions>,
    /// Present when the client serves `ext/nodeRepl/*`, together with `browserUse`.
    pub node_repl: Option<NodeReplCapability>,
    /// Present when the client has a browser runtime.
    pub browser_use: Option<BrowserUseCapability>,
    /// Extension: what the client can do for further method groups, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extensions: BTreeMap<String, Value>,
}

impl ClientCapabilities {
    /// Whether the client is one of today (AppServer protocol 07 §1.1): it declares something that no earlier client
    /// does. Its notifications come under today's names too.
    pub fn is_today(&self) -> bool {
        self.request_user_input_support.is_some()
            || [
                &self.app_binding_version,
                &self.mcp_elicitation,
                &self.mcp_apps,
                &self.inline_visualizations,
                &self.computer_use,
            ]
            .into_iter()
            .any(Option::is_some)
    }

    /// Whether the client can be asked questions of the model, under either name.
    pub fn answers_questions(&self) -> bool {
        self.request_user_input_support == Some(true) || (self.user_input_support && self.approval_support)
    }

    /// Returns the external channel for which the client says it is the adapter.
    pub fn channel_name(&self) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Adapter {
            channel_name: String,
        }
        let adapter: Adapter = serde_json::from_str(self.channel_adapter.as_ref()?.get()).ok()?;
        Some(adapter.channel_name).filter(|name| !name.trim().is_empty())
    }
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self {
            approval_support: true,
            user_input_support: false,
            request_user_input_support: None,
            app_binding_version: None,
            mcp_elicitation: None,
            mcp_apps: None,
            inline_visualizations: None,
            computer_use: None,
            streaming_support: true,
            command_execution_streaming: false,
            tool_execution_lifecycle: false,
            background_terminals: false,
            config_change: true,
            file_change_items: false,
            event_cursors: false,
            workspace_trust: false,
            sandboxed_policy: false,
            person: None,
            opt_out_notification_methods: Vec::new(),
            channel_adapter: None,
            acp_extensions: None,
            node_repl: None,
            browser_use: None,
            extensions: BTreeMap::new(),
        }
    }
}

/// Which editor services a client offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AcpExtensions {
    /// Serves `ext/acp/fs/readTextFile`.
    pub fs_read_text_file: bool,
    /// Serves `ext/acp/fs/writeTextFile`.
    pub fs_write_text_file: bool,
    /// Serves `ext/acp/terminal/*`.
    pub terminal_create: bool,
    /// Families of custom methods, `ext/acp/FAMILY/METHOD`.
    pub extensions: Vec<String>,
}

/// The client's JavaScript runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeReplCapability {
    /// Which runtime.
    pub backend: String,
}

/// The client's browser runtime.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserUseCapability {
    /// Which runtime.
    pub backend: String,
    /// Its own protocol's version.
    pub protocol_version: Option<Json>,
    /// Whether `ext/nodeRepl/cancel` may be sent. Default `false`.
    #[serde(default)]
    pub supports_cancel: bool,
}

/// What the server can do. A key that is absent must be read as `false`, and its methods as unknown.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a list of independent switches on the wire"
)]
pub struct ServerCapabilities {
    /// `thread/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread_management: bool,
    /// `thread/resume` takes `dynamicTools`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dynamic_tool_rebind: bool,
    /// `thread/subscribe` and `thread/unsubscribe`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread_subscriptions: bool,
    /// The server may send approval requests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval_flow: bool,
    /// `thread/mode/set`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mode_switch: bool,
    /// `thread/config/update`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub config_override: bool,
    /// `terminal/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background_terminals: bool,
    /// `cron/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cron_management: bool,
    /// `heartbeat/trigger`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub heartbeat_management: bool,
    /// `skills/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skills_management: bool,
    /// `skills/restoreOriginal` and effective `skills/view`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skill_variants: bool,
    /// `plugin/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plugin_management: bool,
    /// `command/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub command_management: bool,
    /// `automation/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub automations: bool,
    /// `channel/status`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub channel_status: bool,
    /// `model/list`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub model_catalog_management: bool,
    /// `workspace/config/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub workspace_config_management: bool,
    /// `mcp/list`, `mcp/get`, `mcp/upsert`, `mcp/remove`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mcp_management: bool,
    /// `mcp/status/list`, `mcp/test`, `mcp/status/updated`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mcp_status: bool,
    /// MCP objects carry `origin` and `readOnly`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mcp_server_origins: bool,
    /// `mcpServerStatus/list`, `mcpServer/*`, `config/mcpServer/reload`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mcp_runtime: bool,
    /// The server may send `mcpServer/elicitation/request`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mcp_elicitation: bool,
    /// `externalChannel/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub external_channel_management: bool,
    /// `subagent/profiles/*` and `subagent/settings/update`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sub_agent_management: bool,
    /// `subagent/children/list`, `sendMessage`, `followupTask`, `close` and `resume`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sub_agent_sessions: bool,
    /// `provider/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub provider_management: bool,
    /// `tool/list`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tool_catalog: bool,
    /// `hooks/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hooks_management: bool,
    /// Extension: `engine/list`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub engines: bool,
    /// `usage/*` and `profile/insights`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub usage_telemetry: bool,
    /// Extension: the server numbers events for clients that declare `eventCursors`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub event_cursors: bool,
    /// Extension: `thread/search`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread_search: bool,
    /// The server may ask questions of the model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub request_user_input: bool,
    /// `thread/compact/start`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub manual_compaction: bool,
    /// `thread/maintenance/interrupt`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread_maintenance_interrupt: bool,
    /// `thread/fork`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub thread_fork: bool,
    /// `worktree/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub git_worktrees: bool,
    /// Extension: `server/stats`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub server_stats: bool,
    /// Extension: `policy/explain`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub policy_explain: bool,
    /// Extension: `approval/rules/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approval_rules: bool,
    /// Extension: `turn/revert`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub turn_revert: bool,
    /// Extension: `workspace/trust/*`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub workspace_trust: bool,
    /// What smaller extensions there are.
    pub extensions: Option<ServerExtensions>,
}

/// Smaller extensions, and the capabilities of further method groups by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerExtensions {
    /// `welcome/suggestions`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub welcome_suggestions: bool,
    /// The capabilities of further method groups, by name.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}
