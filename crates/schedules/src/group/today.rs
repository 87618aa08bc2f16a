//! The handlers of `automation/*` of today: tasks and cron jobs in one shape, with their runs (AppServer protocol 07 §8.4).

use std::sync::Arc;

use bobbin_model::{ApprovalPolicy, ThreadId, UnixMillis};
use bobbin_native::client::Client;
use bobbin_native::convert::time;
use bobbin_native_wire::Timestamp;
use bobbin_peer::Responder;

use super::automation::{bound_to, running};
use super::today_types::{
    Automation, AutomationApprovalPolicy, AutomationCreateParams, AutomationDeliveryStatus, AutomationInput,
    AutomationListParams, AutomationListResult, AutomationOrigin, AutomationParams, AutomationPreset,
    AutomationPresetsListParams, AutomationPresetsListResult, AutomationReadParams, AutomationResult,
    AutomationRun, AutomationRunResult, AutomationRunStatus, AutomationRunsReadParams, AutomationRunsResult,
    AutomationSchedule, AutomationScheduleKind, AutomationStatus, AutomationUpdateParams,
    AutomationWorkspaceMode, ExecutionMode, NotificationPolicy,
};
use super::types::{AutomationOkResult, AutomationThreadBinding};
use super::{change, reply, wire_error};
use crate::book::{Book, Refused, switch_on};
use crate::job::{Job, Kind, MAX_MESSAGE, MAX_NAME, MAX_PAST_RUNS, PastRun, Run, RunOutcome};
use crate::owner::Schedules;
use crate::schedule::Schedule;
use crate::task::{FULL_AUTO, NewTask, WORKFLOW, WORKSPACE_SCOPE, rights};
use crate::template::built_in;

pub(super) fn list(client: &Client, schedules: &Schedules, _: AutomationListParams, responder: Responder) {
    let list = |book: &Book| {
        let jobs = [Kind::Task, Kind::Cron]
            .into_iter()
            .flat_map(|kind| book.jobs(kind));
        Ok(AutomationListResult {
            automations: jobs.map(|job| automation(&job)).collect(),
        })
    };
    super::read(client, schedules, Kind::Task, responder, list);
}

pub(super) fn read(
    client: &Client,
    schedules: &Schedules,
    params: AutomationReadParams,
    responder: Responder,
) {
    let read = move |book: &Book| {
        Ok(AutomationResult {
            automation: automation(book.automation(&params.automation_id)?),
        })
    };
    super::read(client, schedules, Kind::Task, responder, read);
}

/// A definition that was checked.
struct Definition {
    input: AutomationInput,
    schedule: Schedule,
    bound_to: Option<ThreadId>,
}

impl Definition {
    /// Checks a client's definition, but for the limits that all tasks have.
    async fn read(client: &Client, input: AutomationInput) -> Result<Self, Refused> {
        let invalid = |why: &str| Err(Refused::Invalid(why.to_owned()));
        if input.status == AutomationStatus::Completed {
            return invalid("'status' is \"active\" or \"paused\".");
        }
        if input.workspace_mode == Some(AutomationWorkspaceMode::Worktree) {
            return invalid(
                "'workspaceMode' is \"project\": automations of this server run in the workspace.",
            );
        }
        if input.prompt.trim().is_empty() {
            return invalid("'prompt' must not be blank.");
        }
        let target = input.target_thread_id.as_ref().filter(|id| !id.trim().is_empty());
        let bound_to = match (input.execution_mode, target) {
            (ExecutionMode::Independent, _) => None,
            (ExecutionMode::Thread, None) => return invalid("'targetThreadId' is needed for \"thread\"."),
            (ExecutionMode::Thread, Some(id)) => {
                let binding = AutomationThreadBinding {
                    thread_id: id.clone(),
                    mode: None,
                };
                let found = bound_to(client, Some(binding)).await;
                found.map_err(|_| Refused::Invalid(format!("There is no thread '{id}' that takes turns.")))?
            }
        };
        let schedule = schedule_in(&input.schedule)?;
        Ok(Self {
            input,
            schedule,
            bound_to,
        })
    }

    fn policy(&self) -> &'static str {
        match self.input.approval_policy {
            AutomationApprovalPolicy::WorkspaceScope => WORKSPACE_SCOPE,
            AutomationApprovalPolicy::FullAuto => FULL_AUTO,
        }
    }

    /// Sets what the tasks of May do not have.
    fn complete(&self, job: &mut Job) {
        if let Some(task) = &mut job.task {
            task.starts_anew = self.input.execution_mode == ExecutionMode::Independent;
            task.notify = self.input.notification_policy;
            task.agent_profile.clone_from(&self.input.agent_profile_id);
        }
    }

    /// Puts the definition into a job.
    fn put(self, job: &mut Job, workspace: ApprovalPolicy, now: UnixMillis) -> Result<(), Refused> {
        let invalid = |why: String| Err(Refused::Invalid(why));
        let name = self.input.name.trim();
        if name.is_empty() || name.chars().count() > MAX_NAME {
            return invalid(format!("'name' is needed, with at most {MAX_NAME} characters."));
        }
        if self.input.prompt.chars().count() > MAX_MESSAGE {
            return invalid(format!("'prompt' has at most {MAX_MESSAGE} characters."));
        }
        name.clone_into(&mut job.name);
        let (policy, allowed) = rights(Some(self.policy()), workspace)?;
        match &mut job.task {
            Some(task) => {
                // A workflow of the task goes on to count unless the prompt is another.
                if task.description != self.input.prompt
                    && prompt(&job.prompt, Some(task)) != self.input.prompt
                {
                    task.description.clone_from(&self.input.prompt);
                    WORKFLOW.clone_into(&mut job.prompt);
                }
                if task.approval_policy != policy {
                    task.approval_policy = policy;
                    job.rights = allowed;
                }
                if task.bound_to != self.bound_to {
                    task.bound_to.clone_from(&self.bound_to);
                    // The next run must not go on in the Thread of earlier runs.
                    job.state.thread = None;
                }
            }
            None if self.bound_to.is_some() => {
                return invalid(
                    "A job of an agent has a thread of its own: 'executionMode' is \"independent\"."
                        .to_owned(),
                );
            }
            None => {
                job.prompt.clone_from(&self.input.prompt);
                if approvals(job) != self.input.approval_policy {
                    job.rights = allowed;
                }
            }
        }
        self.complete(job);
        if job.schedule.as_ref() != Some(&self.schedule) && schedule(job) != self.input.schedule {
            self.schedule.check(now).map_err(|bad| Refused::Invalid(bad.0))?;
            let first = self.schedule.first(now).map_err(|bad| Refused::Invalid(bad.0))?;
            job.schedule = Some(self.schedule);
            job.state.due = Some(first);
            job.state.set_at = now;
        }
        match self.input.status {
            AutomationStatus::Active if !job.enabled => switch_on(job, now)?,
            AutomationStatus::Paused => job.enabled = false,
            AutomationStatus::Active | AutomationStatus::Completed => {}
        }
        Ok(())
    }
}

pub(super) fn create(
    client: &Client,
    schedules: &Schedules,
    params: AutomationCreateParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (schedules, client) = (schedules.clone(), client.clone());
    client.clone().spawn(async move {
        let workspace = client.threads().settings().approval_policy.get();
        let definition = match Definition::read(&client, params.automation).await {
            Ok(definition) => definition,
            Err(refused) => return first.err(wire_error(Kind::Task, &refused.into())),
        };
        let decide = move |book: &Book, now| {
            let task = NewTask {
                title: definition.input.name.clone(),
                description: Some(definition.input.prompt.clone()),
                approval_policy: Some(definition.policy().to_owned()),
                schedule: Some(definition.schedule.clone()),
                bound_to: definition.bound_to.clone(),
                ..NewTask::default()
            };
            let mut job = task.job(workspace, now)?;
            job.enabled = definition.input.status == AutomationStatus::Active;
            definition.complete(&mut job);
            book.add_numbered(job)
        };
        let answer = |job: Arc<Job>| AutomationResult {
            automation: automation(&job),
        };
        schedules.submit(decide, reply(first, Kind::Task, answer)).await;
    });
}

pub(super) fn update(
    client: &Client,
    schedules: &Schedules,
    params: AutomationUpdateParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (schedules, client) = (schedules.clone(), client.clone());
    client.clone().spawn(async move {
        let workspace = client.threads().settings().approval_policy.get();
        let definition = match Definition::read(&client, params.automation).await {
            Ok(definition) => definition,
            Err(refused) => return first.err(wire_error(Kind::Task, &refused.into())),
        };
        let decide = move |book: &Book, now| {
            let job = book.automation(&params.automation_id)?;
            if job.is_over() {
                return Err(Refused::NotNow(
                    "The automation is completed; make another one, or run it by hand.".to_owned(),
                ));
            }
            if version(job.changes) != params.expected_version {
                return Err(Refused::Changed(params.automation_id));
            }
            let key = job.key();
            book.edit(&key, now, |job| definition.put(job, workspace, now))
        };
        let answer = |job: Arc<Job>| AutomationResult {
            automation: automation(&job),
        };
        schedules.submit(decide, reply(first, Kind::Task, answer)).await;
    });
}

pub(super) async fn delete(
    client: &Client,
    schedules: &Schedules,
    AutomationParams { automation_id, .. }: AutomationParams,
    responder: Responder,
) {
    let decide = move |book: &Book, _| {
        let job = book.automation(&automation_id)?;
        if job.state.run.is_some() {
            return Err(running());
        }
        book.remove(job.key())
    };
    let answer = |()| AutomationOkResult { ok: true };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

pub(super) async fn run(
    client: &Client,
    schedules: &Schedules,
    AutomationParams { automation_id, .. }: AutomationParams,
    responder: Responder,
) {
    let decide = move |book: &Book, now| {
        let job = book.automation(&automation_id)?;
        match book.run_once(&job.key(), now)? {
            (changes, (job, true)) => Ok((changes, job)),
            (_, (_, false)) => Err(running()),
        }
    };
    let answer = |job: Arc<Job>| AutomationRunResult {
        run: queued(&job, job.state.wanted_at.unwrap_or_default()),
    };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

pub(super) fn runs(
    client: &Client,
    schedules: &Schedules,
    params: AutomationReadParams,
    responder: Responder,
) {
    let read = move |book: &Book| {
        Ok(AutomationRunsResult {
            runs: runs_of(book.automation(&params.automation_id)?),
        })
    };
    super::read(client, schedules, Kind::Task, responder, read);
}

pub(super) async fn read_runs(
    client: &Client,
    schedules: &Schedules,
    params: AutomationRunsReadParams,
    responder: Responder,
) {
    let decide = move |book: &Book, now| {
        if params.run_ids.len() > MAX_PAST_RUNS {
            return Err(Refused::Invalid(format!(
                "'runIds' has at most {MAX_PAST_RUNS} entries."
            )));
        }
        book.note_read(&params.automation_id, &params.run_ids, params.read.then_some(now))
    };
    let answer = |job: Arc<Job>| AutomationRunsResult { runs: runs_of(&job) };
    change(client, schedules, Kind::Task, responder, decide, answer).await;
}

pub(super) fn presets(_: &Client, _: &Schedules, _: AutomationPresetsListParams, responder: Responder) {
    let presets = built_in().into_iter().map(|template| AutomationPreset {
        id: template.id,
        name: template.title,
        prompt: template
            .task_description
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(template.workflow),
        schedule: template.schedule.as_ref().map(schedule_out),
    });
    responder.ok(AutomationPresetsListResult {
        presets: presets.collect(),
    });
}

/// Returns the version of a definition: 1 for a new one.
fn version(changes: u32) -> u32 {
    changes.saturating_add(1)
}

/// Returns the input of a job's runs, as its user wrote it.
fn prompt(workflow: &str, task: Option<&crate::job::Task>) -> String {
    match task {
        Some(task) if !task.description.trim().is_empty() => task.description.clone(),
        _ => workflow.to_owned(),
    }
}

fn approvals(job: &Job) -> AutomationApprovalPolicy {
    match job.rights.approvals {
        ApprovalPolicy::AutoApprove => AutomationApprovalPolicy::FullAuto,
        _ => AutomationApprovalPolicy::WorkspaceScope,
    }
}

/// Returns a job as an automation.
pub(crate) fn automation(job: &Job) -> Automation {
    let task = job.task.as_ref();
    let target = task.and_then(|task| task.bound_to.as_ref());
    let (execution_mode, usual) = match target {
        Some(_) => (ExecutionMode::Thread, NotificationPolicy::Important),
        None => (ExecutionMode::Independent, NotificationPolicy::All),
    };
    Automation {
        id: job.id.clone(),
        version: version(job.changes),
        name: job.name.clone(),
        prompt: prompt(&job.prompt, task),
        status: match job.enabled {
            _ if job.is_over() => AutomationStatus::Completed,
            true => AutomationStatus::Active,
            false => AutomationStatus::Paused,
        },
        execution_mode,
        approval_policy: approvals(job),
        workspace_mode: AutomationWorkspaceMode::Project,
        notification_policy: task.and_then(|task| task.notify).unwrap_or(usual),
        schedule: schedule(job),
        created_at: time(job.created_at),
        updated_at: time(job.updated_at),
        target_thread_id: target.map(ToString::to_string),
        agent_profile_id: task.and_then(|task| task.agent_profile.clone()),
        origin: job.deliver.as_ref().map(|chat| AutomationOrigin {
            channel: chat.channel.clone(),
            user_id: chat.target.clone(),
            delivery_target: Some(chat.target.clone()),
        }),
        next_run_at: job.state.due.filter(|_| job.enabled).map(time),
    }
}

/// Returns the runs of a job, newest first.
fn runs_of(job: &Job) -> Vec<AutomationRun> {
    let present = present(job).into_iter();
    present
        .chain(job.state.runs.iter().map(|past| ended(job, past)))
        .collect()
}

/// Returns the run that waits or goes on.
pub(super) fn present(job: &Job) -> Option<AutomationRun> {
    match &job.state.run {
        Some(run) => Some(going_on(job, run)),
        None => job.state.wanted_at.map(|at| queued(job, at)),
    }
}

/// Returns the newest run.
pub(crate) fn newest(job: &Job) -> Option<AutomationRun> {
    present(job).or_else(|| job.state.runs.first().map(|past| ended(job, past)))
}

fn queued(job: &Job, at: UnixMillis) -> AutomationRun {
    AutomationRun {
        id: job.run_id(job.state.run_count + 1),
        automation_id: job.id.clone(),
        definition_version: version(job.changes),
        status: AutomationRunStatus::Queued,
        created_at: time(at),
        delivery_status: AutomationDeliveryStatus::Pending,
        started_at: None,
        completed_at: None,
        scheduled_at: None,
        thread_id: None,
        summary: None,
        error: None,
        read_at: None,
    }
}

fn going_on(job: &Job, run: &Run) -> AutomationRun {
    AutomationRun {
        id: job.run_id(run.number),
        definition_version: version(run.changes),
        status: AutomationRunStatus::Running,
        started_at: Some(time(run.started_at)),
        scheduled_at: run.by_clock.then(|| time(run.created_at)),
        thread_id: run.thread.as_ref().map(ToString::to_string),
        ..queued(job, run.created_at)
    }
}

fn ended(job: &Job, past: &PastRun) -> AutomationRun {
    AutomationRun {
        status: match past.outcome {
            RunOutcome::Succeeded => AutomationRunStatus::Succeeded,
            RunOutcome::Failed => AutomationRunStatus::Failed,
            RunOutcome::Cancelled => AutomationRunStatus::Cancelled,
        },
        delivery_status: match (&job.deliver, past.delivered) {
            (None, _) => AutomationDeliveryStatus::Skipped,
            // There is nothing to deliver.
            (Some(_), None) if past.summary.is_none() && past.error.is_none() => {
                AutomationDeliveryStatus::Skipped
            }
            (Some(_), None) => AutomationDeliveryStatus::Pending,
            (Some(_), Some(true)) => AutomationDeliveryStatus::Sent,
            (Some(_), Some(false)) => AutomationDeliveryStatus::Failed,
        },
        completed_at: Some(time(past.completed_at)),
        summary: past.summary.clone(),
        error: past.error.clone(),
        read_at: past.read_at.map(time),
        ..going_on(job, &past.run)
    }
}

/// Returns the schedule of a job.
fn schedule(job: &Job) -> AutomationSchedule {
    match &job.schedule {
        Some(schedule) => schedule_out(schedule),
        // It runs once, as soon as there is room.
        None => AutomationSchedule {
            at: Some(time(job.state.due.unwrap_or(job.created_at))),
            ..empty(AutomationScheduleKind::At)
        },
    }
}

fn empty(kind: AutomationScheduleKind) -> AutomationSchedule {
    AutomationSchedule {
        kind,
        at: None,
        every_ms: None,
        hour: None,
        minute: None,
        time_zone: None,
        days: None,
    }
}

fn schedule_out(schedule: &Schedule) -> AutomationSchedule {
    let of_clock = |kind, (hour, minute), tz: &Option<String>| AutomationSchedule {
        hour: Some(hour),
        minute: Some(minute),
        time_zone: Some(tz.clone().unwrap_or_else(|| "UTC".to_owned())),
        ..empty(kind)
    };
    match schedule {
        Schedule::At { at_ms } => AutomationSchedule {
            at: Some(Timestamp(*at_ms)),
            ..empty(AutomationScheduleKind::At)
        },
        Schedule::Every { every_ms, .. } => AutomationSchedule {
            every_ms: Some(*every_ms),
            ..empty(AutomationScheduleKind::Every)
        },
        Schedule::Daily {
            daily_hour,
            daily_minute,
            tz,
        } => of_clock(AutomationScheduleKind::Daily, (*daily_hour, *daily_minute), tz),
        Schedule::Cron { expr, tz } => match Weekly::read(expr) {
            Some(Weekly { at, days }) if days == WORKDAYS => {
                of_clock(AutomationScheduleKind::Weekdays, at, tz)
            }
            Some(Weekly { at, days }) => AutomationSchedule {
                days: Some(days),
                ..of_clock(AutomationScheduleKind::Weekly, at, tz)
            },
            // An expression that fits no other kind.
            None => AutomationSchedule {
                every_ms: Some(schedule.interval()),
                ..empty(AutomationScheduleKind::Every)
            },
        },
    }
}

/// Monday to Friday.
const WORKDAYS: [u8; 5] = [1, 2, 3, 4, 5];

/// A time of the clock on some days of the week.
struct Weekly {
    at: (u8, u8),
    /// 1 (Monday) to 7.
    days: Vec<u8>,
}

impl Weekly {
    fn write(&self) -> String {
        let days: Vec<String> = self.days.iter().map(u8::to_string).collect();
        format!("{} {} * * {}", self.at.1, self.at.0, days.join(","))
    }

    fn read(expression: &str) -> Option<Self> {
        let fields: Vec<&str> = expression.split_whitespace().collect();
        let [minute, hour, "*", "*", days] = fields[..] else {
            return None;
        };
        let days = match days {
            "1-5" => WORKDAYS.to_vec(),
            days => days
                .split(',')
                .map(|day| day.parse().ok())
                .collect::<Option<Vec<u8>>>()?,
        };
        let is_week = days.iter().all(|day| (1..=7).contains(day));
        let at = (hour.parse().ok()?, minute.parse().ok()?);
        is_week.then_some(Self { at, days })
    }
}

fn schedule_in(schedule: &AutomationSchedule) -> Result<Schedule, Refused> {
    let missing = |member: &str| Refused::Invalid(format!("'schedule.{member}' is needed for this kind."));
    let tz = schedule.time_zone.clone().filter(|zone| !zone.trim().is_empty());
    let at = || -> Result<(u8, u8), Refused> {
        let hour = schedule.hour.ok_or_else(|| missing("hour"))?;
        Ok((hour, schedule.minute.unwrap_or(0)))
    };
    let weekly = |days: &[u8]| -> Result<Schedule, Refused> {
        let mut days = days.to_vec();
        days.sort_unstable();
        days.dedup();
        let at = at()?;
        if days.is_empty() || !days.iter().all(|day| (1..=7).contains(day)) || at.0 > 23 || at.1 > 59 {
            return Err(Refused::Invalid(
                "'schedule' has 'days' from 1 (Monday) to 7, an 'hour' from 0 to 23 and a 'minute' from 0 to 59.".to_owned(),
            ));
        }
        Ok(Schedule::Cron {
            expr: Weekly { at, days }.write(),
            tz: tz.clone(),
        })
    };
    match schedule.kind {
        AutomationScheduleKind::At => {
            let at = schedule.at.ok_or_else(|| missing("at"))?;
            Ok(Schedule::At { at_ms: at.0 })
        }
        AutomationScheduleKind::Every => Ok(Schedule::Every {
            every_ms: schedule.every_ms.ok_or_else(|| missing("everyMs"))?,
            initial_delay_ms: None,
        }),
        AutomationScheduleKind::Daily => {
            let (daily_hour, daily_minute) = at()?;
            Ok(Schedule::Daily {
                daily_hour,
                daily_minute,
                tz,
            })
        }
        AutomationScheduleKind::Weekdays => weekly(&WORKDAYS),
        AutomationScheduleKind::Weekly => weekly(schedule.days.as_deref().ok_or_else(|| missing("days"))?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_of_the_week_comes_back_as_it_was_written() {
        for (days, kind) in [
            (vec![1], AutomationScheduleKind::Weekly),
            (vec![2, 7], AutomationScheduleKind::Weekly),
            (WORKDAYS.to_vec(), AutomationScheduleKind::Weekdays),
        ] {
            let written = AutomationSchedule {
                hour: Some(7),
                minute: Some(5),
                time_zone: Some("Europe/Paris".to_owned()),
                days: (kind == AutomationScheduleKind::Weekly).then(|| days.clone()),
                ..empty(kind)
            };
            let schedule = schedule_in(&written).unwrap();
            schedule.check(UnixMillis(0)).unwrap();
            assert_eq!(schedule_out(&schedule), written);
        }
        for expression in ["*/5 * * * *", "0 7 1 * *", "0 7 * * 1-4", "0 7 * * 8"] {
            assert!(Weekly::read(expression).is_none(), "{expression}");
        }
    }
}
