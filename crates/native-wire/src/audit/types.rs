//! Extension: `audit/list` and `audit/cut`, who did what in the workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::handshake::types::ClientRequestId;

/// Parameters of `audit/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditListParams {
    /// The number after which entries are listed; from the oldest when left out.
    pub after: Option<u64>,
    /// Most entries, up to 200, which is the default.
    pub limit: Option<u32>,
}

/// Result of `audit/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditListResult {
    /// The entries, oldest first; none if there are no more.
    pub rows: Vec<AuditRow>,
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditRow {
    /// Its number, from 1 without gaps.
    pub seq: u64,
    /// The entry as JSON, as it was hashed.
    pub entry: String,
    /// SHA-256, in hexadecimal digits, of the hash of the entry before, this number and this entry, with a line feed between
    /// them.
    pub hash: String,
}

/// Parameters of `audit/cut`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditCutParams {
    /// The number of the newest entry that is removed.
    pub up_to: u64,
    /// The client's name for this request.
    pub client_request_id: Option<ClientRequestId>,
}
