//! The first line of a connection: who speaks, and what.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bobbin_framing::Transport;
use bobbin_model::{Actor, ClientKeys};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Name of the socket in the workspace's state.
pub const SOCKET: &str = "server.sock";
/// How long a client may take to say its line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest line in bytes: a path, a few words and keys.
const MAX_BYTES: usize = 64 << 10;

/// The first line of a connection, after the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The protocol of everything after this line.
    pub dialect: Dialect,
    /// The folder that the client means, absolute, without links.
    pub folder: PathBuf,
    /// On whose behalf the client acts. A node says so of the clients that it has authenticated; every other program that
    /// can send this line is the user's own.
    pub actor: Actor,
    /// The client's process.
    pub pid: u32,
    /// Whether the Turns that this connection starts end with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_turns: bool,
    /// How the client reached the node that passes its messages on; `None` for a program of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relayed: Option<Relayed>,
    /// Keys of model providers in the client's environment. They count for the Turns that this connection starts.
    #[serde(default, skip_serializing_if = "ClientKeys::is_empty")]
    pub keys: ClientKeys,
}

/// How a client reached the node. It has the rights of a client of a listener, not those of a program of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relayed {
    /// Whether no other machine can read or change the client's bytes on their way to the node.
    pub is_private: bool,
    /// Whether other machines can reach the node.
    pub is_open: bool,
}

/// A protocol that the socket carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dialect {
    /// The AppServer protocol.
    Native,
    /// ECA.
    Eca,
    /// The Agent Client Protocol.
    Acp,
    /// The app-server protocol of the Codex terminal client.
    Codex,
    /// Requests about the server itself: [`CONTROL_LEAVE`](crate::CONTROL_LEAVE), [`CONTROL_LISTEN`](crate::CONTROL_LISTEN).
    Control,
}

impl Hello {
    /// Returns the line of this process.
    pub fn new(dialect: Dialect, folder: &Path) -> Self {
        Self {
            dialect,
            folder: folder.to_owned(),
            actor: Actor::Owner,
            pid: std::process::id(),
            ends_turns: false,
            relayed: None,
            keys: ClientKeys::default(),
        }
    }

    /// Sends the line.
    ///
    /// # Errors
    /// The server is gone.
    pub(crate) async fn send(&self, transport: &mut Transport) -> std::io::Result<()> {
        let text = serde_json::to_vec(self)?;
        transport
            .send(Bytes::from(text))
            .await
            .map_err(std::io::Error::other)
    }

    /// Reads the line of a client; `None` where it sends none in time, or another one.
    pub async fn read(transport: &mut Transport) -> Option<Self> {
        let first = tokio::time::timeout(PATIENCE, transport.next()).await.ok()??;
        let line = first.ok().filter(|line| line.len() <= MAX_BYTES)?;
        serde_json::from_slice(&line).ok()
    }
}
