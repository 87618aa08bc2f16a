//! The handler of `heartbeat/trigger`, and the notification of a job's result.

use crate::group::types::{HeartbeatTriggerParams, HeartbeatTriggerResult};
use bobbin_native::client::Client;
use bobbin_native_wire::system::types::{JobResultNotification, JobSource, JobTokenUsage};
use bobbin_peer::Responder;

use super::wire_error;
use crate::job::{Job, Kind, RunEnd};
use crate::owner::Schedules;

/// Method of the notification that a run has ended; its row is in the system group.
pub(super) const JOB_RESULT: &str = "system/jobResult";

pub(super) fn trigger(
    client: &Client,
    schedules: &Schedules,
    _: HeartbeatTriggerParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (schedules, peer) = (schedules.clone(), client.peer().clone());
    client.spawn(async move {
        let ended = tokio::select! {
            // The client left; the run goes on.
            () = peer.closed() => return,
            ended = schedules.beat() => ended,
        };
        match ended {
            Ok(end) => first.ok(&HeartbeatTriggerResult {
                result: end.result,
                error: end.error,
            }),
            Err(error) => first.err(wire_error(Kind::Heartbeat, &error)),
        }
    });
}

/// Returns the notification of a run's end, for kinds of jobs that have one.
pub(super) fn result(job: &Job, end: &RunEnd) -> Option<JobResultNotification> {
    let source = match job.kind {
        Kind::Cron => JobSource::Cron,
        Kind::Heartbeat if end.result.is_some() || end.error.is_some() => JobSource::Heartbeat,
        // A task has `automation/task/updated`; a heartbeat that did nothing has no result.
        Kind::Heartbeat | Kind::Task => return None,
    };
    let is_cron = job.kind == Kind::Cron;
    let used = (end.input_tokens, end.output_tokens) != (0, 0);
    Some(JobResultNotification {
        source,
        job_id: is_cron.then(|| job.id.clone()),
        job_name: is_cron.then(|| job.name.clone()),
        thread_id: end.thread.as_ref().map(ToString::to_string),
        result: end.result.clone(),
        error: end.error.clone(),
        token_usage: used.then_some(JobTokenUsage {
            input_tokens: end.input_tokens,
            output_tokens: end.output_tokens,
        }),
    })
}
