//! External channels as other features see them: the seam between a feature that has a message for a chat and the
//! adapter of that chat's platform (AppServer protocol 06 §B4).
//!
//! Nothing is queued: where the adapter is not connected, the message is not delivered, and the caller gets the reason.

use std::fmt;

use bobbin_model::Json;
use futures_util::future::BoxFuture;

use crate::tool_server::Secrets;

/// Channels of clients that come with the server, or are known to it.
pub const BUILT_IN_CHANNELS: [&str; 5] = ["acp", "cli", "desktop", "eca", "exec"];
/// Channels of the server itself.
pub const SYSTEM_CHANNELS: [&str; 3] = ["automations", "cron", "heartbeat"];
/// Channels of Threads that nobody is shown.
const INTERNAL_CHANNELS: [&str; 2] = ["commit-suggest", "welcome-suggest"];

/// Whether no external channel can have this name, whatever its case.
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
    /// Whether its adapter is let in, or started.
    pub enabled: bool,
    /// How its adapter comes.
    pub transport: ChannelTransport,
}

/// How the adapter of a channel comes to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelTransport {
    /// The server starts it and serves it on its standard streams.
    Subprocess(AdapterProcess),
    /// It connects by itself.
    WebSocket,
    /// The server starts it, and it connects.
    ManagedWebSocket(AdapterProcess),
}

impl ChannelTransport {
    /// Returns its word on the wire and in files.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Subprocess(_) => "subprocess",
            Self::WebSocket => "websocket",
            Self::ManagedWebSocket(_) => "managedWebsocket",
        }
    }

    /// Returns what the server starts.
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
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it starts; the workspace where there is none.
    pub working_directory: Option<String>,
    /// Variables that are set for it.
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
    /// What it is.
    pub kind: MediaKind,
    /// The text beside it.
    pub caption: Option<String>,
    /// The name that the chat shows.
    pub file_name: Option<String>,
    /// Its media type; found out where there is none.
    pub media_type: Option<String>,
    /// Where its bytes are.
    pub source: MediaSource,
}

/// What a medium is.
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

/// Where the bytes of a medium are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// A file in the workspace.
    HostPath(String),
    /// An `http` or `https` address.
    Url(String),
    /// The bytes themselves, Base64.
    DataBase64(String),
    /// Something that the server stored under an id.
    Artifact(String),
}

/// What the platform says of a message that it took.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivered {
    /// Its id of the message.
    pub remote_message_id: Option<String>,
    /// Its id of the medium.
    pub remote_media_id: Option<String>,
}

/// Why a message was not delivered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeliveryError {
    /// The reason, for machines.
    pub code: DeliveryErrorCode,
    /// The reason, a sentence for the user.
    pub message: String,
}

/// Why a message was not delivered, for machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryErrorCode {
    /// No channel of this name is configured and enabled.
    ChannelNotFound,
    /// The channel's adapter is not connected.
    AdapterDisconnected,
    /// The adapter does not take messages, or none of this kind.
    UnsupportedDeliveryKind,
    /// The adapter takes the medium from no source that there is.
    UnsupportedMediaSource,
    /// There is no such artifact.
    MediaArtifactNotFound,
    /// The medium cannot be read or checked.
    MediaResolutionFailed,
    /// The medium is larger than the adapter takes.
    MediaTooLarge,
    /// The adapter does not take media of this type.
    MediaTypeNotAllowed,
    /// The adapter did not deliver it, or did not answer in time.
    AdapterDeliveryFailed,
    /// The adapter's answer or the message breaks the protocol.
    AdapterProtocolViolation,
    /// A code of the adapter's own.
    Adapter(String),
}

impl DeliveryErrorCode {
    /// Returns the code on the wire.
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
    /// Returns the names of the channels that are configured, sorted.
    fn channels(&self) -> Vec<String>;

    /// Sends a message to a chat, once. `metadata` is an object of hints for the adapter, as `{"origin":"cron"}`.
    /// The implementation limits the time.
    ///
    /// # Errors
    /// Why it was not delivered. After a timeout the chat may have the message all the same; it is not repeated.
    fn deliver(
        &self,
        to: ChatAddress,
        message: ChatMessage,
        metadata: Option<Json>,
    ) -> BoxFuture<'_, Result<Delivered, DeliveryError>>;
}
