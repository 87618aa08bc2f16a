//! The handlers of `cron/*`.

use std::sync::Arc;

use bobbin_native::client::{Client, refuse};
use bobbin_peer::Responder;

use super::{schedule_out, wire, wire_error};
use crate::due::WhenMissed;
use crate::job::{Job, Key, Kind};
use crate::owner::Schedules;

fn key(id: String) -> Key {
    Key { kind: Kind::Cron, id }
}

pub(super) fn list(
    client: &Client,
    schedules: &Schedules,
    wire::CronListParams { include_disabled }: wire::CronListParams,
    responder: Responder,
) {
    let (schedules, all) = (schedules.clone(), include_disabled.unwrap_or(false));
    client.spawn(async move {
        let jobs = schedules
            .ask(|book, _| Ok((Vec::new(), book.jobs(Kind::Cron))))
            .await;
        match jobs {
            Ok(jobs) => responder.ok(wire::CronListResult {
                jobs: jobs
                    .iter()
                    .filter(|job| all || job.enabled)
                    .map(|job| info(job))
                    .collect(),
            }),
            Err(error) => refuse(responder, wire_error(Kind::Cron, &error)),
        }
    });
}

pub(super) async fn remove(
    client: &Client,
    schedules: &Schedules,
    wire::CronJobParams { job_id, .. }: wire::CronJobParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |removed| match removed {
        Ok(()) => first.ok(&wire::CronRemoveResult { removed: true }),
        Err(error) => first.err(wire_error(Kind::Cron, &error)),
    };
    schedules.submit(|book, _| book.remove(key(job_id)), reply).await;
}

pub(super) async fn enable(
    client: &Client,
    schedules: &Schedules,
    params: wire::CronEnableParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |job: Result<Arc<Job>, _>| match job {
        Ok(job) => first.ok(&wire::CronEnableResult { job: info(&job) }),
        Err(error) => first.err(wire_error(Kind::Cron, &error)),
    };
    schedules
        .submit(
            move |book, now| book.enable(&params.job_id, params.enabled, now),
            reply,
        )
        .await;
}

pub(super) async fn run(
    client: &Client,
    schedules: &Schedules,
    wire::CronJobParams { job_id, .. }: wire::CronJobParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |run: Result<(Arc<Job>, bool), _>| match run {
        Ok((job, queued)) => first.ok(&wire::CronRunResult {
            queued,
            job: info(&job),
        }),
        Err(error) => first.err(wire_error(Kind::Cron, &error)),
    };
    schedules
        .submit(move |book, now| book.run_now(&key(job_id), now), reply)
        .await;
}

/// Returns a job as clients see it.
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
        when_missed: match job.when_missed {
            WhenMissed::Run => wire::MissedRun::Run,
            WhenMissed::Skip => wire::MissedRun::Skip,
        },
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
