//! The section `Threads`, which counts in the user's own file only.

use anyhow::ensure;
use schemars::JsonSchema;
use serde::Deserialize;

/// Most days: ten years.
const MAX_DAYS: u32 = 3650;

/// Days after which old Threads are archived and deleted. Counts in your own file only.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct ThreadsSection {
    /// Days without activity after which a Thread is archived: 1 to 3,650. Not set: never.
    archive_after_days: Option<u32>,
    /// Days without activity after which an archived Thread is deleted with its subagents: 1 to 3,650. Not set: never.
    delete_archived_after_days: Option<u32>,
}

/// The settings of retention, checked. `None` is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetentionSettings {
    /// Days without activity after which a Thread is archived.
    pub archive_after_days: Option<u32>,
    /// Days without activity after which an archived Thread is deleted.
    pub delete_archived_after_days: Option<u32>,
}

impl ThreadsSection {
    /// Checks the section; `None` if nothing is archived or deleted.
    ///
    /// # Errors
    /// A number of days is out of range.
    pub fn check(self) -> anyhow::Result<Option<RetentionSettings>> {
        for (name, days) in [
            ("ArchiveAfterDays", self.archive_after_days),
            ("DeleteArchivedAfterDays", self.delete_archived_after_days),
        ] {
            ensure!(
                days.is_none_or(|days| (1..=MAX_DAYS).contains(&days)),
                "Threads.{name} is 1 to {MAX_DAYS}"
            );
        }
        let settings = RetentionSettings {
            archive_after_days: self.archive_after_days,
            delete_archived_after_days: self.delete_archived_after_days,
        };
        Ok((settings != RetentionSettings::default()).then_some(settings))
    }
}
