//! The handlers of `cron/*`.

use std::sync::Arc;

use bobbin_native::client::Client;
use bobbin_peer::Responder;

use super::{change, read, schedule_out};
use crate::book::Book;
use crate::group::types::{
    CronEnableParams, CronEnableResult, CronJobInfo, CronJobParams, CronJobState, CronListParams,
    CronListResult, CronRemoveResult, CronRunResult, CronRunStatus, OverlappingRun,
};
use crate::job::{Job, Key, Kind};
use crate::owner::Schedules;

pub(super) fn list(
    client: &Client,
    schedules: &Schedules,
    CronListParams { include_disabled }: CronListParams,
    responder: Responder,
) {
    let all = include_disabled.unwrap_or(false);
    let list = move |book: &Book| {
        let jobs = book.jobs(Kind::Cron).into_iter();
        let listed = jobs.filter(|job| all || job.enabled);
        Ok(CronListResult {
            jobs: listed.map(|job| info(&job)).collect(),
        })
    };
    read(client, schedules, Kind::Cron, responder, list);
}

pub(super) async fn remove(
    client: &Client,
    schedules: &Schedules,
    CronJobParams { job_id, .. }: CronJobParams,
    responder: Responder,
) {
    let decide = |book: &Book, _| book.remove(Key::new(Kind::Cron, job_id));
    let answer = |()| CronRemoveResult { removed: true };
    change(client, schedules, Kind::Cron, responder, decide, answer).await;
}

pub(super) async fn enable(
    client: &Client,
    schedules: &Schedules,
    CronEnableParams { job_id, enabled, .. }: CronEnableParams,
    responder: Responder,
) {
    let decide = move |book: &Book, now| book.enable(&job_id, enabled, now);
    let answer = |job: Arc<Job>| CronEnableResult { job: info(&job) };
    change(client, schedules, Kind::Cron, responder, decide, answer).await;
}

pub(super) async fn run(
    client: &Client,
    schedules: &Schedules,
    CronJobParams { job_id, .. }: CronJobParams,
    responder: Responder,
) {
    let decide = |book: &Book, now| book.run_now(&Key::new(Kind::Cron, job_id), now);
    let answer = |(job, queued): (Arc<Job>, bool)| CronRunResult {
        queued,
        job: info(&job),
    };
    change(client, schedules, Kind::Cron, responder, decide, answer).await;
}

/// Converts a job for the wire.
pub(super) fn info(job: &Job) -> CronJobInfo {
    let state = &job.state;
    let running = state.run.as_ref().and_then(|run| run.thread.as_ref());
    let thread = running.or(state.thread.as_ref());
    CronJobInfo {
        id: job.id.clone(),
        name: job.name.clone(),
        schedule: job.schedule.as_ref().map(schedule_out).unwrap_or_default(),
        enabled: job.enabled,
        created_at_ms: job.created_at.0,
        delete_after_run: job.delete_after_run,
        when_missed: job.when_missed,
        when_running: OverlappingRun::Skip,
        state: CronJobState {
            next_run_at_ms: state.due.map(|due| due.0),
            last_run_at_ms: state.last_run_at.map(|at| at.0),
            last_status: state.last_ok.map(|ok| {
                if ok {
                    CronRunStatus::Ok
                } else {
                    CronRunStatus::Error
                }
            }),
            last_error: state.last_error.clone(),
            last_thread_id: thread.map(ToString::to_string),
            last_result: state.last_result.clone(),
            running: state.run.is_some().then_some(true),
            note: state.note.clone(),
        },
    }
}
