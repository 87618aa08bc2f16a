//! Checks whether Turns can be undone.

use std::path::Path;
use std::sync::Arc;

use bobbin_agent_api::SystemClock;
use bobbin_agent_api::checks::{DoctorLevel, DoctorReport};
use bobbin_children::{Children, Environment};

use crate::FileUndo;

/// Reports whether Turns can be undone, by opening snapshots of `root` in the temporary directory `place`.
pub async fn check(
    root: &Path,
    (children, environment): (Children, &Environment),
    place: &Path,
    report: &mut DoctorReport,
) {
    match FileUndo::open(place, root, children, environment, Arc::new(SystemClock)).await {
        Ok(undo) => {
            undo.end().await;
            report.add("undo", DoctorLevel::Ok, "turns can be undone");
        }
        Err(error) => {
            let text = format!("turns cannot be undone: {error}");
            report.add("undo", DoctorLevel::Warning, text);
        }
    }
}
