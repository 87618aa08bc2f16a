//! The shapes of `device/*`.

use bobbin_native_wire::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Result of `device/list` and `device/revoke`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceListResult {
    /// The devices, in the order in which they were paired; at most 64.
    pub devices: Vec<DeviceInfo>,
}

/// A paired browser.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceInfo {
    /// Names it in `device/revoke`.
    pub id: String,
    /// Its name.
    pub label: String,
    /// When it was paired.
    pub created_at: Timestamp,
    /// When it last connected, to the minute.
    pub last_used_at: Timestamp,
    /// The person whose it is. Absent for the user of the server.
    pub person: Option<String>,
}

/// Parameters of `device/invite`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceInviteParams {
    /// The name that the device gets; without it, the name that the browser gives itself. At most 64 characters count.
    pub label: Option<String>,
    /// The person whose it will be, as `bobbin people` names it; the user of the server without one.
    pub person: Option<String>,
}

/// Result of `device/invite`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceInviteResult {
    /// The code, which counts once; absent where browsers need none.
    pub code: Option<String>,
    /// When it does not count any more.
    pub expires_at: Option<Timestamp>,
    /// The page's address on the server's machine. The code goes behind a `#`.
    pub page_url: String,
    /// The page's addresses on other machines, the best first; empty where none reaches it.
    pub remote_urls: Vec<String>,
}

/// Parameters of `device/revoke`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceRevokeParams {
    /// The ids of devices; all of them when left out. Unknown ids are ignored.
    pub ids: Option<Vec<String>>,
}
