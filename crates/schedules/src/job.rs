//! A job: its prompt, schedule and rights, and the state of its runs.
//!
//! Values only. A job is stored whole, as JSON; members that are added later need a default.

use bobbin_agent_api::channel::ChatAddress;
use bobbin_model::{ApprovalPolicy, ThreadConfig, ThreadId, TriggerKind, UnixMillis};
use serde::{Deserialize, Serialize};

use crate::due::{MissedRun, Times};
use crate::group::types::NotificationPolicy;
use crate::schedule::Schedule;
use crate::tool::CRON;

/// Most jobs of a workspace, of all kinds together (a guess: a list that its user still reads).
pub(crate) const MAX_JOBS: usize = 200;
/// Most jobs that run at the same time.
pub(crate) const MAX_RUNNING: usize = 3;
/// Failed runs in a row after which a job is switched off.
pub(crate) const MAX_FAILURES: u32 = 5;
/// Longest message of a job, in characters.
pub(crate) const MAX_MESSAGE: usize = 10_000;
/// Longest name of a job, in characters.
pub(crate) const MAX_NAME: usize = 200;
/// Most ended runs that a job stores (a guess: a month of daily runs).
pub(crate) const MAX_PAST_RUNS: usize = 31;
/// Characters of a result that a job stores (AppServer protocol 05 §2).
const MAX_PAST_TEXT: usize = 500;

/// Kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kind {
    /// A cron job, made by an agent with its tool.
    Cron,
    /// An automation task, made by a client.
    Task,
    /// The job that reads `HEARTBEAT.md`.
    Heartbeat,
}

impl Kind {
    /// Returns the kind's name in the store and in the owner of its Threads.
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

    /// Returns the trigger of its messages.
    pub(crate) fn trigger(self) -> TriggerKind {
        match self {
            Self::Cron => TriggerKind::Cron,
            Self::Task => TriggerKind::Automation,
            Self::Heartbeat => TriggerKind::Heartbeat,
        }
    }
}

/// Identifies a job.
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

/// Rights of a job: the rights its author had when the job was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rights {
    /// The configuration of the author's Thread.
    pub(crate) config: ThreadConfig,
    /// How the author's Approvals were decided.
    pub(crate) approvals: ApprovalPolicy,
}

impl Rights {
    /// Returns the configuration of a run; `workspace` is the workspace's present approval policy.
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
        // In a Thread's configuration, `default` means the workspace's policy, which may allow more by now.
        let freer_now = policy == ApprovalPolicy::Default && workspace != ApprovalPolicy::Default;
        config.approval_policy = Some(if freer_now { ApprovalPolicy::Ask } else { policy });
        // A job may not make jobs.
        let denied = config.tool_deny_list.get_or_insert_default();
        if !denied.iter().any(|tool| tool == CRON) {
            denied.push(CRON.to_owned());
        }
        config
    }
}

/// The chat that gets a job's results.
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

/// Members that only an automation task has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    /// Task description.
    pub(crate) description: String,
    /// The policy's name, as the client sent it.
    pub(crate) approval_policy: String,
    /// The Thread that the task runs in, instead of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bound_to: Option<ThreadId>,
    /// Whether each run has a new Thread of its own.
    #[serde(default)]
    pub(crate) starts_anew: bool,
    /// Which ends of runs its user is to be notified of; stored for clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) notify: Option<NotificationPolicy>,
    /// The profile of the agent; stored for clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent_profile: Option<String>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Job {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its schedule; `None` if it runs once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<Schedule>,
    /// Prompt of the run: the message of a cron job, or a task's workflow.
    pub(crate) prompt: String,
    pub(crate) rights: Rights,
    pub(crate) enabled: bool,
    /// Whether the job is removed after a run that succeeded.
    #[serde(default)]
    pub(crate) delete_after_run: bool,
    #[serde(default)]
    pub(crate) when_missed: MissedRun,
    pub(crate) created_at: UnixMillis,
    pub(crate) updated_at: UnixMillis,
    /// How often the definition has changed.
    #[serde(default)]
    pub(crate) changes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deliver: Option<Chat>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<Task>,
    pub(crate) state: State,
}

/// State of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct State {
    /// Time of the next run.
    pub(crate) due: Option<UnixMillis>,
    /// The wall clock when `due` was computed.
    pub(crate) set_at: UnixMillis,
    /// Whether a client requested a run now.
    pub(crate) wanted_now: bool,
    /// When it did.
    pub(crate) wanted_at: Option<UnixMillis>,
    /// The present run.
    pub(crate) run: Option<Run>,
    pub(crate) last_run_at: Option<UnixMillis>,
    pub(crate) last_ok: Option<bool>,
    pub(crate) last_error: Option<String>,
    pub(crate) last_result: Option<String>,
    /// The Thread of its last run; the next run may use it again.
    pub(crate) thread: Option<ThreadId>,
    /// Failed runs since the last that succeeded.
    pub(crate) failures: u32,
    /// A sentence for users: a skipped time, a run that a restart interrupted, or why the job is off.
    pub(crate) note: Option<String>,
    /// Number of runs that have started.
    pub(crate) run_count: u32,
    /// The latest ended runs, newest first: at most [`MAX_PAST_RUNS`].
    pub(crate) runs: Vec<PastRun>,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PastRun {
    pub(crate) run: Run,
    pub(crate) completed_at: UnixMillis,
    pub(crate) outcome: RunOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Whether the chat has its result; `None` as long as that is not known, and for jobs without a chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delivered: Option<bool>,
    /// When its user read of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) read_at: Option<UnixMillis>,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RunOutcome {
    #[default]
    Succeeded,
    Failed,
    Cancelled,
}

/// A run that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run {
    pub(crate) started_at: UnixMillis,
    /// Its number among the job's runs, from 1.
    #[serde(default)]
    pub(crate) number: u32,
    /// When a client requested it, or when it was due.
    #[serde(default)]
    pub(crate) created_at: UnixMillis,
    /// The changes of the definition with which it started.
    #[serde(default)]
    pub(crate) changes: u32,
    /// Whether it started by the clock.
    #[serde(default)]
    pub(crate) by_clock: bool,
    /// Its delay in milliseconds, if it is late.
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
    /// The agent's last message.
    pub(crate) result: Option<String>,
    /// Why it failed; `None` if it succeeded.
    pub(crate) error: Option<String>,
    /// Whether a user stopped it.
    pub(crate) stopped: bool,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
}

impl Job {
    /// Returns the id of a run.
    pub(crate) fn run_id(&self, number: u32) -> String {
        format!("{}-{number}", self.id)
    }

    /// Whether it has run for the last time by the clock.
    pub(crate) fn is_over(&self) -> bool {
        let state = &self.state;
        match &self.schedule {
            // A user may have it run again; that does not bring it back.
            Some(Schedule::At { .. }) => {
                state.due.is_none() && !state.run.as_ref().is_some_and(|run| run.by_clock)
            }
            Some(_) => false,
            None => state.due.is_none() && !state.wanted_now && state.run.is_none(),
        }
    }

    pub(crate) fn key(&self) -> Key {
        Key::new(self.kind, &*self.id)
    }

    /// Returns its times, if it is enabled and has a due time.
    pub(crate) fn times(&self) -> Option<Times<'_>> {
        Some(Times {
            schedule: self.schedule.as_ref(),
            due: self.state.due.filter(|_| self.enabled)?,
            set_at: self.state.set_at,
            when_missed: self.when_missed,
            running: self.state.run.is_some(),
        })
    }

    /// Records that a run has ended. Returns whether the job is to be removed.
    pub(crate) fn ended(&mut self, end: &RunEnd, now: UnixMillis) -> bool {
        let state = &mut self.state;
        if let Some(mut run) = state.run.take() {
            run.thread = end.thread.clone().or(run.thread);
            let past = PastRun {
                run,
                completed_at: now,
                outcome: match &end.error {
                    None => RunOutcome::Succeeded,
                    Some(_) if end.stopped => RunOutcome::Cancelled,
                    Some(_) => RunOutcome::Failed,
                },
                summary: end.result.as_deref().map(|text| cut(text, MAX_PAST_TEXT)),
                error: end.error.as_deref().map(|text| cut(text, MAX_PAST_TEXT)),
                delivered: None,
                read_at: None,
            };
            state.runs.insert(0, past);
            state.runs.truncate(MAX_PAST_RUNS);
        }
        self.updated_at = now;
        state.last_run_at = Some(now);
        state.last_ok = Some(end.error.is_none());
        state.last_error.clone_from(&end.error);
        state.last_result = end.result.as_deref().map(|text| cut(text, MAX_PAST_TEXT));
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
