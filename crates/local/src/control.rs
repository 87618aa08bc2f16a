//! Requests of a program to the server itself, on a connection of the control dialect.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Asks a server that was started for its clients to end, if nothing but the asking process uses it: [`Leave`] → [`Left`].
pub const CONTROL_LEAVE: &str = "server/leave";
/// Has the server open its listener for as long as the connection lasts: [`ListenRequest`] → [`Opened`].
pub const CONTROL_LISTEN: &str = "server/listen";

/// Waits for the end of the server: answered when it ends in order, since its work is done or its user ends it. A connection
/// that ends without the answer is that of a server that was killed. Without params and result.
pub const CONTROL_WAIT: &str = "server/wait";

/// Params of [`CONTROL_LEAVE`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leave {
    /// The process that leaves: the server first waits until its other connections have ended.
    pub pid: u32,
}

/// Result of [`CONTROL_LEAVE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// Whether the server ends now. The connection stays open until its process does.
    pub ends: bool,
}

/// Params of [`CONTROL_LISTEN`]: the listener as its user has typed it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListenRequest {
    /// The address to listen on.
    pub address: SocketAddr,
    /// Whether another port may be taken when this one is taken.
    pub may_move: bool,
    /// The token that clients present; with `None`, every client may connect.
    pub token: Option<String>,
    /// The certificate and its key, as absolute paths.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether a browser's code is wanted with the page's address.
    pub wants_code: bool,
}

/// Result of [`CONTROL_LISTEN`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// `ws://HOST:PORT/ws`.
    pub web_socket: String,
    /// The page's address, if there is a page.
    pub page: Option<String>,
    /// A code for a browser, if one was wanted.
    pub code: Option<String>,
    /// Whether clients present a token.
    pub is_guarded: bool,
    /// The addresses of the page for other devices.
    pub elsewhere: Vec<String>,
}
