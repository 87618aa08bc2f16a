//! `Cron`: the tool with which an agent makes, lists and removes jobs. Clients of the protocol know its name, arguments and
//! results.
//!
//! The tool asks the user before it makes a job, since a job runs later, unattended and as often as its schedule says. The job
//! gets the rights of the Thread that made it.

use std::sync::Arc;

use bobbin_agent_api::tool::{
    CallContext, Effect, Permission, PreparedCall, Tool, ToolEnvironment, ToolOutput, ToolRefusal,
    ToolSource, ToolSpec, Touches,
};
use bobbin_model::{ApprovalKind, ItemBody, Json, Scope, UnixMillis};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::due::MissedRun;
use crate::job::{Chat, Job, Key, Kind, MAX_MESSAGE, MAX_NAME, Rights, State, cut};
use crate::owner::{ScheduleError, Schedules};
use crate::schedule::Schedule;

/// Name of the tool.
pub(crate) const CRON: &str = "Cron";
/// Characters of its message that name a job without a name.
const NAMING: usize = 30;

const DESCRIPTION: &str = "Manages jobs that run later by the clock, each as a turn of its own that gets your message. \
    action 'add' needs 'message' and a time: 'delaySeconds' alone for once; 'everySeconds' again and again, with \
    'delaySeconds' for another wait before the first; 'dailyTime' as \"15:00\" with 'timeZone'; or 'expression', a cron \
    expression of five fields, with 'timeZone'. action 'list' shows all jobs. action 'remove' needs 'jobId'. \
    Write the message so that it can be followed without this conversation.";

/// The tool's arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    action: String,
    message: Option<String>,
    every_seconds: Option<i64>,
    delay_seconds: Option<i64>,
    name: Option<String>,
    job_id: Option<String>,
    deliver: Option<bool>,
    channel: Option<String>,
    to_user: Option<String>,
    daily_hour: Option<u8>,
    daily_minute: Option<u8>,
    daily_time: Option<String>,
    time_zone: Option<String>,
    expression: Option<String>,
    when_missed: Option<MissedRun>,
}

impl Schedules {
    /// Returns the tool as a source of tools for agents.
    pub fn tools(&self) -> Arc<dyn ToolSource> {
        let tool = Arc::new(CronTool {
            spec: spec(),
            schedules: self.clone(),
        });
        Arc::new(Source(tool))
    }
}

struct Source(Arc<dyn Tool>);

impl ToolSource for Source {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![self.0.clone()]
    }
}

struct CronTool {
    spec: ToolSpec,
    schedules: Schedules,
}

fn spec() -> ToolSpec {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number = |description: &str| json!({ "type": "integer", "description": description });
    let schema = json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": ["add", "list", "remove"] },
            "message": text("What the job's turn is told."),
            "everySeconds": number("Seconds between two runs, at least 60."),
            "delaySeconds": number("Seconds from now to the first run."),
            "name": text("Name to show."),
            "jobId": text("The job to remove."),
            "deliver": { "type": "boolean", "description": "Whether the result goes to a chat. Default true." },
            "channel": text("Channel of the chat; by default that of this conversation."),
            "toUser": text("The chat in the channel; by default that of this conversation."),
            "dailyHour": number("Hour of a daily job, 0 to 23."),
            "dailyMinute": number("Minute of a daily job, 0 to 59."),
            "dailyTime": text("Time of a daily job as HH:mm, in place of dailyHour and dailyMinute."),
            "timeZone": text("IANA time zone as Europe/Oslo. Default UTC."),
            "expression": text("Cron expression: minute hour day month weekday."),
            "whenMissed": {
                "type": "string",
                "enum": ["run", "skip"],
                "description": "What happens to a time that passes while the machine is off: run once, late (default), or skip.",
            },
        },
        "required": ["action"],
        "additionalProperties": false,
    });
    ToolSpec {
        name: CRON.into(),
        description: DESCRIPTION.into(),
        input_schema: Json::of(&schema).unwrap_or_else(|_| Json::from_raw(RawValue::NULL.to_owned())),
        effect: Effect::Writes,
    }
}

impl Tool for CronTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(
        &self,
        arguments: &Json,
        environment: &ToolEnvironment,
    ) -> Result<Box<dyn PreparedCall>, ToolRefusal> {
        let unusable = |why: &str| Err(ToolRefusal::Unusable(why.to_owned()));
        let arguments: Arguments = arguments
            .decode()
            .map_err(|error| ToolRefusal::Unusable(format!("the arguments are not usable: {error}")))?;
        let action = match arguments.action.trim().to_lowercase().as_str() {
            "list" => Action::List,
            "remove" => match arguments.job_id.filter(|id| !id.trim().is_empty()) {
                Some(id) => Action::Remove(id.trim().to_owned()),
                None => return unusable("'jobId' is needed to remove a job; 'list' shows the ids"),
            },
            "add" => {
                let rights = Rights {
                    config: (*environment.config).clone(),
                    approvals: environment.approvals,
                };
                let added = Added::of(arguments, rights)?;
                if let Some(around) = self.schedules.around() {
                    let now = around.threads.clock().now();
                    let usable = added.schedule(now).check(now);
                    usable.map_err(|bad| ToolRefusal::Unusable(bad.0))?;
                }
                Action::Add(Box::new(added))
            }
            _ => return unusable("'action' is 'add', 'list' or 'remove'"),
        };
        Ok(Box::new(Prepared {
            action,
            schedules: self.schedules.clone(),
        }))
    }
}

/// Parameters of a new job.
struct Added {
    message: String,
    name: String,
    time: Time,
    when_missed: MissedRun,
    rights: Rights,
    deliver: Option<(Option<String>, Option<String>)>,
}

/// Time of a new job; a delay counts from the call.
enum Time {
    After(i64),
    By(Schedule),
}

impl Added {
    fn of(arguments: Arguments, rights: Rights) -> Result<Self, ToolRefusal> {
        let unusable = |why: String| ToolRefusal::Unusable(why);
        let message = arguments.message.clone().unwrap_or_default().trim().to_owned();
        if message.is_empty() || message.chars().count() > MAX_MESSAGE {
            return Err(unusable(format!(
                "'message' is needed, with at most {MAX_MESSAGE} characters"
            )));
        }
        let time = Time::of(&arguments).map_err(unusable)?;
        let named = arguments.name.filter(|name| !name.trim().is_empty());
        Ok(Self {
            name: named.map_or_else(|| cut(&message, NAMING), |name| cut(name.trim(), MAX_NAME)),
            message,
            time,
            when_missed: arguments.when_missed.unwrap_or_default(),
            rights,
            deliver: arguments
                .deliver
                .unwrap_or(true)
                .then_some((arguments.channel, arguments.to_user)),
        })
    }

    /// Returns the text that users approve.
    fn shown(&self) -> String {
        let chat = self.deliver.as_ref().and_then(|(channel, target)| {
            let words = channel.iter().chain(target);
            let words: Vec<&str> = words.map(String::as_str).collect();
            (!words.is_empty()).then(|| format!(" (result to {})", words.join(" ")))
        });
        let when = match &self.time {
            Time::After(delay) => format!("in {} seconds", delay / 1000),
            Time::By(schedule) => schedule.to_string(),
        };
        format!("schedule {when}{}: {}", chat.unwrap_or_default(), self.message)
    }

    /// Returns its schedule if it is made now.
    fn schedule(&self, now: UnixMillis) -> Schedule {
        match &self.time {
            Time::After(delay) => Schedule::At { at_ms: now.0 + delay },
            Time::By(schedule) => schedule.clone(),
        }
    }

    fn job(self, now: UnixMillis, id: String, deliver: Option<Chat>) -> Result<Job, String> {
        let schedule = self.schedule(now);
        let once = matches!(self.time, Time::After(_));
        schedule.check(now).map_err(|bad| bad.0)?;
        let due = schedule.first(now).map_err(|bad| bad.0)?;
        Ok(Job {
            kind: Kind::Cron,
            id,
            name: self.name,
            schedule: Some(schedule),
            prompt: self.message,
            rights: self.rights,
            enabled: true,
            delete_after_run: once,
            when_missed: self.when_missed,
            created_at: now,
            updated_at: now,
            changes: 0,
            deliver,
            task: None,
            state: State {
                due: Some(due),
                set_at: now,
                ..State::default()
            },
        })
    }
}

impl Time {
    fn of(arguments: &Arguments) -> Result<Self, String> {
        let tz = arguments.time_zone.clone().filter(|zone| !zone.trim().is_empty());
        let daily = arguments.daily_hour.is_some() || arguments.daily_time.is_some();
        let kinds = [
            daily,
            arguments.expression.is_some(),
            arguments.every_seconds.or(arguments.delay_seconds).is_some(),
        ];
        if kinds.iter().filter(|given| **given).count() != 1 {
            return Err(
                "name one time: 'delaySeconds' and 'everySeconds', or 'dailyTime', or 'expression'"
                    .to_owned(),
            );
        }
        let millis = |seconds: i64| {
            let millis = seconds.checked_mul(1000).filter(|millis| *millis > 0);
            millis.ok_or_else(|| "seconds are positive numbers".to_owned())
        };
        let delay = arguments.delay_seconds.map(millis).transpose()?;
        if let Some(every) = arguments.every_seconds {
            return Ok(Self::By(Schedule::Every {
                every_ms: millis(every)?,
                initial_delay_ms: delay,
            }));
        }
        if let Some(delay) = delay {
            return Ok(Self::After(delay.min(i64::MAX / 4)));
        }
        if let Some(expr) = &arguments.expression {
            let expr = expr.trim().to_owned();
            return Ok(Self::By(Schedule::Cron { expr, tz }));
        }
        let (daily_hour, daily_minute) = match &arguments.daily_time {
            Some(time) => {
                let clock = time.trim().split_once(':');
                let clock = clock.and_then(|(hour, minute)| Some((hour.parse().ok()?, minute.parse().ok()?)));
                clock.ok_or_else(|| "'dailyTime' is as 15:30".to_owned())?
            }
            None => (
                arguments.daily_hour.unwrap_or_default(),
                arguments.daily_minute.unwrap_or_default(),
            ),
        };
        Ok(Self::By(Schedule::Daily {
            daily_hour,
            daily_minute,
            tz,
        }))
    }
}

enum Action {
    Add(Box<Added>),
    List,
    Remove(String),
}

struct Prepared {
    action: Action,
    schedules: Schedules,
}

impl PreparedCall for Prepared {
    fn permission(&self) -> Permission {
        let (operation, reason) = match &self.action {
            Action::List => return Permission::Free,
            Action::Add(added) => (
                added.shown(),
                "It runs later without you, with what this conversation is allowed to do.",
            ),
            Action::Remove(id) => (format!("remove job {id}"), "It will not run any more."),
        };
        Permission::Ask {
            scope: Scope::new(ApprovalKind::RemoteResource, operation, CRON).once(),
            reason: reason.to_owned(),
        }
    }

    fn touches(&self) -> Touches {
        Touches::Nothing
    }

    fn run(self: Box<Self>, context: CallContext) -> BoxFuture<'static, ToolOutput> {
        async move {
            let answer = match self.action {
                Action::List => list(&self.schedules).await,
                Action::Remove(id) => remove(&self.schedules, id).await,
                Action::Add(added) => add(&self.schedules, *added, &context).await,
            };
            match answer {
                Ok(answer) => ToolOutput {
                    text: answer.to_string(),
                    success: true,
                    ..ToolOutput::default()
                },
                Err(error) => ToolOutput {
                    text: json!({ "error": error }).to_string(),
                    ..ToolOutput::default()
                },
            }
        }
        .boxed()
    }
}

fn said(error: &ScheduleError) -> String {
    error.to_string()
}

async fn list(schedules: &Schedules) -> Result<Value, String> {
    let jobs = schedules
        .ask(|book, _| Ok((Vec::new(), book.jobs(Kind::Cron))))
        .await;
    let jobs = jobs.map_err(|error| said(&error))?;
    let shown: Vec<Value> = jobs
        .iter()
        .map(|job| {
            json!({
                "id": job.id,
                "name": job.name,
                "enabled": job.enabled,
                "schedule": job.schedule,
                "nextRun": job.state.due,
                "lastRun": job.state.last_run_at,
                "lastStatus": job.state.last_ok.map(|ok| if ok { "ok" } else { "error" }),
            })
        })
        .collect();
    Ok(json!({ "count": shown.len(), "jobs": shown }))
}

async fn remove(schedules: &Schedules, id: String) -> Result<Value, String> {
    let key = Key::new(Kind::Cron, &*id);
    match schedules.ask(move |book, _| book.remove(key)).await {
        Ok(()) => Ok(json!({ "status": "removed", "jobId": id })),
        Err(ScheduleError::Refused(_)) => Ok(json!({ "status": "not_found", "jobId": id })),
        Err(error) => Err(said(&error)),
    }
}

async fn add(schedules: &Schedules, added: Added, context: &CallContext) -> Result<Value, String> {
    let deliver = chat(schedules, added.deliver.clone(), context).await?;
    let id = fresh_id()?;
    let made = schedules.ask(move |book, now| {
        let job = added.job(now, id, deliver);
        book.add(job.map_err(crate::book::Refused::Invalid)?)
    });
    let job = made.await.map_err(|error| said(&error))?;
    Ok(json!({
        "status": "created",
        "id": job.id,
        "name": job.name,
        "nextRun": job.state.due,
        "schedule": job.schedule,
        "deleteAfterRun": job.delete_after_run,
        "message": job.prompt,
        "deliver": job.deliver.is_some(),
        "channel": job.deliver.as_ref().map(|chat| &chat.channel),
        "toUser": job.deliver.as_ref().map(|chat| &chat.target),
    }))
}

/// Returns eight hex digits (AppServer protocol 05 §2).
pub(crate) fn fresh_id() -> Result<String, String> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| format!("there is no randomness: {error}"))?;
    Ok(hex::encode(bytes))
}

/// Returns the chat that gets the results: the named chat, or that of the conversation.
async fn chat(
    schedules: &Schedules,
    deliver: Option<(Option<String>, Option<String>)>,
    context: &CallContext,
) -> Result<Option<Chat>, String> {
    let (Some((channel, target)), Some(around)) = (deliver, schedules.around()) else {
        return Ok(None);
    };
    let Some(channels) = &around.channels else {
        return match channel {
            Some(channel) => Err(format!("there is no channel '{channel}' here")),
            None => Ok(None),
        };
    };
    let is_channel = |name: &str| {
        channels
            .channels()
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    };
    let own = conversation(schedules, context).await;
    let named = channel.is_some();
    let own_target = own.as_ref().map(|chat| chat.target.clone());
    let Some(channel) = channel.or(own.map(|chat| chat.channel)) else {
        return Ok(None);
    };
    if !is_channel(&channel) {
        return if named {
            Err(format!("there is no channel '{channel}' here"))
        } else {
            Ok(None)
        };
    }
    match target.or(own_target) {
        Some(target) => Ok(Some(Chat { channel, target })),
        None => Err("'toUser' is needed: the chat in the channel".to_owned()),
    }
}

/// Returns the chat of a call's conversation.
async fn conversation(schedules: &Schedules, context: &CallContext) -> Option<Chat> {
    let threads = &schedules.around()?.threads;
    let handle = threads.thread(&context.origin.thread).await.ok()?;
    let state = threads.snapshot(&handle).await.ok()?.state.clone();
    let first = state.live.as_ref()?.turn.items.first()?;
    let ItemBody::UserMessage(said) = &first.body else {
        return None;
    };
    let channel = said.channel_name.clone()?;
    let sender = said.sender.as_ref()?;
    // Adapters reply to the context of their Thread. A group id can be a bare number, which does not name a kind of chat.
    let context = said.channel_context.as_ref().filter(|context| {
        state.header.origin_channel.eq_ignore_ascii_case(&channel) && !context.trim().is_empty()
    });
    let target = context.or(sender.group_id.as_ref()).unwrap_or(&sender.sender_id);
    Some(Chat {
        target: target.clone(),
        channel,
    })
}
