//! The messages of `/node/ws` and of the node's socket.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The list of workspaces, sent to each client when it connects and after each change: [`Workspaces`].
pub const LIST_CHANGED: &str = "workspace/listChanged";
/// Has the node serve a folder: [`AddParams`] → [`Named`].
pub const ADD: &str = "workspace/add";
/// Takes a workspace from the list: [`Named`] → [`Named`]. Its conversations stay.
pub const REMOVE: &str = "workspace/remove";
/// Makes a code that pairs a browser: [`InviteParams`] → [`Invitation`].
pub const INVITE: &str = "device/invite";

/// Params of [`LIST_CHANGED`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workspaces {
    /// The workspaces, in the order of their names; at most 256.
    pub workspaces: Vec<WorkspaceInfo>,
}

/// A workspace and what goes on in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceInfo {
    /// Its name, as in `/w/NAME/`.
    pub name: String,
    /// The folder.
    pub path: PathBuf,
    /// Whether its server runs.
    pub is_running: bool,
    /// Threads with a Turn that has not ended.
    pub open_turns: u32,
    /// Of these, the ones that wait for an answer of a user.
    pub waiting: u32,
    /// The Thread that was active last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latest: Option<Latest>,
    /// The reason why the workspace cannot be served or its state cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The Thread of a workspace that was active last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Latest {
    /// The Thread.
    pub thread_id: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was active, as RFC 3339.
    pub active_at: String,
    /// The beginning of its last message; at most 240 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// Params of [`ADD`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddParams {
    /// The folder, as an absolute path.
    pub path: PathBuf,
    /// The name; one made of the folder's without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The name of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The name.
    pub name: String,
}

/// Params of [`INVITE`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InviteParams {
    /// The name that the device gets; without it, the name that the browser gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The person whose the device will be; the user of the node without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
}

/// Result of [`INVITE`].
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Invitation {
    /// The code, which counts once; absent where browsers need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The page's address on the node's machine.
    pub page_url: String,
    /// The page's addresses on other machines, the best first.
    pub remote_urls: Vec<String>,
}
