//! Checks the running server, or the database if none runs.

use std::fmt::Write as _;
use std::time::Duration;

use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_config::Config;
use bobbin_store::Store;
use bobbin_store_postgres::{COPIED, Health, Nodes};
use bobbin_store_sqlite::{Options, SqliteStore};
use bobbin_workspace::Workspace;

use crate::database::{access, holder};

/// Time of one question to a database from which each start of a Turn is felt: it has several.
const SLOW: Duration = Duration::from_millis(20);

/// The advice for a damaged database.
const SAVE: &str = "move bobbin.db* from the state directory to a safe place, then `bobbin import` takes in what can be \
                    read (docs/troubleshooting.md)";

fn bad(report: &mut DoctorReport, message: String) {
    report.add_mendable("database", DoctorLevel::Error, message, SAVE);
}

/// Reports whether a server runs here and whether the database is sound.
pub(super) async fn database(workspace: &Workspace, config: Option<&Config>, report: &mut DoctorReport) {
    let is_elsewhere = config.is_some_and(|config| config.database.url.is_some());
    if let Some(config) = config.filter(|_| is_elsewhere) {
        postgres(workspace, config, report).await;
    }
    if let Some(holder) = workspace.holder() {
        let place = holder.address.unwrap_or_else(|| "stdio only".to_owned());
        report.add(
            "server",
            DoctorLevel::Ok,
            format!("running, process {}, {place}", holder.pid),
        );
        if holder.pid != std::process::id() && !is_elsewhere {
            report.add(
                "database",
                DoctorLevel::Warning,
                "in use by the running server; not checked",
            );
        }
        return;
    }
    report.add("server", DoctorLevel::Warning, "not running");
    if is_elsewhere {
        return;
    }
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

/// Reports whether the configured PostgreSQL can be used.
async fn postgres(workspace: &Workspace, config: &Config, report: &mut DoctorReport) {
    let access = match access(config) {
        Ok(Some(access)) => access,
        Ok(None) => return,
        Err(error) => return report.add("database", DoctorLevel::Error, format!("{error:#}")),
    };
    match Health::of(&access).await {
        Ok(health) => {
            findings(&access.to_string(), &health, report);
            let Ok(own) = holder(workspace.state_directory()) else {
                return;
            };
            // A database without tables knows no other machine.
            let namesake = Nodes::new(access).namesake(&own).await;
            if let Ok(Some(machine)) = namesake {
                report.add_mendable(
                    "database",
                    DoctorLevel::Error,
                    format!("{machine} has the same state directory as this machine"),
                    COPIED,
                );
            }
        }
        Err(why) => report.add_mendable(
            "database",
            DoctorLevel::Error,
            format!("{access}: {why}"),
            "look at Database.Url, at the password, and whether the database runs and lets this machine in",
        ),
    }
}

fn findings(database: &str, health: &Health, report: &mut DoctorReport) {
    let mut bad = |what: &str, mend: &str| {
        report.add_mendable("database", DoctorLevel::Error, format!("{database} {what}"), mend);
    };
    if !health.is_supported {
        bad(
            &format!("is PostgreSQL {}", health.version),
            "Bobbin needs PostgreSQL 14 or later",
        );
    }
    if !health.takes_writes {
        bad(
            "is a standby and takes no writes",
            "name the primary in Database.Url",
        );
    }
    if !health.may_create {
        bad(
            "does not let this user make tables",
            "GRANT CREATE, USAGE ON SCHEMA public TO the user of Database.Url, or make it the owner of the database",
        );
    }
    if !health.has_search {
        bad(
            "does not have the extension pg_trgm, and this user may not add it",
            "install PostgreSQL's contrib modules and run CREATE EXTENSION pg_trgm as an administrator",
        );
    }
    let milliseconds = health.round_trip.as_secs_f64() * 1000.0;
    let encrypted = if health.is_encrypted {
        ""
    } else {
        ", not encrypted"
    };
    let mut text = format!(
        "{database}: PostgreSQL {}, answers in {milliseconds:.1} ms{encrypted}",
        health.version
    );
    if let Some(lag) = health.standby_lag {
        // Writing to a string cannot fail.
        let _ = write!(text, ", its slowest standby is {:.1} s behind", lag.as_secs_f64());
    }
    let level = match health.round_trip {
        slow if slow > SLOW => DoctorLevel::Warning,
        _ => DoctorLevel::Ok,
    };
    report.add("database", level, text);
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::checks::DoctorFinding;

    use super::*;

    fn found(health: &Health) -> Vec<(DoctorLevel, String)> {
        let mut report = DoctorReport::default();
        findings("db.example:5432/tea", health, &mut report);
        let finding = |finding: &DoctorFinding| (finding.level, finding.message.clone());
        report.0.iter().map(finding).collect()
    }

    #[test]
    fn each_problem_of_a_database_is_a_finding() {
        let good = Health {
            version: "16.4".into(),
            is_supported: true,
            round_trip: Duration::from_micros(1500),
            is_encrypted: true,
            takes_writes: true,
            may_create: true,
            has_search: true,
            standby_lag: Some(Duration::from_millis(2500)),
        };
        let text =
            "db.example:5432/tea: PostgreSQL 16.4, answers in 1.5 ms, its slowest standby is 2.5 s behind";
        assert_eq!(found(&good), [(DoctorLevel::Ok, text.to_owned())]);
        let slow = Health {
            round_trip: Duration::from_millis(90),
            is_encrypted: false,
            standby_lag: None,
            ..good.clone()
        };
        let text = "db.example:5432/tea: PostgreSQL 16.4, answers in 90.0 ms, not encrypted";
        assert_eq!(found(&slow), [(DoctorLevel::Warning, text.to_owned())]);
        let bad = Health {
            is_supported: false,
            takes_writes: false,
            may_create: false,
            has_search: false,
            ..good
        };
        let errors = found(&bad)
            .into_iter()
            .filter(|found| found.0 == DoctorLevel::Error);
        assert_eq!(errors.count(), 4);
    }
}
