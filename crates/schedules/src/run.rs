//! One run of a job: a Turn in a Thread, followed to its end.
//!
//! The run stores its Thread before its Turn starts, and the Turn names its job. So a restart finds an interrupted run: its
//! Turn resumes as every Turn does, or was never stored and starts now. No Turn of a run starts twice.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::channel::ChatMessage;
use bobbin_core::{Command, CoreError, StartedTurn, ThreadHandle, Threads};
use bobbin_model::state::{NewThread, StartTurn};
use bobbin_model::{
    HistoryMode, Identity, InputPart, ItemBody, Json, Refusal, ThreadId, ThreadStatus, Trigger, Turn,
    TurnFeatures, TurnId, TurnStatus,
};

use crate::job::{Job, Kind, RunEnd, cut};
use crate::owner::{ScheduleError, Schedules, Surroundings};
use crate::prompt;

/// Longest run (a guess: a longer run waits for something that never comes).
const LONGEST: Duration = Duration::from_hours(2);
/// Pause before a failed read or write is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Most Turns of a job in one Thread; the next run starts another Thread, so that no Thread grows without end.
const TURNS_OF_A_THREAD: u32 = 50;
/// Latest Turns that are searched for an interrupted run.
const LOOKED_THROUGH: u32 = 16;
/// Longest name of a job's Thread, in characters.
const TITLE: usize = 50;
/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;
/// Longest result that is sent, in characters.
const SENT_RESULT: usize = 16_000;

/// Broadcast: a run has ended.
pub(crate) struct JobEnded(pub(crate) Arc<Job>, pub(crate) RunEnd);

/// Reason why a run has no ended Turn.
enum Broken {
    /// The run failed; the text is a sentence for the user.
    Failed(String, Option<ThreadId>),
    /// The server shuts down, or the job was removed: nothing is recorded.
    Over,
}

impl From<CoreError> for Broken {
    fn from(error: CoreError) -> Self {
        match error {
            CoreError::Stopping => Self::Over,
            error => Self::Failed(format!("The run could not start: {error}."), None),
        }
    }
}

/// Runs a job whose run is stored, or resumes it after a restart.
pub(crate) async fn run(around: Arc<Surroundings>, schedules: Schedules, job: Arc<Job>) {
    let one = One {
        threads: around.threads.clone(),
        schedules,
        job,
    };
    let stopping = one.threads.stopping().clone();
    let end = tokio::select! {
        () = stopping.cancelled() => return,
        end = one.drive(&around) => end,
    };
    let end = match end {
        Ok(end) => end,
        Err(Broken::Failed(error, thread)) => RunEnd {
            thread,
            error: Some(error),
            ..RunEnd::default()
        },
        Err(Broken::Over) => return,
    };
    let Some(job) = one.note(&end).await else { return };
    if job.kind == Kind::Heartbeat {
        one.schedules.beaten(&end);
    }
    if let (Some(delivered), Some(run)) = (deliver(&around, &job, &end).await, &one.job.state.run) {
        let (key, number) = (job.key(), run.number);
        let noted = one
            .schedules
            .ask(move |book, _| Ok((book.note_delivery(&key, number, delivered), ())));
        if let Err(error) = noted.await {
            tracing::warn!(job = job.id, %error, "it cannot be noted whether a chat has a job's result");
        }
    }
    let weight = end.result.as_ref().map_or(0, String::len) + 512;
    around.threads.broadcasts().send(JobEnded(job, end), weight);
}

struct One {
    threads: Arc<Threads>,
    schedules: Schedules,
    job: Arc<Job>,
}

impl One {
    async fn drive(&self, around: &Surroundings) -> Result<RunEnd, Broken> {
        let interrupted = self.job.state.run.as_ref().and_then(|run| run.thread.clone());
        let found = match &interrupted {
            Some(thread) => self.find(thread).await?,
            None => None,
        };
        let (thread, turn) = if let (Some(thread), Some(turn)) = (interrupted, found) {
            (thread, turn)
        } else {
            let prompt = prompt::of(&self.job, &self.threads.settings().workspace, around).await;
            let Some(text) = prompt.map_err(|why| Broken::Failed(why, None))? else {
                return Ok(RunEnd::default());
            };
            self.start(text).await?
        };
        let ended = tokio::time::timeout(LONGEST, self.ended(&thread, turn)).await;
        let late = match ended {
            Ok(ended) => return Ok(end_of(thread, &ended?)),
            Err(late) => late,
        };
        tracing::warn!(job = self.job.id, %late, "a run of a job takes too long and is stopped");
        if let Ok(handle) = self.threads.thread(&thread).await {
            let turn = turn.to_string();
            // The Turn may have ended meanwhile, which is as good.
            drop(handle.ask(|reply| Command::Interrupt { turn, reply }).await);
        }
        let minutes = LONGEST.as_secs() / 60;
        Err(Broken::Failed(
            format!("The run was stopped after {minutes} minutes."),
            Some(thread),
        ))
    }

    /// Starts the Turn. Returns its Thread and id.
    async fn start(&self, text: Vec<InputPart>) -> Result<(ThreadId, TurnId), Broken> {
        let bound = self.job.task.as_ref().and_then(|task| task.bound_to.clone());
        if let Some(thread) = bound {
            return self.start_bound(thread, text).await;
        }
        let settings = self.threads.settings();
        let config = self.job.rights.configuration(settings.approval_policy.get());
        let starts_anew = self.job.task.as_ref().is_some_and(|task| task.starts_anew);
        if let Some(thread) = &self.job.state.thread
            && !starts_anew
            && let Some(handle) = self.thread(thread).await?
        {
            let state = self.threads.snapshot(&handle).await?.state;
            let fits = state.header.status == ThreadStatus::Active
                && state.live.is_none()
                && state.turn_count < TURNS_OF_A_THREAD
                && state.header.config.as_ref() == Some(&config);
            if fits {
                self.note_thread(thread).await?;
                match self.start_in(&handle, text.clone()).await {
                    Ok(turn) => return Ok((thread.clone(), turn)),
                    // A client started a Turn first: use another Thread.
                    Err(CoreError::Refused(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let id = self.threads.fresh_thread_id();
        self.note_thread(&id).await?;
        let owner = match self.job.kind {
            Kind::Heartbeat => self.job.id.clone(),
            kind => format!("{}:{}", kind.as_str(), self.job.id),
        };
        let new = NewThread {
            id: id.clone(),
            identity: Identity {
                channel_name: self.job.kind.channel().to_owned(),
                user_id: Some(owner),
                channel_context: None,
                workspace_path: None,
            },
            config: Some(config),
            history_mode: HistoryMode::Server,
            display_name: Some(cut(&self.job.name, TITLE)),
        };
        let started = self.threads.start_thread_with_turn(new, self.turn(text)).await?;
        let turn = started.state.live_turn().unwrap_or(TurnId(1));
        Ok((id, turn))
    }

    /// Starts the Turn in the Thread that a task is bound to, after the Turn that runs there.
    async fn start_bound(
        &self,
        thread: ThreadId,
        text: Vec<InputPart>,
    ) -> Result<(ThreadId, TurnId), Broken> {
        let gone = |why: &str| Broken::Failed(format!("The thread that it is bound to {why}."), None);
        self.note_thread(&thread).await?;
        loop {
            let Some(handle) = self.thread(&thread).await? else {
                return Err(gone("is not there any more"));
            };
            match self.start_in(&handle, text.clone()).await {
                Ok(turn) => return Ok((thread, turn)),
                Err(CoreError::Refused(Refusal::TurnInProgress { turn, .. })) => {
                    drop(handle);
                    self.ended(&thread, turn).await?;
                }
                Err(CoreError::Refused(Refusal::ThreadNotActive { .. })) => {
                    return Err(gone("is paused or archived"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn start_in(&self, handle: &ThreadHandle, text: Vec<InputPart>) -> Result<TurnId, CoreError> {
        let request = self.turn(text);
        let started: StartedTurn = handle.ask(|reply| Command::StartTurn { request, reply }).await?;
        Ok(started.turn.id)
    }

    fn turn(&self, input: Vec<InputPart>) -> StartTurn {
        let name = &self.job.name;
        let late = self.job.state.run.as_ref().and_then(|run| run.late_ms);
        let label = late.map_or_else(
            || name.clone(),
            |late| format!("{name}, {} minutes late", late / MINUTE),
        );
        StartTurn {
            client_message_id: None,
            input,
            sender: None,
            trigger: Some(Box::new(Trigger {
                kind: self.job.kind.trigger(),
                label: Some(label),
                ref_id: Some(self.job.id.clone()),
            })),
            channel: Some(self.job.kind.channel().to_owned()),
            features: TurnFeatures {
                command_execution: true,
                tool_execution: true,
                // No client owns the run: questions are declined unless a client has joined the Thread.
                approvals: false,
                person: false,
                ..TurnFeatures::default()
            },
        }
    }

    /// Returns a Thread, or `None` if it no longer exists.
    async fn thread(&self, id: &ThreadId) -> Result<Option<Arc<ThreadHandle>>, Broken> {
        loop {
            match self.threads.thread(id).await {
                Ok(handle) => return Ok(Some(handle)),
                Err(CoreError::Refused(_)) => return Ok(None),
                Err(CoreError::Stopping) => return Err(Broken::Over),
                Err(error) => {
                    tracing::warn!(thread = %id, %error, "the thread of a job cannot be read for now");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Finds the Turn of a run that was interrupted.
    async fn find(&self, thread: &ThreadId) -> Result<Option<TurnId>, Broken> {
        let Some(handle) = self.thread(thread).await? else {
            return Ok(None);
        };
        let since = self.job.state.run.as_ref().map(|run| run.started_at);
        let is_ours = |turn: &Turn| {
            let first = turn.items.first().map(|item| &item.body);
            let trigger = match first {
                Some(ItemBody::UserMessage(said)) => said.trigger.as_ref(),
                _ => None,
            };
            let is_of_job = trigger.is_some_and(|trigger| {
                trigger.kind == self.job.kind.trigger() && trigger.ref_id.as_deref() == Some(&*self.job.id)
            });
            is_of_job && since.is_none_or(|since| turn.started_at >= since)
        };
        let state = self.threads.snapshot(&handle).await?.state;
        if let Some(live) = state.live.as_ref().filter(|live| is_ours(&live.turn)) {
            return Ok(Some(live.turn.id));
        }
        let turns = self
            .threads
            .turns_before(thread, TurnId(u32::MAX), LOOKED_THROUGH)
            .await?;
        Ok(turns.iter().rev().find(|turn| is_ours(turn)).map(|turn| turn.id))
    }

    /// Waits for the end of a Turn and returns it.
    async fn ended(&self, thread: &ThreadId, turn: TurnId) -> Result<Turn, Broken> {
        let gone = || Broken::Failed("Its thread or turn was removed.".to_owned(), Some(thread.clone()));
        loop {
            let handle = self.thread(thread).await?.ok_or_else(gone)?;
            let over = self.threads.turn_over(&handle, turn).await;
            match over {
                Ok(()) => break,
                Err(CoreError::Stopping) => return Err(Broken::Over),
                // The Thread's owner ended; another will start.
                Err(_) => tokio::time::sleep(RETRY).await,
            }
        }
        loop {
            match self.threads.turns_before(thread, TurnId(turn.0 + 1), 1).await {
                Ok(mut turns) => return turns.pop().filter(|last| last.id == turn).ok_or_else(gone),
                Err(CoreError::Stopping) => return Err(Broken::Over),
                Err(error) => {
                    tracing::warn!(%thread, %error, "the end of a job's run cannot be read for now");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Stores the Thread of the run.
    async fn note_thread(&self, thread: &ThreadId) -> Result<(), Broken> {
        let (key, thread) = (self.job.key(), thread.clone());
        let noted = self.schedules.ask(move |book, _| book.note_thread(&key, thread));
        noted.await.map_err(|error| match error {
            ScheduleError::Store(error) => {
                Broken::Failed(format!("The run could not be stored: {error}."), None)
            }
            // The job was removed.
            ScheduleError::Refused(_) | ScheduleError::Stopping => Broken::Over,
        })
    }

    /// Stores the end of the run. Returns the job after it, or the job of this run if it was removed.
    async fn note(&self, end: &RunEnd) -> Option<Arc<Job>> {
        loop {
            let (key, noted) = (self.job.key(), end.clone());
            let ended = self
                .schedules
                .ask(move |book, now| Ok(book.ended(&key, &noted, now)));
            match ended.await {
                Ok(job) => return Some(job.unwrap_or_else(|| self.job.clone())),
                Err(ScheduleError::Stopping) => return None,
                Err(error) => {
                    tracing::error!(job = self.job.id, %error, "the end of a job's run cannot be stored for now");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }
}

fn end_of(thread: ThreadId, turn: &Turn) -> RunEnd {
    let said = turn.items.iter().rev().find_map(|item| match &item.body {
        ItemBody::AgentMessage { text } if !text.trim().is_empty() => Some(cut(text.trim(), SENT_RESULT)),
        _ => None,
    });
    let stopped = turn.status == TurnStatus::Cancelled;
    let error = match turn.status {
        TurnStatus::Completed => None,
        TurnStatus::Cancelled => Some("The run was stopped.".to_owned()),
        _ => Some(turn.error.clone().unwrap_or_else(|| "The run failed.".to_owned())),
    };
    RunEnd {
        thread: Some(thread),
        result: said,
        error,
        stopped,
        input_tokens: turn.usage.input_tokens,
        output_tokens: turn.usage.output_tokens,
    }
}

/// Sends the result to the job's chat. Returns whether the chat has it; `None` if there is nothing to send. The
/// implementation limits the time.
async fn deliver(around: &Surroundings, job: &Job, end: &RunEnd) -> Option<bool> {
    let chat = job.deliver.as_ref()?;
    let text = match (&end.error, &end.result) {
        (Some(error), _) => format!("{} failed: {error}", job.name),
        (None, Some(result)) => result.clone(),
        (None, None) => return None,
    };
    let Some(channels) = &around.channels else {
        return Some(false);
    };
    let origin = Json::object(&format!(r#"{{"origin":"{}"}}"#, job.kind.channel()));
    let sent = channels.deliver(chat.clone().into(), ChatMessage::Text(text), origin);
    let sent = sent.await.inspect_err(|error| {
        tracing::warn!(job = job.id, code = %error.code, %error, "the result of a job was not delivered");
    });
    Some(sent.is_ok())
}
