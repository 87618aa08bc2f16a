//! `cron/*`, `heartbeat/*` and `automation/*` of the native dialect (AppServer protocol 05 §2, §3, §12).

mod automation;
mod cron;
#[cfg(test)]
mod examples;
mod heartbeat;
mod types;

/// The shapes of the groups, each by its name.
pub mod wire {
    pub use super::types::*;
    pub use bobbin_native::wire::*;
}

use bobbin_core::WireMessage;
use bobbin_model::UnixMillis;
use bobbin_native::client::{Answer, Client, refuse};
use bobbin_native::group::{Group, rows};
use bobbin_native::message;
use bobbin_peer::Responder;
use serde::Serialize;

use self::heartbeat::JOB_RESULT;
use crate::book::{Book, Decided, Refused};
use crate::job::{Job, Kind};
use crate::owner::{Gone, News, ScheduleError, Schedules};
use crate::run::JobEnded;
use crate::schedule::Schedule;
use wire::{
    AutomationOkResult, AutomationTaskCreateParams, AutomationTaskCreateResult, AutomationTaskListParams,
    AutomationTaskListResult, AutomationTaskParams, AutomationTaskReadParams, AutomationTaskReadResult,
    AutomationTaskResult, AutomationTaskUpdateBindingParams, AutomationTaskUpdatedNotification,
    AutomationTemplateDeleteParams, AutomationTemplateListParams, AutomationTemplateListResult,
    AutomationTemplateResult, AutomationTemplateSaveParams, CronEnableParams, CronEnableResult,
    CronJobParams, CronListParams, CronListResult, CronRemoveResult, CronRunResult,
    CronStateChangedNotification, HeartbeatTriggerParams, HeartbeatTriggerResult, JobSchedule, RpcError,
};

const CRON_STATE_CHANGED: &str = "cron/stateChanged";
const TASK_UPDATED: &str = "automation/task/updated";

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&CRON, &HEARTBEAT, &AUTOMATION];

/// `cron/*`, and the notifications of all jobs.
static CRON: Group = Group {
    methods: rows! {
        request "cron/list" (CronListParams => CronListResult) [] now_with(of Schedules) cron::list:
            "Lists the jobs that agents made.";
        request "cron/remove" (CronJobParams => CronRemoveResult)
            [CronJobNotFound] wait_with(of Schedules) cron::remove: "Removes a job. A run of it goes on.";
        request "cron/enable" (CronEnableParams => CronEnableResult)
            [CronJobNotFound] wait_with(of Schedules) cron::enable: "Switches a job on or off.";
        request "cron/run" (CronJobParams => CronRunResult)
            [CronJobNotFound] wait_with(of Schedules) cron::run: "Has a job run as soon as there is room.";
        notification CRON_STATE_CHANGED (CronStateChangedNotification): "A job is new, has changed or is gone.";
    },
    capabilities: |server, capabilities| {
        capabilities.cron_management = server.services().others.get::<Schedules>().is_some();
    },
    broadcast: |news, _| {
        let ended = news.get::<JobEnded>().and_then(|JobEnded(job, end)| {
            let result = heartbeat::result(job, end)?;
            Some(message(JOB_RESULT, &result))
        });
        ended.or_else(|| news.get::<News>().map(News::encode))
    },
    ..Group::EMPTY
};

/// `heartbeat/*`.
static HEARTBEAT: Group = Group {
    methods: rows! {
        request "heartbeat/trigger" (HeartbeatTriggerParams => HeartbeatTriggerResult)
            [] now_with(of Schedules) heartbeat::trigger:
            "Runs what HEARTBEAT.md says, and answers when the run ends.";
    },
    capabilities: |server, capabilities| {
        capabilities.heartbeat_management = server.services().others.get::<Schedules>().is_some();
    },
    ..Group::EMPTY
};

/// `automation/*`.
static AUTOMATION: Group = Group {
    methods: rows! {
        request "automation/task/list" (AutomationTaskListParams => AutomationTaskListResult)
            [] now_with(of Schedules) automation::list: "Lists the tasks.";
        request "automation/task/read" (AutomationTaskReadParams => AutomationTaskReadResult)
            [TaskNotFound] now_with(of Schedules) automation::read: "Reads a task.";
        request "automation/task/create" (AutomationTaskCreateParams => AutomationTaskCreateResult)
            [TaskExists, BindingInvalid] now_with(of Schedules) automation::create:
            "Makes a task. One without a schedule runs once, at once.";
        request "automation/task/run" (AutomationTaskParams => AutomationTaskResult)
            [TaskNotFound, TaskStateInvalid] wait_with(of Schedules) automation::run:
            "Has a task run as soon as there is room.";
        request "automation/task/delete" (AutomationTaskParams => AutomationOkResult)
            [TaskNotFound, TaskStateInvalid] wait_with(of Schedules) automation::delete: "Deletes a task.";
        request "automation/task/updateBinding" (AutomationTaskUpdateBindingParams => AutomationTaskResult)
            [TaskNotFound, TaskStateInvalid, BindingInvalid] now_with(of Schedules) automation::bind:
            "Says which Thread a task runs in.";
        request "automation/template/list" (AutomationTemplateListParams => AutomationTemplateListResult)
            [] now_with(of Schedules) automation::templates: "Lists the templates.";
        request "automation/template/save" (AutomationTemplateSaveParams => AutomationTemplateResult)
            [] wait_with(of Schedules) automation::save: "Saves a template of the user.";
        request "automation/template/delete" (AutomationTemplateDeleteParams => AutomationOkResult)
            [] wait_with(of Schedules) automation::delete_template: "Deletes a template of the user.";
        notification TASK_UPDATED (AutomationTaskUpdatedNotification): "A task is new or has changed.";
    },
    capabilities: |server, capabilities| {
        capabilities.automations = server.services().others.get::<Schedules>().is_some();
    },
    ..Group::EMPTY
};

/// A job in the shape of the wire.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Job(wire::CronJobInfo),
    Task(wire::AutomationTask),
}

/// Converts a job to the shape that clients see.
pub(crate) fn seen(job: &Job) -> Seen {
    match job.kind {
        Kind::Task => Seen::Task(automation::task(job)),
        Kind::Cron | Kind::Heartbeat => Seen::Job(cron::info(job)),
    }
}

impl News {
    /// Returns the notification.
    fn encode(&self) -> WireMessage {
        match seen(&self.job) {
            Seen::Job(job) => message(
                CRON_STATE_CHANGED,
                &CronStateChangedNotification {
                    job,
                    removed: self.gone == Gone::Yes,
                },
            ),
            Seen::Task(task) => message(
                TASK_UPDATED,
                &AutomationTaskUpdatedNotification {
                    workspace_path: self.root.to_string(),
                    task,
                },
            ),
        }
    }
}

fn schedule_out(schedule: &Schedule) -> JobSchedule {
    match schedule.clone() {
        Schedule::Every {
            every_ms,
            initial_delay_ms,
        } => JobSchedule {
            kind: "every".to_owned(),
            every_ms: Some(every_ms),
            initial_delay_ms,
            ..JobSchedule::default()
        },
        Schedule::At { at_ms } => JobSchedule {
            kind: "at".to_owned(),
            at_ms: Some(at_ms),
            ..JobSchedule::default()
        },
        Schedule::Daily {
            daily_hour,
            daily_minute,
            tz,
        } => JobSchedule {
            kind: "daily".to_owned(),
            daily_hour: Some(daily_hour),
            daily_minute: Some(daily_minute),
            tz,
            ..JobSchedule::default()
        },
        Schedule::Cron { expr, tz } => JobSchedule {
            kind: "cron".to_owned(),
            expr: Some(expr),
            tz,
            ..JobSchedule::default()
        },
    }
}

/// Converts a schedule from the wire; `None` means `once`.
fn schedule_in(schedule: Option<JobSchedule>) -> Result<Option<Schedule>, Refused> {
    let Some(schedule) = schedule else { return Ok(None) };
    let missing = |member: &str| {
        Refused::Invalid(format!(
            "'{member}' is needed in a schedule of kind '{}'.",
            schedule.kind
        ))
    };
    let tz = schedule.tz.clone().filter(|zone| !zone.trim().is_empty());
    let read = match schedule.kind.trim().to_lowercase().as_str() {
        "" | "once" => return Ok(None),
        "every" => Schedule::Every {
            every_ms: schedule.every_ms.ok_or_else(|| missing("everyMs"))?,
            initial_delay_ms: schedule.initial_delay_ms,
        },
        "at" => Schedule::At {
            at_ms: schedule.at_ms.ok_or_else(|| missing("atMs"))?,
        },
        "daily" => Schedule::Daily {
            daily_hour: schedule.daily_hour.ok_or_else(|| missing("dailyHour"))?,
            daily_minute: schedule.daily_minute.unwrap_or(0),
            tz,
        },
        "cron" => Schedule::Cron {
            expr: schedule.expr.clone().ok_or_else(|| missing("expr"))?,
            tz,
        },
        _ => {
            return Err(Refused::Invalid(
                "The kind of a schedule is 'every', 'at', 'daily' or 'cron'.".to_owned(),
            ));
        }
    };
    Ok(Some(read))
}

/// Answers a request that only reads; `kind` is the kind of job that errors name.
fn read<R: Serialize + Send + 'static>(
    client: &Client,
    schedules: &Schedules,
    kind: Kind,
    responder: Responder,
    read: impl FnOnce(&Book) -> Result<R, Refused> + Send + 'static,
) {
    let schedules = schedules.clone();
    client.spawn(async move {
        match schedules.ask(|book, _| Ok((Vec::new(), read(book)?))).await {
            Ok(result) => responder.ok(result),
            Err(error) => refuse(responder, wire_error(kind, &error)),
        }
    });
}

/// Runs a changing request once, and answers with `answer` of its result.
async fn change<D: Send + 'static, R: Serialize>(
    client: &Client,
    schedules: &Schedules,
    kind: Kind,
    responder: Responder,
    decide: impl FnOnce(&Book, UnixMillis) -> Decided<D> + Send + 'static,
    answer: impl FnOnce(D) -> R + Send + 'static,
) {
    if let Some(first) = client.first_time(responder) {
        schedules.submit(decide, reply(first, kind, answer)).await;
    }
}

/// Returns the callback that answers a request after its decision.
fn reply<D, R: Serialize>(
    first: Answer,
    kind: Kind,
    answer: impl FnOnce(D) -> R + Send + 'static,
) -> impl FnOnce(Result<D, ScheduleError>) + Send + 'static {
    move |decided| match decided {
        Ok(decided) => first.ok(&answer(decided)),
        Err(error) => first.err(wire_error(kind, &error)),
    }
}

/// Converts an error for the wire; `kind` is the kind of job that the request is about.
fn wire_error(kind: Kind, error: &ScheduleError) -> RpcError {
    let refused = match error {
        ScheduleError::Refused(refused) => refused,
        ScheduleError::Store(error) => {
            tracing::error!(%error, "a change of jobs cannot be stored");
            return RpcError::internal_error("The change could not be stored.");
        }
        ScheduleError::Stopping => return RpcError::internal_error("The server is shutting down."),
    };
    match (refused, kind) {
        (Refused::Unknown(id), Kind::Cron | Kind::Heartbeat) => RpcError::cron_job_not_found(id),
        (Refused::Unknown(id), Kind::Task) => RpcError::task_not_found(id),
        (Refused::Exists(id), _) => RpcError::task_exists(id),
        (Refused::Binding(thread), _) => RpcError::binding_invalid(thread),
        (Refused::Invalid(why), _) => RpcError::invalid_params(why),
        (Refused::NotNow(why), _) => RpcError::task_state_invalid(why),
    }
}
