//! Sessions: started, opened, listed, left, deleted.

use serde::{Deserialize, Serialize};
use serde_with::{DefaultOnNull, serde_as};

use crate::{ConfigOption, McpServer, Meta, ModelState, SessionModeState};

/// An answer that says nothing beyond that it is done. Some programs send null in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Empty {}

/// The parameters of `session/new`.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSessionParams {
    /// The session's directory, an absolute path.
    pub cwd: String,
    /// Servers for this session only.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// More roots, absolute paths.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The answer of `session/new`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewSessionResult {
    /// The new session.
    pub session_id: String,
    /// Its modes and options.
    #[serde(flatten)]
    pub opened: OpenedSession,
}

/// The parameters of `session/load` and `session/resume`.
#[serde_as]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadSessionParams {
    /// The session to open.
    pub session_id: String,
    /// The session's directory, an absolute path.
    pub cwd: String,
    /// Servers for this session only.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
    /// More roots, absolute paths.
    #[serde_as(deserialize_as = "DefaultOnNull")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The answer of `session/load` and `session/resume`: what a user can choose in the session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    /// Its modes, for clients that know no options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modes: Option<SessionModeState>,
    /// Its options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_options: Option<Vec<ConfigOption>>,
    /// Its models. Gone from the schema; some agents have them in place of an option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelState>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The parameters of `session/list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListSessionsParams {
    /// Only sessions of this directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The next page: an answer's [`ListSessionsResult::next_cursor`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The answer of `session/list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsResult {
    /// Sessions, newest first.
    pub sessions: Vec<SessionInfo>,
    /// The start of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One session of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The session.
    pub session_id: String,
    /// Its directory.
    pub cwd: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its last change, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Its further roots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_directories: Option<Vec<String>>,
    /// Additions of programs.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The parameters of `session/close`, `session/delete` and `session/cancel`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    pub session_id: String,
}
