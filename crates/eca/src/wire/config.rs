//! `config/updated` (section 16) and `tool/serverUpdated` (section 17).

use bobbin_agent_api::tool::{Effect, ToolSpec};
use bobbin_model::{Json, Mode, Reach, ServerState, ToolServer};
use serde::Serialize;
use serde_json::Value;

use super::{ChatId, agent, behavior};

/// Params of `config/updated`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigUpdated<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chat_id: Option<ChatId>,
    pub(crate) chat: ChatConfig<'a>,
}

/// The reasoning efforts of a model, as this dialect names them.
#[derive(Debug, Default)]
pub(crate) struct Variants {
    pub(crate) all: Vec<&'static str>,
    pub(crate) selected: Option<&'static str>,
}

/// The changed members; an absent member has not changed.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChatConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) behaviors: Option<[&'static str; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agents: Option<[&'static str; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) select_model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) select_behavior: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) select_agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default_model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default_behavior: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default_agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) variants: Option<Vec<&'static str>>,
    /// Nullable on the wire. It is the only member where `null` has a meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) select_variant: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) welcome_message: Option<&'static str>,
}

impl<'a> ChatConfig<'a> {
    /// Returns the complete configuration, for the first message after `initialized`.
    pub(crate) fn complete(
        models: &'a [String],
        model: &'a str,
        mode: Mode,
        variants: Variants,
        welcome: &'static str,
    ) -> Self {
        Self {
            models: Some(models),
            behaviors: Some([behavior(Mode::Agent), behavior(Mode::Plan)]),
            agents: Some([agent(Mode::Agent), agent(Mode::Plan)]),
            default_model: Some(model),
            default_behavior: Some(behavior(mode)),
            default_agent: Some(agent(mode)),
            welcome_message: Some(welcome),
            ..Self::selected(model, mode, variants)
        }
    }

    /// Returns the selection that a client must show.
    pub(crate) fn selected(model: &'a str, mode: Mode, variants: Variants) -> Self {
        Self {
            select_model: Some(model),
            select_behavior: Some(behavior(mode)),
            select_agent: Some(agent(mode)),
            ..Self::variants(variants)
        }
    }

    /// Returns the variants of the model.
    pub(crate) fn variants(variants: Variants) -> Self {
        Self {
            variants: Some(variants.all),
            select_variant: Some(variants.selected.into()),
            ..Self::default()
        }
    }
}

/// Params of `tool/serverUpdated` for our own tools.
#[derive(Debug, Serialize)]
pub(crate) struct NativeServer<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    status: &'static str,
    tools: Vec<ServerTool<'a>>,
}

#[derive(Debug, Serialize)]
struct ServerTool<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Json,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disabled: bool,
}

impl<'a> NativeServer<'a> {
    /// Returns our tools in a mode. Tools that the mode withholds are disabled.
    pub(crate) fn new(tools: impl Iterator<Item = &'a ToolSpec>, mode: Mode) -> Self {
        let tool = |spec: &'a ToolSpec| ServerTool {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.input_schema,
            disabled: mode == Mode::Plan && spec.effect == Effect::Writes,
        };
        Self {
            kind: "native",
            name: "ECA",
            status: "running",
            tools: tools.map(tool).collect(),
        }
    }
}

/// Params of `tool/serverUpdated` for the tools of an MCP server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HostedServer<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    status: &'static str,
    tools: Vec<ServerTool<'a>>,
    disabled: bool,
}

impl<'a> HostedServer<'a> {
    /// Returns a server in the state before it ran.
    pub(crate) fn starting(server: &'a ToolServer) -> Self {
        Self {
            status: "starting",
            tools: Vec::new(),
            ..Self::new(server)
        }
    }

    /// Returns a server in its current state.
    pub(crate) fn new(server: &'a ToolServer) -> Self {
        let (command, args, url) = match &server.reach {
            Reach::Stdio { command, args } => (Some(command.as_str()), Some(args.as_slice()), None),
            Reach::Http { url } => (None, None, Some(url.as_str())),
        };
        let tools = server.tools.iter().map(|tool| ServerTool {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.input_schema,
            disabled: false,
        });
        Self {
            kind: "mcp",
            name: &server.name,
            command,
            args,
            url,
            status: match server.state {
                ServerState::Idle => "stopped",
                ServerState::Starting => "starting",
                ServerState::Ready => "running",
                ServerState::Error if server.wants_login => "requires-auth",
                ServerState::Error => "failed",
                ServerState::Disabled => "disabled",
            },
            tools: tools.collect(),
            disabled: !server.enabled,
        }
    }
}
