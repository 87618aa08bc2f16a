//! Extension: `workspace/trust/*`, the user's decision about a folder and its items that need trust.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;

/// Params of `workspace/trust/set`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustSetParams {
    /// Whether the folder is trusted; `false` revokes all trust in it.
    pub trusted: bool,
    /// Fingerprints of the items that the user has seen. Exactly these take effect, and earlier ones stay. Absent: all
    /// items that the folder has now take effect.
    pub fingerprints: Option<Vec<String>>,
    /// The client's name for the request.
    pub client_request_id: Option<ClientRequestId>,
}

/// Result of `workspace/trust/get` and `workspace/trust/set`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustResult {
    /// Whether the user trusts the folder; its texts are used only then.
    pub trusted: bool,
    /// Items that are not in effect yet.
    pub waiting: Vec<TrustItem>,
    /// Items in effect.
    pub counted: Vec<TrustItem>,
    /// Whether a setting takes or loses effect only at the next start of the server.
    pub restart_needed: bool,
}

/// An item of a folder that needs trust.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustItem {
    /// The effect of the item.
    pub kind: TrustKind,
    /// Its name: `the MCP server pantry`, `Sandbox.Network`, `AGENTS.md`.
    pub name: String,
    /// Its content, for the user to judge. Written by the author of the folder.
    pub detail: Option<String>,
    /// Identifies its content; absent for texts.
    pub fingerprint: Option<String>,
}

/// The effect of an item once it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TrustKind {
    /// It starts a program, or sends something to an address.
    Server,
    /// It loosens the user's own configuration.
    Setting,
    /// It is read as an instruction.
    Text,
}

/// Params of `workspace/trustChanged`: the user has decided about the folder. `workspace/trust/get` returns the
/// decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceTrustChangedNotification {
    /// Whether the folder is trusted now.
    pub trusted: bool,
}
