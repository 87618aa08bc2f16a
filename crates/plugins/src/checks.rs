//! Checks of plugins.

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_workspace::TrustRecord;

use crate::discovery::{Place, problems};
use crate::group::wire::DiagnosticSeverity;
use crate::settings::PluginSettings;

/// Reports problems of plugins. Blocks on the disk.
pub fn check(place: &Place, settings: &PluginSettings, record: &TrustRecord, report: &mut DoctorReport) {
    for problem in problems(place, settings, record) {
        let level = match problem.severity {
            DiagnosticSeverity::Error => DoctorLevel::Error,
            DiagnosticSeverity::Warning => DoctorLevel::Warning,
            DiagnosticSeverity::Info => continue,
        };
        let id = problem.plugin_id.map(|id| format!("{id}: ")).unwrap_or_default();
        let path = problem.path.map(|path| format!("{path}: ")).unwrap_or_default();
        report.add("plugins", level, format!("{id}{path}{}", problem.message));
    }
}
