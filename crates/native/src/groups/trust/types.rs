//! Extension: `workspace/trust/*`, the user's decision about a folder and its items that need trust.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::wire::ClientRequestId;

/// Params of `workspace/trust/set`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustSetParams {
    /// Whether the folder is trusted; `false` takes back every word about it.
    pub trusted: bool,
    /// What the user was shown. With it exactly these things count, and an earlier word stays; without it all that the
    /// folder brings now.
    pub fingerprints: Option<Vec<String>>,
    /// The client's name for the request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `workspace/trust/get` and `workspace/trust/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustResult {
    /// Whether the user trusts the folder: what it says as text counts then.
    pub trusted: bool,
    /// What does not count yet.
    pub waiting: Vec<TrustItem>,
    /// What counts.
    pub counted: Vec<TrustItem>,
    /// Whether a setting counts, or does not count any more, only from the next start of the server.
    pub restart_needed: bool,
}

/// One thing that a folder brings.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustItem {
    /// What it does once it counts.
    pub kind: TrustKind,
    /// What it is called: `the MCP server pantry`, `Sandbox.Network`, `AGENTS.md`.
    pub name: String,
    /// What it says, for the user to judge. Written by the author of the folder.
    pub detail: Option<String>,
    /// Stands for its content; texts have none.
    pub fingerprint: Option<String>,
}

/// What a thing does once it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustKind {
    /// It starts a program, or sends something to an address.
    Server,
    /// It loosens what the user's own configuration says.
    Setting,
    /// It is read as an instruction.
    Text,
}

/// Params of `workspace/trustChanged`: the user has said something about the folder. `workspace/trust/get` says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustChangedNotification {
    /// Whether the folder is trusted now.
    pub trusted: bool,
}
