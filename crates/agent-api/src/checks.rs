//! Checks of this machine and workspace: what `bobbin doctor` asks a feature, and its findings.
//!
//! A check reads or tries something and changes nothing. Findings contain names of variables, never their values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The finding of one check.
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
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// The findings of the checks so far.
#[derive(Debug, Default)]
pub struct DoctorReport(pub Vec<DoctorFinding>);

impl DoctorReport {
    /// Adds a finding.
    pub fn add(&mut self, subject: &str, level: DoctorLevel, message: impl Into<String>) {
        self.0.push(DoctorFinding {
            level,
            subject: subject.to_owned(),
            message: message.into(),
            mend: None,
        });
    }

    /// Adds a finding with advice.
    pub fn add_mendable(
        &mut self,
        subject: &str,
        level: DoctorLevel,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.add(subject, level, message);
        if let Some(finding) = self.0.last_mut() {
            finding.mend = Some(mend.into());
        }
    }
}
