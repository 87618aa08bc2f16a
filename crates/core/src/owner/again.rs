//! Recovery: after the end of the process in the middle of a Turn, and after a failed commit.
//!
//! In both cases the state on disk counts. An owner whose commit failed retains its readers, its queue and its entry in the
//! map. It drops its state, loads the Thread and continues with Seqs after all that were shown. Readers treat the gap like
//! events that they have missed. Reads work meanwhile. An open Turn waits until the store accepts its first event; the pauses
//! between attempts grow.

use std::time::Duration;

use bobbin_model::sub_agent::{resumed_configuration, started_by_parent};
use bobbin_model::{Event, Outcome, ThreadState, ThreadStatus, TurnId};
use bobbin_store::step::{Step, reached};
use tokio::time::Instant;

use super::record::{After, Effect, Unstored};
use super::{Owner, run};
use crate::CoreError;

/// First and longest pause before the store is tried again. A user who has made room expects progress soon.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(8);

/// Error of a Turn that was open at two crashes in a row.
const CRASHED_TWICE: &str = "The server crashed twice while this turn ran, so the turn does not go on by itself. What it did \
                             is kept; send another message to go on.";

/// Reason of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It was open when the last process ended.
    Restarted,
    /// Its changes could not be stored.
    NotStored,
}

/// An open Turn without an engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stalled {
    turn: TurnId,
    /// Time of the next attempt.
    pub(super) again_at: Instant,
    /// Pause before that attempt.
    pause: Duration,
}

/// The parent's Turn that started a subagent's open Turn.
enum ParentTurn {
    /// None: a user started the Turn.
    None,
    /// It runs; this is the parent's state.
    Runs(Box<ThreadState>),
    /// It is over.
    Over,
}

impl Owner {
    /// Resumes the open Turn, if there is one, from its last recorded Item.
    pub(super) async fn take_up(&mut self, why: Why) -> Result<(), CoreError> {
        if self.state.live.is_none() {
            return Ok(());
        }
        reached(Step::TakingUp);
        let parent = self.parent_turn().await?;
        let Some(live) = &self.state.live else {
            return Ok(());
        };
        let turn = live.turn.id;
        let archived = self.state.header.status == ThreadStatus::Archived;
        let stopped = live
            .cancelling
            .clone()
            .or_else(|| (self.interrupted == Some(turn)).then(|| run::BY_REQUEST.to_owned()))
            .or_else(|| (archived || matches!(parent, ParentTurn::Over)).then(|| run::BY_CALLER.to_owned()));
        if let Some(reason) = stopped {
            // A client was answered that the Turn ends, so it must not go on.
            return self.end_turn(Outcome::Cancelled { reason }).await;
        }
        // A Turn that waits for an answer runs nothing, so it cannot cause a crash.
        let crashed = why == Why::Restarted && live.approvals.is_empty();
        if crashed && live.crashes > 0 {
            tracing::warn!(thread = %self.state.header.id, %turn, "a turn was open at two crashes in a row: it fails");
            let error = CRASHED_TWICE.to_owned();
            return self
                .end_turn_with(Outcome::Failed { error }, "crashed_twice")
                .await;
        }
        let happened = match why {
            Why::Restarted => "The server restarted",
            Why::NotStored => "What the turn did could not be stored for a while",
        };
        let then = if !live.approvals.is_empty() {
            "; the turn is still waiting for an approval."
        } else if live
            .pending_calls()
            .any(|(call, _)| live.started_calls.contains(call))
        {
            " while a tool call ran; the call was not repeated."
        } else {
            "; the turn goes on from its last recorded item."
        };
        let recovered = Event::TurnRecovered {
            turn,
            reason: format!("{happened}{then}"),
            crashed,
        };
        // The parent's configuration may have changed meanwhile.
        let config = match parent {
            ParentTurn::Runs(parent) => resumed_configuration(&self.state, &parent),
            ParentTurn::None | ParentTurn::Over => None,
        };
        let configured = config.map(|config| Event::ThreadConfigured { config });
        let staged = self.stage(configured.into_iter().chain([recovered]).collect());
        self.commit(staged, Effect::after(After::Run(turn))).await
    }

    /// Returns the parent's Turn that started the open Turn. A subagent's Turn ends with it; a Turn that a user started goes
    /// on.
    async fn parent_turn(&mut self) -> Result<ParentTurn, CoreError> {
        let Some(parent) = started_by_parent(&self.state) else {
            return Ok(ParentTurn::None);
        };
        let state = self.threads.store.load(&parent).await?.map(|loaded| loaded.state);
        let runs = |state: &ThreadState| {
            state.header.status != ThreadStatus::Archived
                && state.live.as_ref().is_some_and(|live| live.cancelling.is_none())
        };
        Ok(match state.filter(runs) {
            Some(state) => ParentTurn::Runs(Box::new(state)),
            None => ParentTurn::Over,
        })
    }

    /// Reloads the stored state after a failed commit. Returns whether the owner can go on.
    pub(super) async fn start_over(&mut self, error: &CoreError) -> bool {
        if self.threads.stopping.is_cancelled() || !self.threads.is_holder() {
            return false;
        }
        let id = self.state.header.id.clone();
        // Callers that only read get the state instead of the error.
        let readers: Vec<_> = self
            .commits
            .iter_mut()
            .filter_map(|commit| commit.read.take())
            .collect();
        self.fail(error).await;
        let loaded = match self.threads.store.load(&id).await {
            Ok(Some(loaded)) => loaded,
            // The Thread was being created, so nothing is stored.
            Ok(None) => {
                for (_, reply) in readers {
                    reply(Err(error.clone()));
                }
                return false;
            }
            Err(unread) => {
                tracing::error!(thread = %id, error = %unread, "the thread cannot be read back");
                let unread = CoreError::from(unread);
                for (_, reply) in readers {
                    reply(Err(unread.clone()));
                }
                return false;
            }
        };
        tracing::warn!(thread = %id, %error, source = ?std::error::Error::source(error).map(ToString::to_string),
            "a change could not be stored; the thread goes back to what is");
        while self.requests.try_recv().is_ok() {}
        self.todo.clear();
        self.broadcasts.clear();
        self.unstored = Unstored::default();
        self.once = None;
        self.state = loaded.state;
        self.shared.set_policy(self.threads.policy_of(&self.state));
        self.asking
            .set(self.state.approvals().len(), self.state.live.is_some());
        // The later of both: a failed commit may have been stored after all.
        let head = loaded.head_seq.max(self.log.visible());
        self.ceiling = head;
        self.log.restart(head.next());
        for (_, reply) in readers {
            reply(Ok(self.snapshot()));
        }
        // With a new number, the store refuses late writes of the old one.
        self.number = self.threads.next_owner();
        let now = Instant::now();
        let waiting = self.stalled.filter(|stalled| stalled.again_at > now);
        self.stalled = self.state.live_turn().map(|turn| match waiting {
            // Failures of other requests do not delay the next attempt.
            Some(waiting) if waiting.turn == turn => waiting,
            _ => Stalled {
                turn,
                again_at: now + FIRST_PAUSE,
                pause: FIRST_PAUSE,
            },
        });
        true
    }

    /// Tries to resume a stalled Turn at its time.
    pub(super) async fn go_on_if_stalled(&mut self, now: Instant) -> Result<(), CoreError> {
        let Some(stalled) = self.stalled else {
            return Ok(());
        };
        if self.run.is_some() || self.state.live_turn() != Some(stalled.turn) {
            self.stalled = None;
            return Ok(());
        }
        if stalled.again_at > now {
            return Ok(());
        }
        let pause = (stalled.pause * 2).min(LAST_PAUSE);
        self.stalled = Some(Stalled {
            again_at: now + pause,
            pause,
            ..stalled
        });
        if self.commits.is_empty() {
            self.take_up(Why::NotStored).await?;
        }
        Ok(())
    }
}
