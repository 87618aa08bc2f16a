//! The shapes of `doctor/run`.

use bobbin_agent_api::checks::DoctorFinding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of `doctor/run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorRunResult {
    /// The findings, in the order of the checks. Those of one subject follow each other.
    pub findings: Vec<DoctorFinding>,
}
