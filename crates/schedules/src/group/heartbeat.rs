//! The handler of `heartbeat/trigger`, and the results of jobs as clients get them.

use bobbin_native::client::Client;
use bobbin_native::wire::{JobResultNotification, JobSource, JobTokenUsage};
use bobbin_peer::Responder;

use super::{wire, wire_error};
use crate::job::{Job, Kind, RunEnd};
use crate::owner::Schedules;

/// The notification of the end of a run; its row is in the group of the system.
pub(super) const JOB_RESULT: &str = "system/jobResult";

pub(super) fn trigger(
    client: &Client,
    schedules: &Schedules,
    _: wire::HeartbeatTriggerParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (schedules, peer) = (schedules.clone(), client.peer().clone());
    client.spawn(async move {
        let ended = tokio::select! {
            // The run goes on.
            () = peer.closed() => return,
            ended = schedules.beat() => ended,
        };
        match ended {
            Ok(end) => first.ok(&wire::HeartbeatTriggerResult {
                result: end.result,
                error: end.error,
            }),
            Err(error) => first.err(wire_error(Kind::Heartbeat, &error)),
        }
    });
}

/// Returns what clients hear of the end of a run, if they are to.
pub(super) fn result(job: &Job, end: &RunEnd) -> Option<JobResultNotification> {
    let source = match job.kind {
        Kind::Cron => JobSource::Cron,
        Kind::Heartbeat if end.result.is_some() || end.error.is_some() => JobSource::Heartbeat,
        // Of a task, clients hear that it has changed.
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
