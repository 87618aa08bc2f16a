//! Retention: Threads without activity are archived, and archived ones deleted, as the user's own configuration says.
//!
//! The workspace is looked through when the server starts, and every few hours. A Thread that runs or waits for an answer stays as it
//! is. Worktrees stay: they can have changes that no Thread has.

pub mod settings;

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::{Beforehand, Command, CoreError, ListFilter, Reply, ThreadSummary, Threads};
use bobbin_model::state::StatusChange;
use bobbin_model::{ThreadId, ThreadStatus, UnixMillis};

use crate::settings::RetentionSettings;

/// Pause between two looks.
const PAUSE: Duration = Duration::from_hours(6);
/// Threads that are read at once.
const PAGE: u32 = 100;
/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Starts to archive and delete old Threads. The Threads join the task when they stop.
pub fn start(settings: RetentionSettings, threads: &Arc<Threads>) {
    let of = threads.clone();
    threads.own(async move {
        let stopping = of.stopping().clone();
        let work = async {
            loop {
                if let Err(error) = look(settings, &of).await {
                    tracing::warn!(%error, "old Threads are not archived or deleted now");
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        stopping.run_until_cancelled(work).await;
    });
}

/// Looks through the Threads once.
///
/// # Errors
/// The Threads cannot be read. An error of one Thread is logged, and the others are looked at.
pub async fn look(settings: RetentionSettings, threads: &Arc<Threads>) -> Result<(), CoreError> {
    if let Some(days) = settings.delete_archived_after_days {
        let is_archived = |status| status == ThreadStatus::Archived;
        each(threads, days, is_archived, |reply| Command::Delete { reply }).await?;
    }
    if let Some(days) = settings.archive_after_days {
        let is_there = |status| status != ThreadStatus::Archived;
        let archive = |reply| Command::Status {
            change: StatusChange::Archive,
            reply,
        };
        each(threads, days, is_there, archive).await?;
    }
    Ok(())
}

/// Applies a command to each Thread without activity for so many days, and to its subagents.
async fn each(
    threads: &Arc<Threads>,
    days: u32,
    is_meant: impl Fn(ThreadStatus) -> bool,
    command: impl Fn(Reply<()>) -> Command + Send + Sync,
) -> Result<(), CoreError> {
    let limit = threads.clock().now().0 - i64::from(days) * DAY;
    let mut after = (UnixMillis(limit), ThreadId::new(""));
    loop {
        let filter = ListFilter {
            workspace_path: threads.settings().workspace.to_string_lossy().into_owned(),
            every_user: true,
            include_archived: true,
            after: Some(after),
            limit: Some(PAGE),
            ..ListFilter::default()
        };
        let page = threads.list(filter).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = (last.header.last_active_at, last.header.id.clone());
        for ThreadSummary { header, runtime, .. } in &page {
            let is_busy = runtime.running || runtime.waiting_on_plan_confirmation;
            if is_busy || !is_meant(header.status) {
                continue;
            }
            match apply(threads, &header.id, &command).await {
                Ok(()) => tracing::info!(thread = %header.id, days, "an old Thread was archived or deleted"),
                Err(error) => tracing::warn!(thread = %header.id, %error, "an old Thread stays"),
            }
        }
    }
}

async fn apply(
    threads: &Arc<Threads>,
    id: &ThreadId,
    command: &(impl Fn(Reply<()>) -> Command + Send + Sync),
) -> Result<(), CoreError> {
    threads.for_descendants(id, Beforehand::Nothing, command).await?;
    threads.thread(id).await?.ask(command).await
}
