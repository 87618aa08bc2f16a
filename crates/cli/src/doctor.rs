//! `bobbin doctor`: prints what works here and what does not, and what to do about it.

use std::path::PathBuf;
use std::process::ExitCode;

use bobbin_agent_api::checks::{DoctorFinding, DoctorLevel};
use bobbin_server::{console, exit};
use clap::Args;
use serde_json::json;

/// Arguments of `bobbin doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The workspace; the one around the current directory when left out.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs every check; exits with 1 when one is bad.
pub(crate) async fn run(doctor: Doctor) -> anyhow::Result<ExitCode> {
    let findings = bobbin_server::doctor::run(doctor.workspace.as_deref()).await;
    let healthy = findings.iter().all(|finding| finding.level != DoctorLevel::Error);
    if doctor.json {
        let checks: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({ "check": finding.subject, "verdict": verdict(finding.level), "text": text(finding) })
            })
            .collect();
        console::data(&json!({ "healthy": healthy, "checks": checks }));
    } else {
        for finding in &findings {
            let (verdict, subject) = (verdict(finding.level), &finding.subject);
            console::say(&format!("{verdict:5} {subject:14} {}", text(finding)));
        }
    }
    Ok(if healthy {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(exit::FAILED)
    })
}

fn verdict(level: DoctorLevel) -> &'static str {
    match level {
        DoctorLevel::Error => "bad",
        DoctorLevel::Warning => "note",
        DoctorLevel::Ok => "ok",
    }
}

fn text(DoctorFinding { message, mend, .. }: &DoctorFinding) -> String {
    match mend {
        Some(mend) => format!("{message}; {mend}"),
        None => message.clone(),
    }
}
