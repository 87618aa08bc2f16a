//! The shapes of `doctor/run`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Result of `doctor/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorRunResult {
    /// The findings, in the order of the checks. Those of one subject follow each other.
    pub findings: Vec<DoctorFinding>,
}

/// The finding of one check.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    /// How good or bad it is.
    pub level: DoctorLevel,
    /// The subject of the check, in a word or two, as `sandbox` or `MCP server`.
    pub subject: String,
    /// The finding, for users. It has no secret in it.
    pub message: String,
    /// The repair, if there is one. Commands and settings are in backquotes.
    pub mend: Option<String>,
}

/// How good or bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DoctorLevel {
    /// It works.
    Ok,
    /// It works with a limit that is worth knowing.
    Warning,
    /// It does not work.
    Error,
}
