//! Named requests: executed once, and answered again when they are repeated.

use bobbin_model::{Edge, Event, Refusal, Seq, TokenUsage, Turn, TurnStatus};
use bobbin_store::StoredEvent;

use super::Owner;
use super::record::{self, Effect, Staged};
use crate::answer::{Edged, Enqueued, QueueChanged, Resumed, Reverted, RolledBack, StartedTurn, Steered};
use crate::{Command, CoreError, Ended, Retitle};
use bobbin_agent_api::Once;
use bobbin_agent_api::undo::Undone;

/// The stored effect of a repeated request.
enum Found {
    /// The request caused events; these are the first of them.
    Events(Seq, Vec<StoredEvent>),
    /// It changed nothing.
    Nothing,
}

impl Owner {
    /// Executes a named command, or repeats its answer.
    pub(super) async fn once(&mut self, once: Once, command: Command) -> Result<(), CoreError> {
        if self.commits.iter().any(|commit| commit.is_of(&once.id)) {
            // The request is on its way to disk and is found there afterwards.
            self.drain_commits().await?;
        }
        let thread = self.state.header.id.clone();
        match self.threads.store.request(Some(&thread), &once.id).await {
            Err(error) => command.refuse(error.into()),
            Ok(Some(known)) if known.body != once.body => {
                command.refuse(Refusal::RequestIdReused(once.id).into());
            }
            Ok(Some(known)) => match self.found(known.seq).await {
                Ok(found) => return self.answer_again(command, found).await,
                Err(error) => command.refuse(error),
            },
            Ok(None) => {
                self.once = Some(once);
                self.command(command).await?;
                return self.note_unchanged().await;
            }
        }
        Ok(())
    }

    /// Answers a repeated deletion of a deleted Thread. Returns every other command.
    pub(super) async fn deleted_before(&mut self, why: Ended, command: Command) -> Option<Command> {
        let Command::Once { once, command } = command else {
            return Some(command);
        };
        let Command::Delete { reply } = *command else {
            return Some(*command);
        };
        let thread = &self.state.header.id;
        let known = match why {
            Ended::Deleted => self
                .threads
                .store
                .request(Some(thread), &once.id)
                .await
                .ok()
                .flatten(),
            Ended::Failed | Ended::Stopped => None,
        };
        if known.is_some_and(|known| known.body == once.body) {
            reply(Ok(()));
            return None;
        }
        Some(Command::Delete { reply })
    }

    /// Records a named command that was accepted and changed nothing.
    async fn note_unchanged(&mut self) -> Result<(), CoreError> {
        if self.once.is_none() {
            return Ok(());
        }
        let id = self.once.as_ref().map(|once| once.id.clone());
        let receipt = self.submit(Staged::default(), Vec::new(), None).await?;
        self.commits
            .push_back(record::Commit::unseen(receipt, self.ceiling, id));
        Ok(())
    }

    pub(super) async fn drain_commits(&mut self) -> Result<(), CoreError> {
        while !self.commits.is_empty() {
            let done = record::front(&mut self.commits).await;
            self.committed(done)?;
        }
        Ok(())
    }

    async fn found(&mut self, seq: Option<Seq>) -> Result<Found, CoreError> {
        let Some(seq) = seq else { return Ok(Found::Nothing) };
        let id = self.state.header.id.clone();
        // The second event shows whether a queued input started at once.
        let last = Seq(seq.0 + 2);
        let events = self.threads.store.events(&id, seq.prev(), last, 2).await?;
        Ok(Found::Events(seq, events))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one arm for each command that has an answer"
    )]
    async fn answer_again(&mut self, command: Command, found: Found) -> Result<(), CoreError> {
        let answer: record::Answering = match (command, found) {
            (
                Command::StartTurn { reply, .. } | Command::StartTurnAfter { reply, .. },
                Found::Events(seq, events),
            ) => {
                let Some(turn) = events.first().and_then(turn_of) else {
                    return Ok(());
                };
                Box::new(move |done| reply(done.map(|()| StartedTurn { turn, seq })))
            }
            (
                Command::Enqueue { reply, .. } | Command::LeaveMessage { reply, .. },
                Found::Events(seq, events),
            ) => {
                let Some((queue, entry)) = events.first().and_then(queue_of).and_then(|queue| {
                    let entry = queue.last().cloned()?;
                    Some((queue, entry))
                }) else {
                    return Ok(());
                };
                let started = events.get(1).and_then(turn_of).map(|turn| turn.id);
                let started = started.filter(|turn| self.state.live_turn() == Some(*turn));
                let enqueued = Enqueued {
                    seq,
                    started,
                    entry,
                    queue,
                };
                Box::new(move |done| reply(done.map(|()| enqueued)))
            }
            (Command::ChangeQueue { reply, .. }, Found::Events(seq, events)) => {
                let queue = events.first().and_then(queue_of).unwrap_or_default();
                Box::new(move |done| reply(done.map(|()| QueueChanged { seq, queue })))
            }
            (Command::Steer { reply, expected, .. }, Found::Events(seq, events)) => {
                let queue = events.first().and_then(queue_of).unwrap_or_default();
                let Ok(turn) = expected.parse() else { return Ok(()) };
                let running = self.state.live_turn() == Some(turn);
                let steered = Steered {
                    seq,
                    turn,
                    running,
                    queue,
                };
                Box::new(move |done| reply(done.map(|()| steered)))
            }
            (Command::RollBack { reply, max_bytes, .. }, Found::Events(..)) => {
                let snapshot = self.snapshot();
                let left = self.threads.turns_of(&snapshot, None, usize::MAX, max_bytes);
                let rolled_back = left.await.map(|(turns, more)| RolledBack {
                    snapshot,
                    turns,
                    more,
                });
                Box::new(move |done| reply(done.and(rolled_back)))
            }
            (Command::Revert { reply, .. }, Found::Events(_, events)) => {
                let Some(reverted) = events.first().and_then(reverted_of) else {
                    return Ok(());
                };
                Box::new(move |done| reply(done.map(|()| reverted)))
            }
            (Command::Resume { reply, .. }, Found::Events(first, events)) => {
                let snapshot = self.snapshot();
                let resumed = events
                    .iter()
                    .rfind(|stored| matches!(*stored.event, Event::ThreadResumed { .. }));
                let last = resumed.map_or(first, |stored| stored.seq);
                let resumed = Resumed {
                    first,
                    last,
                    snapshot,
                };
                Box::new(move |done| reply(done.map(|()| resumed)))
            }
            (
                Command::Rename { reply, .. }
                | Command::Retitle(Retitle { reply, .. })
                | Command::Label { reply, .. }
                | Command::Status { reply, .. }
                | Command::Configure { reply, .. }
                | Command::SetMode { reply, .. }
                | Command::Interrupt { reply, .. }
                | Command::Answer { reply, .. }
                | Command::Stop { reply }
                | Command::ParentEnded { reply }
                | Command::Delete { reply },
                _,
            ) => Box::new(reply),
            // The first request was accepted, so the edge exists and has the right parent. Later changes of the edge do not
            // matter.
            (Command::Edge { status, reply, .. }, _) => {
                let source = self.state.header.source.sub_agent().cloned();
                let edged = source.zip(self.state.edge).map(|(source, edge)| Edged {
                    source,
                    edge: Edge { status, ..edge },
                });
                Box::new(move |done| reply(done.and_then(|()| edged.ok_or(CoreError::Busy))))
            }
            // The stored effect does not belong to this kind of command: execute the command.
            (command, _) => return self.command(command).await,
        };
        self.commit(Staged::default(), Effect::answer(answer)).await
    }
}

fn turn_of(stored: &StoredEvent) -> Option<Turn> {
    match &*stored.event {
        Event::TurnStarted {
            turn,
            user_item,
            origin_channel,
            ..
        } => Some(Turn {
            id: *turn,
            status: TurnStatus::Running,
            items: user_item.iter().map(|item| (**item).clone()).collect(),
            started_at: stored.at,
            completed_at: None,
            usage: TokenUsage::default(),
            cost_micros: 0,
            files_changed: 0,
            files_undone: false,
            error: None,
            origin_channel: origin_channel.clone(),
        }),
        _ => None,
    }
}

fn reverted_of(stored: &StoredEvent) -> Option<Reverted> {
    match &*stored.event {
        Event::TurnReverted {
            turn, files, notes, ..
        } => Some(Reverted {
            turn: *turn,
            undone: Undone {
                files: files.clone(),
                notes: notes.clone(),
            },
        }),
        _ => None,
    }
}

fn queue_of(stored: &StoredEvent) -> Option<Vec<bobbin_model::QueuedInput>> {
    match &*stored.event {
        Event::QueueChanged { queue } => Some(queue.clone()),
        _ => None,
    }
}
