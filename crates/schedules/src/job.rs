//! A job: what the server says to an agent by the clock, with whose rights, and what has come of it so far.
//!
//! Values only. A job is stored whole, as JSON; members that are added later need a default.

use bobbin_agent_api::channel::ChatAddress;
use bobbin_model::{ApprovalPolicy, ThreadConfig, ThreadId, TriggerKind, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::due::{MissedRun, Times};
use crate::schedule::Schedule;
use crate::tool::CRON;

/// Most jobs of a workspace, of all kinds together (a guess: a list that its user still reads).
pub(crate) const MAX_JOBS: usize = 200;
/// Most jobs that run at the same time: each is an agent at work.
pub(crate) const MAX_RUNNING: usize = 3;
/// Runs that fail one after the other before a job is switched off.
pub(crate) const MAX_FAILURES: u32 = 5;
/// Longest message of a job, in characters.
pub(crate) const MAX_MESSAGE: usize = 10_000;
/// Longest name of a job, in characters.
pub(crate) const MAX_NAME: usize = 200;
/// Characters of a result that a job keeps (AppServer protocol 05 §2).
const KEPT_RESULT: usize = 500;

/// What kind of job it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kind {
    /// An agent made it with its tool.
    Cron,
    /// A client made it, as an automation task.
    Task,
    /// The one that reads `HEARTBEAT.md`.
    Heartbeat,
}

impl Kind {
    /// Returns the kind's word in the store and in the owner of its Threads.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Cron => "cron",
            Self::Task => "task",
            Self::Heartbeat => "heartbeat",
        }
    }

    /// Returns the channel of its Threads.
    pub(crate) fn channel(self) -> &'static str {
        match self {
            Self::Task => "automations",
            Self::Cron | Self::Heartbeat => self.as_str(),
        }
    }

    /// Returns how its messages say where they come from.
    pub(crate) fn trigger(self) -> TriggerKind {
        match self {
            Self::Cron => TriggerKind::Cron,
            Self::Task => TriggerKind::Automation,
            Self::Heartbeat => TriggerKind::Heartbeat,
        }
    }
}

/// Names a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) id: String,
}

impl Key {
    pub(crate) fn new(kind: Kind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }
}

/// What a job may do: what its author could when the job was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rights {
    /// The configuration of the author's Thread.
    pub(crate) config: ThreadConfig,
    /// How the author's Approvals were decided.
    pub(crate) approvals: ApprovalPolicy,
}

impl Rights {
    /// Returns the configuration of a run, where `workspace` is the workspace's approval policy now.
    pub(crate) fn configuration(&self, workspace: ApprovalPolicy) -> ThreadConfig {
        let mut config = self.config.clone();
        let was_own = config
            .approval_policy
            .is_some_and(|policy| policy != ApprovalPolicy::Default);
        let policy = if was_own {
            self.approvals
        } else {
            self.approvals.stricter(workspace)
        };
        // In a Thread's configuration, `default` is whatever the workspace has, which may be freer by now.
        let freer_now = policy == ApprovalPolicy::Default && workspace != ApprovalPolicy::Default;
        config.approval_policy = Some(if freer_now { ApprovalPolicy::Ask } else { policy });
        // A job makes no jobs.
        let denied = config.tool_deny_list.get_or_insert_default();
        if !denied.iter().any(|tool| tool == CRON) {
            denied.push(CRON.to_owned());
        }
        config
    }
}

/// A chat that gets the results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chat {
    pub(crate) channel: String,
    pub(crate) target: String,
}

impl From<Chat> for ChatAddress {
    fn from(Chat { channel, target }: Chat) -> Self {
        Self { channel, target }
    }
}

/// What only an automation task has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    /// What is to be done.
    pub(crate) description: String,
    /// The policy's word, as its client gave it.
    pub(crate) approval_policy: String,
    /// The Thread that it runs in, in place of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bound_to: Option<ThreadId>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Job {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) name: String,
    /// When it runs; without one, once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<Schedule>,
    /// What the agent is told: the message, or a task's workflow.
    pub(crate) prompt: String,
    pub(crate) rights: Rights,
    pub(crate) enabled: bool,
    /// Whether it goes once it has run well.
    #[serde(default)]
    pub(crate) delete_after_run: bool,
    #[serde(default)]
    pub(crate) when_missed: MissedRun,
    pub(crate) created_at: UnixMillis,
    pub(crate) updated_at: UnixMillis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deliver: Option<Chat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<Task>,
    pub(crate) state: State,
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct State {
    /// When it is due.
    pub(crate) due: Option<UnixMillis>,
    /// The wall clock when that was worked out.
    pub(crate) set_at: UnixMillis,
    /// A client wants it to run now.
    pub(crate) wanted_now: bool,
    /// The run that goes on.
    pub(crate) run: Option<Run>,
    pub(crate) last_run_at: Option<UnixMillis>,
    pub(crate) last_ok: Option<bool>,
    pub(crate) last_error: Option<String>,
    pub(crate) last_result: Option<String>,
    /// The Thread of its last run, which the next goes on in.
    pub(crate) thread: Option<ThreadId>,
    /// Runs that failed, since the last that did not.
    pub(crate) failures: u32,
    /// What else there is to say: a time that was left out, a run that a restart interrupted.
    pub(crate) note: Option<String>,
}

/// A run that goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run {
    pub(crate) started_at: UnixMillis,
    /// By how much it was late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) late_ms: Option<i64>,
    /// Its Thread; stored before its Turn starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thread: Option<ThreadId>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RunEnd {
    pub(crate) thread: Option<ThreadId>,
    /// What the agent said last.
    pub(crate) result: Option<String>,
    /// Why it failed; `None` where it did not.
    pub(crate) error: Option<String>,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
}

impl Job {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.kind, &*self.id)
    }

    /// Returns its times, if it is due at all.
    pub(crate) fn times(&self) -> Option<Times<'_>> {
        Some(Times {
            schedule: self.schedule.as_ref(),
            due: self.state.due.filter(|_| self.enabled)?,
            set_at: self.state.set_at,
            when_missed: self.when_missed,
            running: self.state.run.is_some(),
        })
    }

    /// Notes that a run has ended. Returns whether the job goes.
    pub(crate) fn ended(&mut self, end: &RunEnd, now: UnixMillis) -> bool {
        let state = &mut self.state;
        state.run = None;
        self.updated_at = now;
        state.last_run_at = Some(now);
        state.last_ok = Some(end.error.is_none());
        state.last_error.clone_from(&end.error);
        state.last_result = end.result.as_deref().map(|text| cut(text, KEPT_RESULT));
        state.thread = end.thread.clone().or(state.thread.take());
        if end.error.is_none() {
            state.failures = 0;
            return self.delete_after_run && state.due.is_none();
        }
        state.failures += 1;
        if state.failures >= MAX_FAILURES && self.enabled && self.kind != Kind::Heartbeat {
            self.enabled = false;
            let again = match self.kind {
                Kind::Task => "Run it to switch it on again.",
                Kind::Cron | Kind::Heartbeat => "Switch it on to try again.",
            };
            state.note = Some(format!(
                "Switched off: its last {MAX_FAILURES} runs failed. {again}"
            ));
        }
        false
    }
}

/// Returns the first characters of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
