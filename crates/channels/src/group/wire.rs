//! Wire types of channels, messages to chats, and calls of adapters' tools.
//!
//! AppServer protocol 05 §9 and 06 part B. Values of variables are secrets: answers contain them, logs do not.

use std::collections::BTreeMap;
use std::fmt;

use crate::host::ChannelRuntimeState;
use bobbin_agent_api::channel::{
    AdapterProcess, ChannelConfig, ChannelTransport, ChatMedia, ChatMessage, Delivered, DeliveryError,
    MediaKind, MediaSource,
};
use bobbin_agent_api::tool_server::Secrets;
use bobbin_model::Json;
use bobbin_native_wire::handshake::types::ClientRequestId;
use bobbin_native_wire::thread::params::ChannelCategory;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Connection between the server and the adapter of an external channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExternalChannelTransport {
    /// The server starts it and talks to it on its standard streams.
    Subprocess,
    /// It connects by itself.
    Websocket,
    /// Extension: the server starts it, and it connects.
    ManagedWebsocket,
}

/// Configuration of an external channel.
#[skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalChannelConfig {
    /// Its name; compared without case.
    pub name: String,
    /// Whether its adapter may connect or is started.
    pub enabled: bool,
    /// How its adapter connects.
    pub transport: ExternalChannelTransport,
    /// The program of the adapter, unless it connects by itself.
    pub command: Option<String>,
    /// The built-in module that is the adapter, in the place of `command`.
    pub builtin_module: Option<String>,
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// Working directory; the workspace when absent.
    pub working_directory: Option<String>,
    /// Variables that are set for it.
    pub env: Option<BTreeMap<String, String>>,
}

impl fmt::Debug for ExternalChannelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of variables are secrets.
        f.debug_struct("ExternalChannelConfig")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ExternalChannelConfig {
    /// Converts a client's configuration.
    ///
    /// # Errors
    /// It is invalid; the text is a sentence for the user.
    pub(crate) fn into_config(self) -> Result<ChannelConfig, String> {
        let process = AdapterProcess {
            command: self.command.unwrap_or_default(),
            builtin_module: self.builtin_module.filter(|text| !text.is_empty()),
            args: self.args.unwrap_or_default(),
            working_directory: self.working_directory.filter(|text| !text.is_empty()),
            env: Secrets(self.env.unwrap_or_default()),
        };
        let transport = match self.transport {
            ExternalChannelTransport::Subprocess => ChannelTransport::Subprocess(process),
            ExternalChannelTransport::ManagedWebsocket => ChannelTransport::ManagedWebSocket(process),
            ExternalChannelTransport::Websocket if process == AdapterProcess::default() => {
                ChannelTransport::WebSocket
            }
            ExternalChannelTransport::Websocket => {
                let why = "'command', 'builtinModule', 'args', 'workingDirectory' and 'env' do not belong to the transport \
                           'websocket'.";
                return Err(why.to_owned());
            }
        };
        Ok(ChannelConfig {
            name: self.name,
            enabled: self.enabled,
            transport,
        })
    }
}

impl From<ChannelConfig> for ExternalChannelConfig {
    fn from(config: ChannelConfig) -> Self {
        let (transport, process) = match config.transport {
            ChannelTransport::Subprocess(process) => (ExternalChannelTransport::Subprocess, Some(process)),
            ChannelTransport::WebSocket => (ExternalChannelTransport::Websocket, None),
            ChannelTransport::ManagedWebSocket(process) => {
                (ExternalChannelTransport::ManagedWebsocket, Some(process))
            }
        };
        let process = process.unwrap_or_default();
        Self {
            name: config.name,
            enabled: config.enabled,
            transport,
            command: Some(process.command).filter(|command| !command.is_empty()),
            builtin_module: process.builtin_module,
            args: Some(process.args).filter(|args| !args.is_empty()),
            working_directory: process.working_directory,
            env: Some(process.env.0).filter(|env| !env.is_empty()),
        }
    }
}

/// Result of `externalChannel/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalChannelListResult {
    /// The channels, by name.
    pub channels: Vec<ExternalChannelConfig>,
}

/// Params of `externalChannel/get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalChannelNameParams {
    /// The channel.
    pub name: String,
}

/// Params of `externalChannel/upsert`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalChannelUpsertParams {
    /// The channel; replaces the one of its name.
    pub channel: ExternalChannelConfig,
    /// Extension: the client's own id for this request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Params of `externalChannel/remove`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalChannelRemoveParams {
    /// The channel.
    pub name: String,
    /// Extension: the client's own id for this request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `externalChannel/get` and `externalChannel/upsert`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalChannelResult {
    /// The channel.
    pub channel: ExternalChannelConfig,
}

/// Result of `externalChannel/remove`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalChannelRemoveResult {
    /// Always `true`.
    pub removed: bool,
}

/// Params of `externalChannel/logs`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalChannelLogsParams {
    /// The channel.
    pub name: String,
    /// Most lines, 1 to 1000. Default 200.
    pub tail: Option<u32>,
}

/// Result of `externalChannel/logs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalChannelLogsResult {
    /// The channel.
    pub name: String,
    /// The newest lines that its adapter has written, the newest last. `***` replaces secrets.
    pub lines: Vec<String>,
}

/// Result of `channel/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelStatusResult {
    /// The channels, by name.
    pub channels: Vec<ChannelStatus>,
}

/// Status of a channel.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelStatus {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub category: ChannelCategory,
    /// Whether its adapter may connect or is started.
    pub enabled: bool,
    /// Whether its adapter is connected.
    pub running: bool,
    /// Whether its adapter runs or starts.
    pub runtime_state: ChannelRuntimeState,
    /// `externalChannelStartFailed` where the server cannot start its adapter.
    pub failure_code: Option<String>,
    /// Extension: why its adapter does not run, a sentence for the user.
    pub problem: Option<String>,
    /// Extension: the adapter's tools that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<ChannelDiagnostic>,
}

/// A tool of an adapter that is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChannelDiagnostic {
    /// `InvalidChannelToolDescriptor` or `ChannelToolNameConflict`.
    pub code: String,
    /// A sentence for the author of the adapter.
    pub message: String,
}

/// Params of `channel/send`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSendParams {
    /// The channel.
    pub channel: String,
    /// The chat, as the channel's platform names it.
    pub target: String,
    /// The message.
    pub message: ChannelMessage,
    /// Hints for the adapter, an object.
    pub metadata: Option<Json>,
    /// The client's own id for this request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `channel/send`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelSendResult {
    /// Whether the platform took it.
    pub delivered: bool,
    /// The platform's id of the message.
    pub remote_message_id: Option<String>,
    /// The platform's id of the medium.
    pub remote_media_id: Option<String>,
    /// Why it was not delivered, for programs.
    pub error_code: Option<String>,
    /// Why it was not delivered, for the user.
    pub error_message: Option<String>,
}

impl From<Result<Delivered, DeliveryError>> for ChannelSendResult {
    fn from(sent: Result<Delivered, DeliveryError>) -> Self {
        match sent {
            Ok(delivered) => Self {
                delivered: true,
                remote_message_id: delivered.remote_message_id,
                remote_media_id: delivered.remote_media_id,
                ..Self::default()
            },
            Err(error) => Self {
                error_code: Some(error.code.to_string()),
                error_message: Some(error.message),
                ..Self::default()
            },
        }
    }
}

/// Params of `ext/channel/send`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtChannelSendParams {
    /// The chat, as the channel's platform names it.
    pub target: String,
    /// The message.
    pub message: ChannelMessage,
    /// Hints, an object.
    pub metadata: Option<Json>,
}

/// Result of `ext/channel/send`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtChannelSendResult {
    /// Whether the platform took it.
    pub delivered: bool,
    /// The platform's id of the message.
    pub remote_message_id: Option<String>,
    /// The platform's id of the medium.
    pub remote_media_id: Option<String>,
    /// Why it was not delivered, for programs.
    pub error_code: Option<String>,
    /// Why it was not delivered, for the user.
    pub error_message: Option<String>,
    /// The same, as older adapters say it.
    pub error: Option<String>,
}

/// A message for a chat.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelMessage {
    /// Its kind.
    pub kind: ChannelMessageKind,
    /// The text of a text.
    pub text: Option<String>,
    /// The text beside a medium.
    pub caption: Option<String>,
    /// The name that the chat shows.
    pub file_name: Option<String>,
    /// The media type.
    pub media_type: Option<String>,
    /// Source of a medium's bytes.
    pub source: Option<ChannelMessageSource>,
}

/// Kind of a message for a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChannelMessageKind {
    /// Text.
    Text,
    /// Any file.
    File,
    /// A sound.
    Audio,
    /// A picture.
    Image,
    /// A video.
    Video,
}

impl ChannelMessageKind {
    pub(crate) fn of(kind: MediaKind) -> Self {
        match kind {
            MediaKind::File => Self::File,
            MediaKind::Audio => Self::Audio,
            MediaKind::Image => Self::Image,
            MediaKind::Video => Self::Video,
        }
    }

    fn media(self) -> Option<MediaKind> {
        match self {
            Self::Text => None,
            Self::File => Some(MediaKind::File),
            Self::Audio => Some(MediaKind::Audio),
            Self::Image => Some(MediaKind::Image),
            Self::Video => Some(MediaKind::Video),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::File => "file",
            Self::Audio => "audio",
            Self::Image => "image",
            Self::Video => "video",
        }
    }
}

/// Source of a medium's bytes: `kind`, and the one member of that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum ChannelMessageSource {
    /// A file of the workspace.
    HostPath {
        /// Its path.
        host_path: String,
    },
    /// An address.
    Url {
        /// `http` or `https`.
        url: String,
    },
    /// The bytes.
    DataBase64 {
        /// Base64.
        data_base64: String,
    },
    /// An artifact that the server stored.
    ArtifactId {
        /// Its id.
        artifact_id: String,
    },
}

impl ChannelMessage {
    /// Converts a client's message.
    ///
    /// # Errors
    /// It is invalid; the text is a sentence for the author of the client.
    pub(crate) fn into_message(self) -> Result<ChatMessage, String> {
        let Some(kind) = self.kind.media() else {
            if self.source.is_some() || self.caption.is_some() {
                return Err("'source' and 'caption' do not belong to a text.".to_owned());
            }
            let text = self.text.filter(|text| !text.trim().is_empty());
            return text
                .map(ChatMessage::Text)
                .ok_or_else(|| "'text' must not be blank.".to_owned());
        };
        let source = match self.source.ok_or("a medium needs a 'source'.")? {
            ChannelMessageSource::HostPath { host_path } => MediaSource::HostPath(host_path),
            ChannelMessageSource::Url { url } => MediaSource::Url(url),
            ChannelMessageSource::DataBase64 { data_base64 } => MediaSource::DataBase64(data_base64),
            ChannelMessageSource::ArtifactId { artifact_id } => MediaSource::Artifact(artifact_id),
        };
        Ok(ChatMessage::Media(ChatMedia {
            kind,
            caption: self.caption,
            file_name: self.file_name,
            media_type: self.media_type,
            source,
        }))
    }
}

/// Params of `ext/channel/toolCall`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelToolCallParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// The call; begins with `exttool_`.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// A JSON object.
    pub arguments: Json,
    /// The chat that the call is for.
    pub context: ChannelToolContext,
}

/// The chat that a call of an adapter's tool is for.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelToolContext {
    /// The channel.
    pub channel_name: String,
    /// The scope of the Thread in the channel.
    pub channel_context: Option<String>,
    /// The sender of the message that started the Turn.
    pub sender_id: Option<String>,
    /// The group that it was sent in.
    pub group_id: Option<String>,
}
