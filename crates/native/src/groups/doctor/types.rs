//! The shapes of `doctor/run`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// Result of `doctor/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorRunResult {
    /// What was found, in the order of the checks. Those of one subject follow each other.
    pub findings: Vec<DoctorFinding>,
}

/// What one check has found.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    /// How good or bad it is.
    pub level: DoctorLevel,
    /// What was checked, in a word or two, as `sandbox` or `MCP server`.
    pub subject: String,
    /// What was found, for users. It has no secret in it.
    pub message: String,
    /// What mends it, where something does. Commands and settings stand between backquotes.
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
