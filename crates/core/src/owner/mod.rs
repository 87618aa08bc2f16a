//! The owner of one live Thread: the only task that has its state.
//!
//! One loop serves commits, commands, engine requests and deadlines in this order: commits first, since they free room, then
//! clients, then the engine. The owner waits only for the store's writer and for the files of an undo. An undo is bounded in
//! time, and no Turn may start meanwhile. At most [`MAX_COMMITS`] commits are in flight. At that bound the owner takes no
//! commands and no requests, which delays only engines and clients of this Thread.
//!
//! After a failed commit the owner's state is ahead of the disk. The owner answers everything open with the error and reloads
//! the stored state ([`again`]). If it cannot read that state, it ends.

mod again;
mod approval;
mod audit;
mod command;
mod once;
mod parent;
mod record;
mod request;
mod revert;
mod run;
mod weight;

pub use weight::weight_of_item;
pub(crate) use weight::{weight_of, weight_of_turn};

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::Once;
use bobbin_model::state::StartTurn;
use bobbin_model::{ApprovalId, Event, Seq, ThreadState, TurnId, UnixMillis};
use bobbin_store::step::{Step, reached};
use bobbin_store::{Lease, StoreError};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::Snapshot;
use crate::asking::Asking;
use crate::command::Reply;
use crate::engine::{Asker, TurnRequest};
use crate::handle::Shared;
use crate::threads::Threads;
use crate::{Command, CoreError, Ended, Frame, Log, ThreadHandle};

use again::{Stalled, Why};
use record::{After, Commit, Effect, Unstored};
use run::{Ran, Run};

/// Most commits of one Thread in flight.
const MAX_COMMITS: usize = 64;
/// Most engine requests that wait; then the engine waits.
const REQUEST_QUEUE: usize = 256;
/// Most requests handled before their results are shown to readers.
const REQUEST_BATCH: usize = 64;
/// Sleep of a loop without a deadline.
const FAR: Duration = Duration::from_hours(1);

/// Events with their times.
pub(crate) type Past = Vec<(Event, UnixMillis)>;

/// The start of a new Thread.
pub(crate) struct Beginning {
    /// Its first events, with their times.
    pub(crate) past: Past,
    /// Its first Turn, started in the same transaction.
    pub(crate) turn: Option<StartTurn>,
    /// Takes the answer.
    pub(crate) reply: Reply<Snapshot>,
}

pub(crate) struct Owner {
    threads: Arc<Threads>,
    state: ThreadState,
    log: Arc<Log<Arc<Frame>>>,
    shared: Arc<Shared>,
    asking: Asking,
    inbox: mpsc::Receiver<Command>,
    requests: mpsc::Receiver<(TurnId, TurnRequest)>,
    request_sender: mpsc::Sender<(TurnId, TurnRequest)>,
    /// Commits in flight and answers that wait for them, oldest first.
    commits: VecDeque<Commit>,
    /// Actions that committed events cause, in order.
    todo: VecDeque<After>,
    /// Highest Seq that may be shown. A Seq after it could be assigned again after a crash.
    ceiling: Seq,
    /// Frames for the workspace's log that are not shown yet.
    broadcasts: VecDeque<Arc<Frame>>,
    /// Streamed text that is not stored yet.
    unstored: Unstored,
    /// The running engine.
    run: Option<Run>,
    /// The open Turn without an engine, since the store refused its changes.
    stalled: Option<Stalled>,
    /// The last Turn that a client interrupted. It does not go on, even if the interruption could not be stored.
    interrupted: Option<TurnId>,
    /// Calls that wait for an Approval.
    askers: HashMap<ApprovalId, Vec<Asker>>,
    /// Distinguishes this owner's writes from those of other owners of the same Thread.
    number: u64,
    /// The named request in execution, until a commit takes it.
    pub(crate) once: Option<Once>,
    /// The pending deletion, executed once the Turn has ended. Its named request is recorded with the end of the Thread, not
    /// before.
    delete: Option<(Reply<()>, Option<Once>)>,
    /// Time of the last event.
    not_before: UnixMillis,
    /// Start of the present idle time.
    idle_since: Instant,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one value at a time, on the owner's stack"
)]
enum Next {
    Committed(Result<(), CoreError>),
    Command(Command),
    Requests,
    Ran(Ran),
    Deadline,
    Stop,
    Lapsed,
}

/// Waits until it is not certain that this process is the workspace's holder; for ever where that is always certain.
async fn lapsed(lease: &mut Option<Lease>) {
    match lease {
        Some(lease) => lease.lapsed().await,
        None => std::future::pending().await,
    }
}

impl Owner {
    pub(crate) fn new(threads: Arc<Threads>, state: ThreadState, head: Seq) -> (Self, Arc<ThreadHandle>) {
        let log = Arc::new(Log::new(head.next(), threads.settings.log));
        let shared = Arc::new(Shared::default());
        shared.set_policy(threads.policy_of(&state));
        let below = state
            .header
            .source
            .sub_agent()
            .map(|_| threads.open_in_subagents.clone());
        let mut asking = Asking::new(shared.clone(), below);
        asking.set(state.approvals().len(), state.live.is_some());
        let (handle, inbox) = ThreadHandle::new(&state.header, log.clone(), shared.clone());
        let (request_sender, requests) = mpsc::channel(REQUEST_QUEUE);
        let number = threads.next_owner();
        let owner = Self {
            threads,
            state,
            log,
            shared,
            asking,
            inbox,
            requests,
            request_sender,
            commits: VecDeque::new(),
            todo: VecDeque::new(),
            ceiling: head,
            broadcasts: VecDeque::new(),
            unstored: Unstored::default(),
            run: None,
            stalled: None,
            interrupted: None,
            askers: HashMap::new(),
            number,
            once: None,
            delete: None,
            not_before: UnixMillis(0),
            idle_since: Instant::now(),
        };
        (owner, Arc::new(handle))
    }

    /// Runs until the Thread is unloaded, deleted, failed or stopped. `started` has the first events of a new Thread.
    /// Without it the Thread was loaded, and its open Turn is resumed.
    pub(crate) async fn run(mut self, started: Option<Beginning>) {
        let first = match started {
            Some(beginning) => self.begin(beginning).await,
            None if self.threads.has_failed(&self.state.header.id) => self.take_up(Why::NotStored).await,
            None => self.take_up(Why::Restarted).await,
        };
        let mut ended = match first {
            Ok(()) => self.serve().await,
            Err(error) => Err(error),
        };
        while let Err(error) = &ended {
            if !self.start_over(error).await {
                break;
            }
            ended = self.serve().await;
        }
        let why = match ended {
            Ok(None) => return,
            Ok(Some(why)) => why,
            Err(error) => {
                tracing::error!(thread = %self.state.header.id, %error, "the thread is closed and will be loaded again");
                self.fail(&error).await;
                // Its state may be ahead of the stored one, which alone says whether a Turn is open.
                self.threads.load_again(self.state.header.id.clone());
                Ended::Failed
            }
        };
        self.shared.end(why);
        self.log.close();
        self.threads.remove(&self.state.header.id, &self.shared);
        self.refuse_commands(why).await;
    }

    /// Serves the Thread. Returns the reason of its end, or `None` if it was unloaded.
    async fn serve(&mut self) -> Result<Option<Ended>, CoreError> {
        let mut batch = Vec::with_capacity(REQUEST_BATCH);
        let stopping = self.threads.stopping.clone();
        let mut stop_seen = false;
        let mut lease = self.threads.store.lease();
        loop {
            while let Some(after) = self.todo.pop_front() {
                self.act(after).await?;
                reached(Step::AfterEffect);
            }
            if self.run.is_none()
                && self.state.live.is_none()
                && let Some((reply, once)) = self.delete.take()
            {
                self.once = once;
                self.delete_now(reply).await?;
                return Ok(Some(Ended::Deleted));
            }
            if stop_seen && self.run.is_none() && self.commits.is_empty() {
                return Ok(Some(Ended::Stopped));
            }
            let room = self.commits.len() < MAX_COMMITS;
            let deadline = self.deadline();
            let next = tokio::select! {
                biased;
                () = lapsed(&mut lease) => Next::Lapsed,
                done = record::front(&mut self.commits) => Next::Committed(done),
                Some(command) = self.inbox.recv(), if room && self.delete.is_none() => Next::Command(command),
                _ = self.requests.recv_many(&mut batch, REQUEST_BATCH), if room => Next::Requests,
                ran = run::ended(&mut self.run), if room => Next::Ran(ran),
                () = stopping.cancelled(), if !stop_seen => Next::Stop,
                () = tokio::time::sleep_until(deadline) => Next::Deadline,
            };
            if !matches!(next, Next::Deadline) {
                self.idle_since = Instant::now();
            }
            match next {
                // Another process may be the Thread's owner now: nothing more is shown, and no engine goes on.
                Next::Lapsed => return Err(StoreError::NotHeld.into()),
                Next::Committed(done) => self.committed(done)?,
                Next::Command(Command::Once { once, command }) => self.once(once, *command).await?,
                Next::Command(command) => self.command(command).await?,
                Next::Requests => {
                    for (turn, request) in batch.drain(..) {
                        reached(Step::RequestTaken);
                        self.request(turn, request).await?;
                    }
                    self.checkpoint_if_large().await?;
                    self.reveal();
                    // An engine that never pauses must not delay deadlines.
                    if deadline <= Instant::now() {
                        self.deadlines().await?;
                    }
                }
                Next::Ran(ran) => {
                    reached(Step::EngineEnded);
                    self.ran(ran).await?;
                }
                Next::Stop => {
                    stop_seen = true;
                    self.leave_turn_open().await?;
                }
                Next::Deadline => {
                    if self.deadlines().await? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    async fn begin(&mut self, beginning: Beginning) -> Result<(), CoreError> {
        let Beginning { past, turn, reply } = beginning;
        let mut staged = self.stage_past(past);
        let mut after = None;
        if let Some(request) = turn {
            match self.state.decide_start_turn(request, self.now()) {
                Ok(events) => {
                    staged.append(self.stage(events));
                    after = self.state.live_turn().map(After::Run);
                }
                // Nothing is on disk, so the Thread does not exist.
                Err(refusal) => {
                    reply(Err(refusal.clone().into()));
                    return Err(refusal.into());
                }
            }
        }
        let snapshot = self.snapshot();
        let answer: record::Answering = Box::new(move |done| reply(done.map(|()| snapshot)));
        let effect = Effect {
            after: after.into_iter().collect(),
            ..Effect::answer(answer)
        };
        self.commit(staged, effect).await
    }

    /// Returns the time. Within a Turn it never goes back, even if the machine's clock does, so that effects are never
    /// earlier than their causes. Between Turns the clock is trusted again.
    fn now(&self) -> UnixMillis {
        let now = self.threads.clock.now();
        match &self.state.live {
            Some(live) => now.max(live.turn.started_at).max(self.not_before),
            None => now,
        }
    }

    /// Returns the time of the next action that no request triggers.
    fn deadline(&self) -> Instant {
        let settled = self.run.is_none() && self.state.live.is_none() && self.commits.is_empty();
        let idle = settled.then(|| self.idle_since + self.threads.unload_after());
        let abort = self.run.as_ref().and_then(|run| run.abort_at);
        let again = self.stalled.as_ref().map(|stalled| stalled.again_at);
        [self.unstored.due, abort, self.next_expiry(), again, idle]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or_else(|| Instant::now() + FAR)
    }

    /// Does all actions that are due. Returns whether the Thread was unloaded.
    async fn deadlines(&mut self) -> Result<bool, CoreError> {
        let now = Instant::now();
        if self.unstored.due.is_some_and(|due| due <= now) {
            self.checkpoint().await?;
        }
        self.abort_if_stuck(now);
        self.expire_approvals().await?;
        self.go_on_if_stalled(now).await?;
        let settled = self.run.is_none() && self.state.live.is_none() && self.commits.is_empty();
        if !settled || self.idle_since + self.threads.unload_after() > now {
            return Ok(false);
        }
        let inbox = &self.inbox;
        let out = self
            .threads
            .unload(&self.state.header.id, &self.shared, || inbox.is_empty());
        if !out {
            self.idle_since = now;
        }
        Ok(out)
    }

    async fn delete_now(&mut self, reply: Reply<()>) -> Result<(), CoreError> {
        let staged = self.stage(vec![Event::ThreadDeleted]);
        self.commit(staged, Effect::answer(Box::new(reply))).await?;
        while !self.commits.is_empty() {
            let done = record::front(&mut self.commits).await;
            self.committed(done)?;
        }
        let id = self.state.header.id.clone();
        self.threads.own(self.threads.clone().delete_orphans(id));
        Ok(())
    }

    /// Answers everything that waits for this owner with the error that ended it.
    async fn fail(&mut self, error: &CoreError) {
        for commit in self.commits.drain(..) {
            commit.fail(error);
        }
        if let Some((reply, _)) = self.delete.take() {
            reply(Err(error.clone()));
        }
        self.askers.clear();
        if let Some(run) = self.run.take() {
            run.abort().await;
        }
    }

    /// Answers the commands that arrived too late.
    async fn refuse_commands(&mut self, why: Ended) {
        self.inbox.close();
        // Waits until the last sender with a reserved place has sent or left.
        while let Some(command) = self.inbox.recv().await {
            let id = self.state.header.id.clone();
            let Some(command) = self.deleted_before(why, command).await else {
                continue;
            };
            command.refuse(match why {
                Ended::Deleted => bobbin_model::Refusal::ThreadNotFound(id).into(),
                // A client that repeats the command finds another owner, or gets the error of loading it.
                Ended::Failed => CoreError::Busy,
                Ended::Stopped => CoreError::Stopping,
            });
        }
    }
}
