//! Going on after what went wrong: the process ended in the middle of a Turn, or the store did not take a commit.
//!
//! Both times what counts is what is on disk. An owner whose commit failed keeps its readers, its queue and its place in
//! the map: it drops what it holds, loads the Thread and numbers on above all that was shown. Readers find the step
//! between as they would find any that they had slept through. Reading works meanwhile; a Turn that is open waits for a
//! store that takes its first event, asked ever more seldom.

use std::time::Duration;

use bobbin_model::sub_agent::{resumed_configuration, started_by_parent};
use bobbin_model::{Event, Outcome, ThreadState, ThreadStatus, TurnId};
use bobbin_store::step::{Step, reached};
use tokio::time::Instant;

use super::record::{After, Effect, Unstored};
use super::{Owner, run};
use crate::CoreError;

/// Pause before the store is tried again, the first time and at most: a user who has made room wants to see it used.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(8);

/// Why a Turn that was open at two crashes in a row ends.
const CRASHED_TWICE: &str = "The server crashed twice while this turn ran, so the turn does not go on by itself. What it did \
                             is kept; send another message to go on.";

/// Why a Turn has to be taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// It was open when the last process ended.
    Restarted,
    /// What it did could not be stored.
    NotStored,
}

/// An open Turn that no engine works on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stalled {
    turn: TurnId,
    /// When it is tried again.
    pub(super) again_at: Instant,
    /// How long is waited for that.
    pause: Duration,
}

/// The parent's Turn that started an open Turn of a subagent.
enum ParentTurn {
    /// There is none: a user started the Turn.
    None,
    /// It runs; the state of the parent.
    Runs(Box<ThreadState>),
    /// It is over.
    Over,
}

impl Owner {
    /// Goes on with the open Turn, if there is one, from its last recorded Item.
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
            // A client was answered that it ends: it does not go on.
            return self.end_turn(Outcome::Cancelled { reason }).await;
        }
        // Nothing of it runs while it waits for an answer.
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

    /// Returns the parent's Turn that started the open one. A subagent's Turn ends with it; a Turn that a user started
    /// goes on.
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

    /// Goes back to what is stored, after a commit has failed. Returns whether the owner can go on.
    pub(super) async fn start_over(&mut self, error: &CoreError) -> bool {
        if self.threads.stopping.is_cancelled() {
            return false;
        }
        let id = self.state.header.id.clone();
        // Callers that only read get the state, not the error.
        let readers: Vec<_> = self
            .commits
            .iter_mut()
            .filter_map(|commit| commit.read.take())
            .collect();
        self.fail(error).await;
        let loaded = match self.threads.store.load(&id).await {
            Ok(Some(loaded)) => loaded,
            // It was just being made: there is nothing to go back to.
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
        // Of the store as of the log: a commit that failed may have been stored all the same.
        let head = loaded.head_seq.max(self.log.visible());
        self.ceiling = head;
        self.log.restart(head.next());
        for (_, reply) in readers {
            reply(Ok(self.snapshot()));
        }
        // The store takes nothing more of the owner that failed.
        self.number = self.threads.next_owner();
        let now = Instant::now();
        let waiting = self.stalled.filter(|stalled| stalled.again_at > now);
        self.stalled = self.state.live_turn().map(|turn| match waiting {
            // Others who try in vain do not put it off.
            Some(waiting) if waiting.turn == turn => waiting,
            _ => Stalled {
                turn,
                again_at: now + FIRST_PAUSE,
                pause: FIRST_PAUSE,
            },
        });
        true
    }

    /// Tries to go on with a Turn whose time has come.
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
