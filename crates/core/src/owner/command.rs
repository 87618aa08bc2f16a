//! Commands from clients: decide, record, answer.

use bobbin_model::state::{StartTurn, StatusChange};
use bobbin_model::{Event, QueuedInputId, Refusal, ThreadStatus, Turn, TurnId, TurnStatus};

use super::Owner;
use super::record::{After, Effect, Staged};
use super::run::{BY_CALLER, BY_REQUEST};
use crate::answer::{Enqueued, QueueChanged, Resumed, RolledBack, StartedTurn, Steered};
use crate::command::{Guidance, Newest, Reply, Retitle};
use crate::{Command, CoreError, Snapshot};

impl Owner {
    async fn retitle(&mut self, retitle: Retitle) -> Result<(), CoreError> {
        let Retitle {
            before,
            display_name,
            spent: (usage, cost_micros),
            reply,
        } = retitle;
        let is_unchanged = self.state.header.display_name.as_deref() == Some(&*before);
        let renamed = if is_unchanged {
            self.state.decide_rename(&display_name)
        } else {
            Ok(Vec::new())
        };
        let used = Event::HelperUsed {
            turn: TurnId(1),
            usage,
            cost_micros,
        };
        let billed = (!usage.is_zero()).then_some(used);
        let changed = renamed.map(|renamed| renamed.into_iter().chain(billed).collect());
        self.change(changed, reply).await
    }

    /// Decides on an input for the running Turn.
    fn decide_steer(&self, what: Guidance, expected: &str) -> Result<Vec<Event>, Refusal> {
        let now = self.now();
        match what {
            Guidance::Queued { id, sender } => self.state.decide_steer(&id, expected, sender),
            Guidance::New(request) => {
                let id = self.threads.ids.queued_input(now);
                self.state.decide_steer_input(id, expected, *request, now)
            }
        }
    }

    pub(super) async fn command(&mut self, command: Command) -> Result<(), CoreError> {
        if command.is_for_a_running_server() && self.threads.stopping.is_cancelled() {
            self.once = None;
            command.refuse(CoreError::Stopping);
            return Ok(());
        }
        let now = self.now();
        match command {
            Command::Rename { display_name, reply } => {
                self.change(self.state.decide_rename(&display_name), reply).await
            }
            Command::Retitle(retitle) => self.retitle(retitle).await,
            Command::Status { change, reply } => match self.stands_alone(change) {
                Ok(()) => self.change_status(change, reply).await,
                Err(refusal) => self.refuse(refusal, reply).await,
            },
            Command::WithParent(command) => self.with_parent(*command).await,
            Command::Edge {
                parent,
                status,
                reply,
            } => self.change_edge(&parent, status, reply).await,
            Command::ParentEnded { reply } => self.parent_ended(reply).await,
            Command::Stop { reply } => self.cancel_turn(BY_CALLER, Effect::answer(Box::new(reply))).await,
            Command::Configure { config, reply } => {
                self.change(Ok(self.state.decide_configure(config)), reply).await
            }
            Command::Label { name, value, reply } => {
                let decided = self.state.decide_label(&name, value.as_deref());
                self.change(decided, reply).await
            }
            Command::SetMode { mode, reply } => self.change(Ok(self.state.decide_mode(mode)), reply).await,
            Command::Resume { by, tools, reply } => {
                let decided = self.state.decide_resume(&by, tools);
                self.resume(decided, reply).await
            }
            Command::Read { reply } => self.read(reply).await,
            Command::StartTurn { request, reply } => self.start_turn(self.decide_start(request), reply).await,
            Command::StartTurnAfter {
                messages,
                request,
                reply,
            } => {
                let decided = self.state.decide_start_turn_after(messages, request, now);
                self.start_turn(decided, reply).await
            }
            Command::Enqueue { request, reply } => self.enqueue(self.decide_enqueue(request), reply).await,
            Command::EnqueueNext { request, reply } => {
                let id = self.threads.ids.queued_input(now);
                self.enqueue(self.state.decide_enqueue_next(id, request, now), reply)
                    .await
            }
            Command::LeaveMessage { request, reply } => {
                let id = self.threads.ids.queued_input(now);
                self.enqueue(self.state.decide_message(id, request, now), reply)
                    .await
            }
            Command::ChangeQueue { change, reply } => match self.state.decide_change_queue(&change) {
                Ok(events) => self.change_queue(events, reply).await,
                Err(refusal) => self.refuse(refusal, reply).await,
            },
            Command::Steer {
                what,
                expected,
                reply,
            } => self.steer(self.decide_steer(what, &expected), reply).await,
            Command::Guide {
                request,
                turn,
                replaces,
                reply,
            } => self.guide(request, turn, replaces.as_ref(), reply).await,
            Command::RollBack {
                which,
                max_bytes,
                reply,
            } => self.roll_back(which, max_bytes, reply).await,
            Command::Revert {
                turn,
                redo,
                changed_since,
                reply,
            } => self.revert(&turn, redo, changed_since, reply).await,
            Command::Interrupt { turn, reply } => self.interrupt(&turn, reply).await,
            Command::Answer { answer, reply } => self.answer(answer, reply).await,
            // Named commands do not nest, and the outer name has been looked up.
            Command::Once { command, .. } => Box::pin(self.command(*command)).await,
            Command::Delete { reply } => match self.may_be_deleted().await {
                Ok(()) => self.delete(reply).await,
                Err(CoreError::Refused(refusal)) => self.refuse(refusal, reply).await,
                Err(error) => {
                    self.once = None;
                    reply(Err(error));
                    Ok(())
                }
            },
        }
    }

    async fn interrupt(&mut self, turn: &str, reply: Reply<()>) -> Result<(), CoreError> {
        match self.state.turn_to_interrupt(turn) {
            Ok(turn) => {
                self.interrupted = Some(turn);
                // The engine stops in any case: at once, or when the owner starts over.
                let answer = Effect::answer(Box::new(|done| {
                    reply(done.map_err(|error| match error {
                        CoreError::Store(source) => CoreError::StoppedNotStored(source),
                        other => other,
                    }));
                }));
                self.cancel_turn(BY_REQUEST, answer).await
            }
            Err(refusal) => self.refuse(refusal, reply).await,
        }
    }

    async fn read(&mut self, reply: Reply<Snapshot>) -> Result<(), CoreError> {
        let reading = Effect::read((self.snapshot(), reply));
        self.commit(Staged::default(), reading).await
    }

    /// Checks that a status may change without the parent's. A subagent may only be paused.
    fn stands_alone(&self, change: StatusChange) -> Result<(), Refusal> {
        match change {
            StatusChange::Pause => Ok(()),
            StatusChange::Archive | StatusChange::Unarchive => self.state.check_stands_alone(),
        }
    }

    /// Checks that the Thread may be deleted. A subagent may be deleted alone only if the root of its tree no longer exists.
    async fn may_be_deleted(&mut self) -> Result<(), CoreError> {
        let Err(refusal) = self.state.check_stands_alone() else {
            return Ok(());
        };
        let root = self.state.header.root().clone();
        match self.threads.store.load(&root).await? {
            None => Ok(()),
            Some(_) => Err(refusal.into()),
        }
    }

    async fn with_parent(&mut self, command: Command) -> Result<(), CoreError> {
        match command {
            Command::Status { change, reply } => self.change_status(change, reply).await,
            Command::Delete { reply } => self.delete(reply).await,
            // Other commands need no special treatment.
            other => Box::pin(self.command(other)).await,
        }
    }

    async fn delete(&mut self, reply: Reply<()>) -> Result<(), CoreError> {
        self.delete = Some((reply, self.once.take()));
        self.cancel_turn(BY_CALLER, Effect::default()).await
    }

    async fn change_status(&mut self, change: StatusChange, reply: Reply<()>) -> Result<(), CoreError> {
        let mut staged = Staged::default();
        if change == StatusChange::Archive {
            staged.append(self.stage(self.state.decide_cancel(BY_CALLER, self.now())));
        }
        staged.append(self.stage(self.state.decide_status(change)));
        self.commit(staged, Effect::answer(Box::new(reply))).await?;
        self.stop_engine().await
    }

    async fn resume(
        &mut self,
        decided: Result<Vec<Event>, Refusal>,
        reply: Reply<Resumed>,
    ) -> Result<(), CoreError> {
        let events = match decided {
            Ok(events) => events,
            Err(refusal) => return self.refuse(refusal, reply).await,
        };
        let paused = self.state.header.status == ThreadStatus::Paused;
        let goes_on = paused && self.rests_after_a_good_turn().await?;
        let mut staged = self.stage(events);
        let snapshot = self.snapshot();
        let first = staged.first().unwrap_or(snapshot.at);
        let resumed = Resumed {
            first,
            last: snapshot.at,
            snapshot,
        };
        let mut effect = Effect::answer(Box::new(move |done| reply(done.map(|()| resumed))));
        if goes_on && let Some((queued, turn)) = self.stage_queued() {
            staged.append(queued);
            effect.after.push(After::Run(turn));
        }
        self.commit(staged, effect).await
    }

    /// Whether inputs wait that would have started after the last Turn if the Thread had been active.
    async fn rests_after_a_good_turn(&mut self) -> Result<bool, CoreError> {
        if self.state.queue.is_empty() || self.state.live.is_some() {
            return Ok(false);
        }
        // Only the store knows how that Turn ended.
        self.drain_commits().await?;
        let (thread, behind) = (self.state.header.id.clone(), TurnId(u32::MAX));
        let last = self.threads.store.turns_before(&thread, behind, 1).await?;
        Ok(last
            .last()
            .is_none_or(|turn| turn.status == TurnStatus::Completed))
    }

    async fn change(
        &mut self,
        decided: Result<Vec<Event>, Refusal>,
        reply: Reply<()>,
    ) -> Result<(), CoreError> {
        match decided {
            Ok(events) => {
                let staged = self.stage(events);
                self.commit(staged, Effect::answer(Box::new(reply))).await
            }
            Err(refusal) => self.refuse(refusal, reply).await,
        }
    }

    /// Answers with a refusal, in order: the refusal must not reveal events whose commit may still fail.
    pub(super) async fn refuse<T: 'static>(
        &mut self,
        refusal: Refusal,
        reply: Reply<T>,
    ) -> Result<(), CoreError> {
        let answer = Effect::answer(Box::new(move |done| {
            reply(Err(done.err().unwrap_or(CoreError::Refused(refusal))));
        }));
        // A refused command was not executed, so a repeat is decided again.
        self.once = None;
        self.commit(Staged::default(), answer).await
    }

    async fn start_turn(
        &mut self,
        decided: Result<Vec<Event>, Refusal>,
        reply: Reply<StartedTurn>,
    ) -> Result<(), CoreError> {
        let events = match decided {
            Ok(events) => events,
            Err(refusal) => return self.refuse(refusal, reply).await,
        };
        let staged = self.stage(events);
        let (Some(seq), Some(live)) = (staged.first(), &self.state.live) else {
            return Ok(());
        };
        let turn = live.turn.clone();
        let after = After::Run(turn.id);
        let started = StartedTurn { turn, seq };
        let answer: super::record::Answering = Box::new(move |done| reply(done.map(|()| started)));
        self.commit(
            staged,
            Effect {
                answer: Some(answer),
                after: vec![after],
                ..Effect::default()
            },
        )
        .await
    }

    async fn change_queue(
        &mut self,
        events: Vec<Event>,
        reply: Reply<QueueChanged>,
    ) -> Result<(), CoreError> {
        let staged = self.stage(events);
        let changed = QueueChanged {
            seq: staged.first().unwrap_or_default(),
            queue: self.state.queue.clone(),
        };
        let answer = Effect::answer(Box::new(move |done| reply(done.map(|()| changed))));
        self.commit(staged, answer).await
    }

    async fn guide(
        &mut self,
        request: StartTurn,
        turn: TurnId,
        replaces: Option<&QueuedInputId>,
        reply: Reply<QueuedInputId>,
    ) -> Result<(), CoreError> {
        let now = self.now();
        let id = self.threads.ids.queued_input(now);
        match self
            .state
            .decide_guidance(id.clone(), request, turn, replaces, now)
        {
            Ok(events) => {
                let staged = self.stage(events);
                let answer = Effect::answer(Box::new(move |done| reply(done.map(|()| id))));
                self.commit(staged, answer).await
            }
            Err(refusal) => self.refuse(refusal, reply).await,
        }
    }

    async fn steer(
        &mut self,
        decided: Result<Vec<Event>, Refusal>,
        reply: Reply<Steered>,
    ) -> Result<(), CoreError> {
        let events = match decided {
            Ok(events) => events,
            Err(refusal) => return self.refuse(refusal, reply).await,
        };
        let staged = self.stage(events);
        let (Some(seq), Some(turn)) = (staged.first(), self.state.live_turn()) else {
            return Ok(());
        };
        let queue = self.state.queue.clone();
        let steered = Steered {
            seq,
            turn,
            running: true,
            queue,
        };
        let answer = Effect::answer(Box::new(move |done| reply(done.map(|()| steered))));
        self.commit(staged, answer).await
    }

    async fn roll_back(
        &mut self,
        which: Newest,
        max_bytes: usize,
        reply: Reply<RolledBack>,
    ) -> Result<(), CoreError> {
        // Only the store knows the Turns.
        self.drain_commits().await?;
        let count = match which {
            Newest::Count(count) => Ok(count),
            Newest::From(first) => self.turns_from(first).await,
        };
        let count = match count {
            Ok(count) => count,
            Err(error) => {
                self.once = None;
                reply(Err(error));
                return Ok(());
            }
        };
        if let Err(refusal) = self.state.check_rollback(count) {
            return self.refuse(refusal, reply).await;
        }
        let (first, turns, more) = match self.left_without(count, max_bytes).await {
            Ok(left) => left,
            Err(error) => {
                self.once = None;
                reply(Err(error));
                return Ok(());
            }
        };
        let staged = self.stage(vec![Event::TurnsRolledBack { first, count }]);
        let snapshot = self.snapshot();
        let rolled_back = RolledBack {
            snapshot,
            turns,
            more,
        };
        let answer = Effect::answer(Box::new(move |done| reply(done.map(|()| rolled_back))));
        self.commit(staged, answer).await
    }

    async fn turns_from(&mut self, first: TurnId) -> Result<u32, CoreError> {
        Ok(self
            .threads
            .store
            .turns_from(&self.state.header.id, first)
            .await?)
    }

    /// Finds the first of the newest `count` Turns, and reads the Turns before it.
    async fn left_without(
        &mut self,
        count: u32,
        max_bytes: usize,
    ) -> Result<(TurnId, Vec<Turn>, bool), CoreError> {
        let snapshot = self.snapshot();
        let id = &snapshot.state.header.id;
        let first = self.threads.store.turn_back(id, TurnId(u32::MAX), count).await?;
        let first = first.ok_or_else(|| CoreError::Refused(Refusal::ThreadNotFound(id.clone())))?;
        let (turns, more) = self
            .threads
            .turns_of(&snapshot, Some(first), usize::MAX, max_bytes)
            .await?;
        Ok((first, turns, more))
    }

    async fn enqueue(
        &mut self,
        decided: Result<Vec<Event>, Refusal>,
        reply: Reply<Enqueued>,
    ) -> Result<(), CoreError> {
        let events = match decided {
            Ok(events) => events,
            Err(refusal) => return self.refuse(refusal, reply).await,
        };
        let mut staged = self.stage(events);
        let queue = self.state.queue.clone();
        let (Some(seq), Some(entry)) = (staged.first(), queue.last().cloned()) else {
            return Ok(());
        };
        // If the Thread is idle, the input starts at once. Otherwise an input that races with the end of a Turn would never
        // start.
        let queued = self.stage_queued();
        let started = queued.as_ref().map(|(_, turn)| *turn);
        let enqueued = Enqueued {
            seq,
            started,
            entry,
            queue,
        };
        let mut effect = Effect::answer(Box::new(move |done| reply(done.map(|()| enqueued))));
        if let Some((later, turn)) = queued {
            staged.append(later);
            effect.after.push(After::Run(turn));
        }
        self.commit(staged, effect).await
    }
}
