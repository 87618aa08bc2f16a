//! The handlers of `cron/*`.

use std::sync::Arc;

use bobbin_native::client::Client;
use bobbin_peer::Responder;

use super::{change, read, schedule_out, wire};
use crate::book::Book;
use crate::job::{Job, Key, Kind};
use crate::owner::Schedules;

pub(super) fn list(
    client: &Client,
    schedules: &Schedules,
    wire::CronListParams { include_disabled }: wire::CronListParams,
    responder: Responder,
) {
    let all = include_disabled.unwrap_or(false);
    let list = move |book: &Book| {
        let jobs = book.jobs(Kind::Cron).into_iter();
        let listed = jobs.filter(|job| all || job.enabled);
        Ok(wire::CronListResult {
            jobs: listed.map(|job| info(&job)).collect(),
        })
    };
    read(client, schedules, Kind::Cron, responder, list);
}

pub(super) async fn remove(
    client: &Client,
    schedules: &Schedules,
    wire::CronJobParams { job_id, .. }: wire::CronJobParams,
    responder: Responder,
) {
    let decide = |book: &Book, _| book.remove(Key::new(Kind::Cron, job_id));
    let answer = |()| wire::CronRemoveResult { removed: true };
    change(client, schedules, Kind::Cron, responder, decide, answer).await;
}

pub(super) async fn enable(
    client: &Client,
    schedules: &Schedules,
    wire::CronEnableParams { job_id, enabled, .. }: wire::CronEnableParams,
    responder: Responder,
) {
    let decide = move |book: &Book, now| book.enable(&job_id, enabled, now);
    let answer = |job: Arc<Job>| wire::CronEnableResult { job: info(&job) };
    change(client, schedules, Kind::Cron, responder, decide, answer).await;
}

pub(super) async fn run(
    client: &Client,
    schedules: &Schedules,
    wire::CronJobParams { job_id, .. }: wire::CronJobParams,
    responder: Responder,
) {
    let decide = |book: &Book, now| book.run_now(&Key::new(Kind::Cron, job_id), now);
    let answer = |(job, queued): (Arc<Job>, bool)| wire::CronRunResult {
        queued,
        job: info(&job),
    };
    change(client, schedules, Kind::Cron, responder, decide, answer).await;
}

/// Converts a job for the wire.
pub(super) fn info(job: &Job) -> wire::CronJobInfo {
    let state = &job.state;
    let running = state.run.as_ref().and_then(|run| run.thread.as_ref());
    let thread = running.or(state.thread.as_ref());
    wire::CronJobInfo {
        id: job.id.clone(),
        name: job.name.clone(),
        schedule: job.schedule.as_ref().map(schedule_out).unwrap_or_default(),
        enabled: job.enabled,
        created_at_ms: job.created_at.0,
        delete_after_run: job.delete_after_run,
        when_missed: job.when_missed,
        when_running: wire::OverlappingRun::Skip,
        state: wire::CronJobState {
            next_run_at_ms: state.due.map(|due| due.0),
            last_run_at_ms: state.last_run_at.map(|at| at.0),
            last_status: state.last_ok.map(|ok| {
                if ok {
                    wire::CronRunStatus::Ok
                } else {
                    wire::CronRunStatus::Error
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
