//! `cron/*`, `heartbeat/*` and `automation/*` of the native dialect (AppServer protocol 05 §2, §3, §12).

mod automation;
mod cron;
mod heartbeat;
pub(crate) mod today;
mod today_types;
pub mod types;

use bobbin_core::WireMessage;
use bobbin_model::UnixMillis;
use bobbin_native::client::{Answer, Client, refuse};
use bobbin_native::group::page::Page;
use bobbin_native::group::{Group, rows};
use bobbin_native::message;
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;
use serde::Serialize;

use self::heartbeat::JOB_RESULT;
use crate::book::{Book, Decided, Refused};
use crate::group::types::{
    AutomationCreateParams, AutomationListParams, AutomationListResult, AutomationOkResult, AutomationParams,
    AutomationPresetsListParams, AutomationPresetsListResult, AutomationReadParams, AutomationResult,
    AutomationRunResult, AutomationRunUpdatedNotification, AutomationRunsReadParams, AutomationRunsResult,
    AutomationTask, AutomationTaskCreateParams, AutomationTaskCreateResult, AutomationTaskListParams,
    AutomationTaskListResult, AutomationTaskParams, AutomationTaskReadParams, AutomationTaskReadResult,
    AutomationTaskResult, AutomationTaskUpdateBindingParams, AutomationTaskUpdatedNotification,
    AutomationTemplateDeleteParams, AutomationTemplateListParams, AutomationTemplateListResult,
    AutomationTemplateResult, AutomationTemplateSaveParams, AutomationUpdateParams,
    AutomationUpdatedNotification, CronEnableParams, CronEnableResult, CronJobInfo, CronJobParams,
    CronListParams, CronListResult, CronRemoveResult, CronRunResult, CronStateChangedNotification,
    HeartbeatTriggerParams, HeartbeatTriggerResult, JobSchedule,
};
use crate::job::{Job, Kind};
use crate::owner::{Gone, News, ScheduleError, Schedules};
use crate::run::JobEnded;
use crate::schedule::Schedule;

const CRON_STATE_CHANGED: &str = "cron/stateChanged";
const TASK_UPDATED: &str = "automation/task/updated";
const AUTOMATION_UPDATED: &str = "automation/updated";
const AUTOMATION_RUN_UPDATED: &str = "automation/run/updated";

/// The differences of automations.
const AUTOMATIONS: &str = "a run goes on after a restart, so none is `interrupted`; the latest 31 runs are stored; results of \
    tasks are sent to no chat; `workspaceMode` is `project`; `agentProfileId` has no effect";

/// The groups of this crate.
pub static GROUPS: &[&Group] = &[&CRON, &HEARTBEAT, &AUTOMATION];

/// The bounds and extensions of jobs.
const JOBS: &str = "up to three jobs run at the same time; extension kind `cron` of a schedule, and `whenMissed`, \
    `whenRunning`, `state.running`, `state.note`; `queued` is `false` while a run goes on";

/// The place of tasks.
const TASKS: &str = "tasks are in the database; those in `.craft/tasks` of a trusted folder are templates, from \
    which users make tasks. No method exports tasks, so none are written there; a run is one turn, so \
    `max_rounds` and `steps` of a workflow do not count; no `workspaceMode` \"isolated\"; extension \
    `note`";

/// The place of templates.
const TEMPLATES: &str = "those of users are in the database; those of a trusted folder are read from its files, as \
    templates that are not the user's; the built-in ones are English";

/// `cron/*`, and the notifications of all jobs.
static CRON: Group = Group {
    methods: rows! {
        Page::SCHEDULES, Some("cronManagement");
        request "cron/list" (CronListParams => CronListResult) [] now_with(of Schedules) cron::list, needs Read:
            "Lists the jobs that agents made.", spec "05 §2",
            test "schedules/cron: a_job_runs_by_the_clock_and_is_managed",
            note JOBS;
        request "cron/remove" (CronJobParams => CronRemoveResult)
            [CronJobNotFound] wait_with(of Schedules) cron::remove, needs Own:
            "Removes a job. A run of it goes on.", spec "05 §2",
            test "schedules/cron: a_job_runs_by_the_clock_and_is_managed",
            note JOBS;
        request "cron/enable" (CronEnableParams => CronEnableResult)
            [CronJobNotFound] wait_with(of Schedules) cron::enable, needs Own:
            "Switches a job on or off.", spec "05 §2",
            test "schedules/cron: a_job_runs_by_the_clock_and_is_managed",
            note JOBS;
        request "cron/run" (CronJobParams => CronRunResult)
            [CronJobNotFound] wait_with(of Schedules) cron::run, needs Own:
            "Has a job run as soon as there is room.", spec "05 §2",
            test "schedules/cron: a_job_runs_by_the_clock_and_is_managed",
            note JOBS;
        notification CRON_STATE_CHANGED (CronStateChangedNotification):
            "A job is new, has changed or is gone.", spec "05 §2",
            test "schedules/cron: a_job_runs_by_the_clock_and_is_managed",
            note "also for a new job and at the start of a run";
    },
    capabilities: |server, capabilities| {
        capabilities.cron_management = server.services().others.get::<Schedules>().is_some();
    },
    broadcast: |news, _| {
        let ended = news.get::<JobEnded>().and_then(|JobEnded(job, end)| {
            let result = heartbeat::result(job, end)?;
            Some(message(JOB_RESULT, &result))
        });
        ended.or_else(|| news.get::<News>()?.encode())
    },
    ..Group::EMPTY
};

/// `heartbeat/*`.
static HEARTBEAT: Group = Group {
    methods: rows! {
        Page::SCHEDULES, Some("heartbeatManagement");
        request "heartbeat/trigger" (HeartbeatTriggerParams => HeartbeatTriggerResult)
            [] now_with(of Schedules) heartbeat::trigger, needs Own:
            "Runs what HEARTBEAT.md says, and answers when the run ends.", spec "05 §3",
            test "schedules/automation: the_heartbeat_runs_what_its_file_says_and_answers_at_the_end",
            note "only clients trigger it, nothing does by the clock; `HEARTBEAT.md` counts once the folder is \
                trusted";
    },
    capabilities: |server, capabilities| {
        capabilities.heartbeat_management = server.services().others.get::<Schedules>().is_some();
    },
    ..Group::EMPTY
};

/// `automation/*`.
static AUTOMATION: Group = Group {
    methods: rows! {
        Page::SCHEDULES, Some("automations");
        request "automation/task/list" (AutomationTaskListParams => AutomationTaskListResult)
            [] now_with(of Schedules) automation::list, needs Read:
            "Lists the tasks.", spec "05 §12", test "schedules/automation: a_task_is_made_runs_and_is_deleted",
            partial TASKS;
        request "automation/task/read" (AutomationTaskReadParams => AutomationTaskReadResult)
            [TaskNotFound] now_with(of Schedules) automation::read, needs Read:
            "Reads a task.", spec "05 §12", test "schedules/automation: a_task_is_made_runs_and_is_deleted",
            partial TASKS;
        request "automation/task/create" (AutomationTaskCreateParams => AutomationTaskCreateResult)
            [TaskExists, BindingInvalid] now_with(of Schedules) automation::create, needs Own:
            "Makes a task. One without a schedule runs once, at once.",
            spec "05 §12", test "schedules/automation: a_task_is_made_runs_and_is_deleted",
            partial TASKS;
        request "automation/task/run" (AutomationTaskParams => AutomationTaskResult)
            [TaskNotFound, TaskStateInvalid] wait_with(of Schedules) automation::run, needs Own:
            "Has a task run as soon as there is room.", spec "05 §12",
            test "schedules/automation: a_task_is_made_runs_and_is_deleted",
            partial TASKS;
        request "automation/task/delete" (AutomationTaskParams => AutomationOkResult)
            [TaskNotFound, TaskStateInvalid] wait_with(of Schedules) automation::delete, needs Own:
            "Deletes a task.", spec "05 §12", test "schedules/automation: a_task_is_made_runs_and_is_deleted",
            partial TASKS;
        request "automation/task/updateBinding" (AutomationTaskUpdateBindingParams => AutomationTaskResult)
            [TaskNotFound, TaskStateInvalid, BindingInvalid] now_with(of Schedules) automation::bind, needs Own:
            "Says which Thread a task runs in.", spec "05 §12",
            test "schedules/automation: a_task_is_made_runs_and_is_deleted",
            partial TASKS;
        request "automation/template/list" (AutomationTemplateListParams => AutomationTemplateListResult)
            [] now_with(of Schedules) automation::templates, needs Read:
            "Lists the templates.", spec "05 §12",
            test "schedules/automation: templates_are_saved_used_and_deleted",
            note TEMPLATES;
        request "automation/template/save" (AutomationTemplateSaveParams => AutomationTemplateResult)
            [] wait_with(of Schedules) automation::save, needs Own:
            "Saves a template of the user.", spec "05 §12",
            test "schedules/automation: templates_are_saved_used_and_deleted",
            note TEMPLATES;
        request "automation/template/delete" (AutomationTemplateDeleteParams => AutomationOkResult)
            [] wait_with(of Schedules) automation::delete_template, needs Own:
            "Deletes a template of the user.", spec "05 §12",
            test "schedules/automation: templates_are_saved_used_and_deleted",
            note TEMPLATES;
        request "automation/list" (AutomationListParams => AutomationListResult)
            [] now_with(of Schedules) today::list, needs Read:
            "Lists the automations: tasks and cron jobs.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_is_made_changed_and_deleted";
        request "automation/read" (AutomationReadParams => AutomationResult)
            [TaskNotFound] now_with(of Schedules) today::read, needs Read:
            "Reads an automation.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_is_made_changed_and_deleted";
        request "automation/create" (AutomationCreateParams => AutomationResult)
            [] now_with(of Schedules) today::create, needs Own:
            "Makes an automation.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_is_made_changed_and_deleted",
            note AUTOMATIONS;
        request "automation/update" (AutomationUpdateParams => AutomationResult)
            [TaskNotFound, TaskStateInvalid, AutomationVersionConflict] now_with(of Schedules) today::update,
            needs Own:
            "Replaces the definition of an automation.",
            spec "07 §8.4", test "schedules/automations_today: an_automation_is_made_changed_and_deleted",
            note AUTOMATIONS;
        request "automation/delete" (AutomationParams => AutomationOkResult)
            [TaskNotFound, TaskStateInvalid] wait_with(of Schedules) today::delete, needs Own:
            "Deletes an automation. The Threads of its runs stay.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_is_made_changed_and_deleted";
        request "automation/run" (AutomationParams => AutomationRunResult)
            [TaskNotFound, TaskStateInvalid] wait_with(of Schedules) today::run, needs Own:
            "Has an automation run as soon as there is room, also one that is paused or completed.",
            spec "07 §8.4", test "schedules/automations_today: an_automation_runs_by_hand_and_its_runs_are_marked";
        request "automation/runs/list" (AutomationReadParams => AutomationRunsResult)
            [TaskNotFound] now_with(of Schedules) today::runs, needs Read:
            "Lists the latest runs of an automation.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_runs_by_hand_and_its_runs_are_marked",
            note AUTOMATIONS;
        request "automation/runs/read" (AutomationRunsReadParams => AutomationRunsResult)
            [TaskNotFound] wait_with(of Schedules) today::read_runs, needs Own:
            "Says which runs their user has read of.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_runs_by_hand_and_its_runs_are_marked";
        request "automation/presets/list" (AutomationPresetsListParams => AutomationPresetsListResult)
            [] now_with(of Schedules) today::presets, needs Read:
            "Lists definitions to start from.", spec "07 §8.4",
            test "schedules/automations_today: presets_are_the_built_in_templates";
        notification TASK_UPDATED (AutomationTaskUpdatedNotification):
            "A task is new or has changed.", spec "05 §12",
            test "schedules/automation: a_task_is_made_runs_and_is_deleted";
        notification AUTOMATION_UPDATED (AutomationUpdatedNotification):
            "An automation is new, has changed or is gone.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_is_made_changed_and_deleted",
            note "to clients of today (`ClientCapabilities`)";
        notification AUTOMATION_RUN_UPDATED (AutomationRunUpdatedNotification):
            "A run of an automation is new or has changed.", spec "07 §8.4",
            test "schedules/automations_today: an_automation_runs_by_hand_and_its_runs_are_marked",
            note "to clients of today (`ClientCapabilities`)";
    },
    unwanted: |capabilities| {
        if capabilities.is_today() {
            Vec::new()
        } else {
            vec![AUTOMATION_UPDATED, AUTOMATION_RUN_UPDATED]
        }
    },
    broadcast: |news, _| Some(news.get::<News>()?.encode_today()),
    capabilities: |server, capabilities| {
        capabilities.automations = server.services().others.get::<Schedules>().is_some();
    },
    ..Group::EMPTY
};

/// A job in the shape of the wire.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Job(CronJobInfo),
    Task(AutomationTask),
}

/// Converts a job to the shape that clients see.
pub(crate) fn seen(job: &Job) -> Seen {
    match job.kind {
        Kind::Task => Seen::Task(automation::task(job)),
        Kind::Cron | Kind::Heartbeat => Seen::Job(cron::info(job)),
    }
}

impl News {
    /// Returns the notification under its old name, if it has one.
    fn encode(&self) -> Option<WireMessage> {
        let Self::Job { job, gone, root } = self else {
            return None;
        };
        match seen(job) {
            Seen::Job(job) => Some(message(
                CRON_STATE_CHANGED,
                &CronStateChangedNotification {
                    job,
                    removed: *gone == Gone::Yes,
                },
            )),
            Seen::Task(_) if *gone == Gone::Yes => None,
            Seen::Task(task) => Some(message(
                TASK_UPDATED,
                &AutomationTaskUpdatedNotification {
                    workspace_path: root.to_string(),
                    task,
                },
            )),
        }
    }

    /// Returns the notification for clients of today.
    fn encode_today(&self) -> WireMessage {
        match self {
            Self::Job { job, gone, .. } => {
                let removed = *gone == Gone::Yes;
                let params = AutomationUpdatedNotification {
                    automation_id: job.id.clone(),
                    automation: (!removed).then(|| today::automation(job)),
                    removed,
                };
                message(AUTOMATION_UPDATED, &params)
            }
            Self::Run(run) => {
                let run = (**run).clone();
                message(AUTOMATION_RUN_UPDATED, &AutomationRunUpdatedNotification { run })
            }
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
        (Refused::Changed(id), _) => RpcError::automation_version_conflict(id),
    }
}
