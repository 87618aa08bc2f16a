//! External channels: the contract between a feature that sends a message to a chat and the adapter of the chat's platform
//! (AppServer protocol 06 §B4).
//!
//! Nothing is queued. If the adapter is not connected, the caller gets an error and the message is not delivered.

use std::fmt;

use bobbin_model::Json;
use futures_util::future::BoxFuture;

use crate::tool_server::Secrets;

/// Channels of clients that come with the server or that it knows.
pub const BUILT_IN_CHANNELS: [&str; 5] = ["acp", "cli", "desktop", "eca", "exec"];
/// Channels of the server itself.
pub const SYSTEM_CHANNELS: [&str; 3] = ["automations", "cron", "heartbeat"];
/// Channels of Threads that no client shows.
const INTERNAL_CHANNELS: [&str; 2] = ["commit-suggest", "welcome-suggest"];

/// Whether no external channel may have this name, in any case.
pub fn is_reserved(name: &str) -> bool {
    let known = BUILT_IN_CHANNELS
        .iter()
        .chain(&SYSTEM_CHANNELS)
        .chain(&INTERNAL_CHANNELS);
    known.into_iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The configuration of an external channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// Its name; compared without case.
    pub name: String,
    /// Whether its adapter may connect or is started.
    pub enabled: bool,
    /// How its adapter connects.
    pub transport: ChannelTransport,
}

/// Connection between the adapter of a channel and the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelTransport {
    /// The server starts it and talks to it on its standard streams.
    Subprocess(AdapterProcess),
    /// It connects by itself.
    WebSocket,
    /// The server starts it, and it connects.
    ManagedWebSocket(AdapterProcess),
}

impl ChannelTransport {
    /// Returns its name on the wire and in files.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Subprocess(_) => "subprocess",
            Self::WebSocket => "websocket",
            Self::ManagedWebSocket(_) => "managedWebsocket",
        }
    }

    /// Returns the adapter's process, if the server starts it.
    pub fn process(&self) -> Option<&AdapterProcess> {
        match self {
            Self::Subprocess(process) | Self::ManagedWebSocket(process) => Some(process),
            Self::WebSocket => None,
        }
    }
}

/// An adapter that the server starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdapterProcess {
    /// The program; empty if a built-in module is the adapter.
    pub command: String,
    /// The built-in module that is the adapter.
    pub builtin_module: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Working directory; `None` means the workspace.
    pub working_directory: Option<String>,
    /// Additional variables of its environment.
    pub env: Secrets,
}

/// A chat of an external channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatAddress {
    /// The channel, without regard to case.
    pub channel: String,
    /// The chat, as the channel's platform names it: the `groupId` of a sender, or else its `senderId`.
    pub target: String,
}

/// A message for a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatMessage {
    /// Text.
    Text(String),
    /// A file, a sound, a picture or a video.
    Media(ChatMedia),
}

/// A file, a sound, a picture or a video for a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMedia {
    /// Its kind.
    pub kind: MediaKind,
    /// The text beside the medium.
    pub caption: Option<String>,
    /// The name that the chat shows.
    pub file_name: Option<String>,
    /// Its media type; `None` if the server is to detect it.
    pub media_type: Option<String>,
    /// The source of its bytes.
    pub source: MediaSource,
}

/// Kind of a medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MediaKind {
    /// Any file.
    File,
    /// A sound.
    Audio,
    /// A picture.
    Image,
    /// A video.
    Video,
}

/// Source of a medium's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// A file in the workspace.
    HostPath(String),
    /// An `http` or `https` address.
    Url(String),
    /// The bytes, in Base64.
    DataBase64(String),
    /// The id of an artifact that the server stored.
    Artifact(String),
}

/// The platform's answer to a message that it accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivered {
    /// The platform's id of the message.
    pub remote_message_id: Option<String>,
    /// The platform's id of the medium.
    pub remote_media_id: Option<String>,
}

/// Error of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeliveryError {
    /// The reason, as a code.
    pub code: DeliveryErrorCode,
    /// The reason, a sentence for the user.
    pub message: String,
}

/// Code of a delivery's error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryErrorCode {
    /// No channel of this name is configured and enabled.
    ChannelNotFound,
    /// The channel's adapter is not connected.
    AdapterDisconnected,
    /// The adapter accepts no messages, or none of this kind.
    UnsupportedDeliveryKind,
    /// The adapter accepts none of the sources that the medium has.
    UnsupportedMediaSource,
    /// No artifact has this id.
    MediaArtifactNotFound,
    /// The medium cannot be read or checked.
    MediaResolutionFailed,
    /// The medium is larger than the adapter accepts.
    MediaTooLarge,
    /// The adapter does not accept media of this type.
    MediaTypeNotAllowed,
    /// The adapter failed to deliver, or did not answer in time.
    AdapterDeliveryFailed,
    /// The adapter's answer, or the message, breaks the protocol.
    AdapterProtocolViolation,
    /// The adapter's own code.
    Adapter(String),
}

impl DeliveryErrorCode {
    /// Returns the code as it is on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ChannelNotFound => "ChannelNotFound",
            Self::AdapterDisconnected => "AdapterDisconnected",
            Self::UnsupportedDeliveryKind => "UnsupportedDeliveryKind",
            Self::UnsupportedMediaSource => "UnsupportedMediaSource",
            Self::MediaArtifactNotFound => "MediaArtifactNotFound",
            Self::MediaResolutionFailed => "MediaResolutionFailed",
            Self::MediaTooLarge => "MediaTooLarge",
            Self::MediaTypeNotAllowed => "MediaTypeNotAllowed",
            Self::AdapterDeliveryFailed => "AdapterDeliveryFailed",
            Self::AdapterProtocolViolation => "AdapterProtocolViolation",
            Self::Adapter(code) => code,
        }
    }
}

impl fmt::Display for DeliveryErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Sends messages to chats of external channels.
pub trait ChannelDelivery: Send + Sync + 'static {
    /// Returns the names of the configured channels, sorted.
    fn channels(&self) -> Vec<String>;

    /// Sends a message to a chat, once. `metadata` is an object with hints for the adapter, such as `{"origin":"cron"}`.
    /// The implementation limits the time.
    ///
    /// # Errors
    /// The message was not delivered. After a timeout the chat may still have it, so it is not sent again.
    fn deliver(
        &self,
        to: ChatAddress,
        message: ChatMessage,
        metadata: Option<Json>,
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>>;
}
