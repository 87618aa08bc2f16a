//! Checks the running server, or the database if none runs.

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_store::Store;
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_workspace::Workspace;

/// The advice for a damaged database.
const SAVE: &str = "move bobbin.db* from the state directory to a safe place, then `bobbin import` takes in what can be \
                    read (docs/troubleshooting.md)";

fn bad(report: &mut DoctorReport, message: String) {
    report.add_mendable("database", DoctorLevel::Error, message, SAVE);
}

/// Reports whether a server runs here and whether the database is sound.
pub(super) async fn database(workspace: &Workspace, report: &mut DoctorReport) {
    if let Some(holder) = workspace.holder() {
        let place = holder.address.unwrap_or_else(|| "stdio only".to_owned());
        report.add(
            "server",
            DoctorLevel::Ok,
            format!("running, process {}, {place}", holder.pid),
        );
        if holder.pid != std::process::id() {
            report.add(
                "database",
                DoctorLevel::Warning,
                "in use by the running server; not checked",
            );
        }
        return;
    }
    report.add("server", DoctorLevel::Warning, "not running");
    if !workspace.database().exists() {
        report.add(
            "database",
            DoctorLevel::Warning,
            "none yet; made at the first start",
        );
        return;
    }
    let held = match workspace.hold().await {
        Ok(held) => held,
        Err(error) => return report.add("database", DoctorLevel::Error, format!("{error:#}")),
    };
    match SqliteStore::open(&workspace.database(), Options::default()).await {
        Ok(store) => {
            let version = store.sqlite_version().await.unwrap_or_else(|_| "?".to_owned());
            match store.check().await {
                Ok(faults) if faults.is_empty() => {
                    report.add("database", DoctorLevel::Ok, format!("sound, SQLite {version}"));
                }
                Ok(faults) => bad(report, faults.join("; ")),
                Err(error) => bad(report, error.to_string()),
            }
            store.close().await;
        }
        Err(error) => bad(report, error.to_string()),
    }
    drop(held);
}
