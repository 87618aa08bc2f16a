//! MCP servers that a client brings along with a session.

use serde::{Deserialize, Serialize};
use serde_with::{DefaultOnNull, serde_as};

/// One MCP server of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum McpServer {
    /// A server at an address.
    Remote(RemoteServer),
    /// A program that the agent starts. It has no `type` on the wire.
    Stdio(StdioServer),
    /// A server of another kind.
    Unknown(serde_json::Value),
}

/// A server that is reached over HTTP.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteServer {
    /// How it is spoken to.
    #[serde(rename = "type")]
    pub transport: RemoteTransport,
    /// Its name for users.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Headers of every request.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub headers: Vec<Pair>,
}

/// How a server at an address is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemoteTransport {
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events.
    Sse,
}

/// A server that is a program.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StdioServer {
    /// Its name for users.
    pub name: String,
    /// The program, an absolute path.
    pub command: String,
    /// The program's arguments.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub args: Vec<String>,
    /// The program's variables, beside those that every program gets.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub env: Vec<Pair>,
}

/// A name with its value: one variable, one header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}
