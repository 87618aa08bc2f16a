//! Forwarded ports.

use std::num::NonZeroU16;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A port of a Thread's commands that is reached on the machine's loopback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Forward {
    /// Its id.
    pub forward_id: String,
    /// The Thread.
    pub thread_id: String,
    /// The port in the network of the Thread's commands.
    pub port: u16,
    /// Where programs connect, as `127.0.0.1:PORT`.
    pub address: String,
    /// The address for a browser, with an origin of the Thread's own: `http://THREAD.localhost:PORT/`.
    pub url: String,
}

/// Params of `forward/start`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardStartParams {
    /// The Thread.
    pub thread_id: String,
    /// The port that a command of the Thread listens on, now or later.
    pub port: NonZeroU16,
    /// The port on the machine. Default: the same, or a free one if that is taken, or is or was that of a Bobbin page.
    pub to: Option<NonZeroU16>,
}

/// Result of `forward/start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardResult {
    /// The forward.
    pub forward: Forward,
}

/// Params of `forward/list`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardListParams {
    /// Only those of this Thread.
    pub thread_id: Option<String>,
}

/// Result of `forward/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardListResult {
    /// The forwards.
    pub forwards: Vec<Forward>,
}

/// Params of `forward/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardStopParams {
    /// The forward.
    pub forward_id: String,
}

/// Result of `forward/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardStopResult {
    /// Whether there was one.
    pub stopped: bool,
}

/// Params of `forward/ended`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForwardEndedNotification {
    /// The forward.
    pub forward: Forward,
}
