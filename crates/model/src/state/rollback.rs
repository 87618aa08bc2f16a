//! Finds the Turn that a command stops, undoes or rolls back, and checks whether the command is possible.

use super::ThreadState;
use crate::{Refusal, ThreadStatus, TurnId};

impl ThreadState {
    /// Checks that Turns may be rolled back now.
    ///
    /// # Errors
    /// [`Refusal::NotNow`] when the Thread is archived, a Turn runs, `count` is zero, or the Thread has fewer
    /// Turns.
    pub fn check_rollback(&self, count: u32) -> Result<(), Refusal> {
        if count == 0 {
            return Err(Refusal::NotNow("There is no such turn to roll back.".into()));
        }
        if self.header.status == ThreadStatus::Archived {
            return Err(Refusal::NotNow(
                "The thread is archived; unarchive it first.".into(),
            ));
        }
        if let Some(live) = &self.live {
            return Err(Refusal::NotNow(format!(
                "{} is still in progress; cancel it or wait for its end first.",
                live.turn.id
            )));
        }
        if count > self.turn_count {
            return Err(Refusal::NotNow(format!(
                "There are {} turns to roll back, not {count}.",
                self.turn_count
            )));
        }
        Ok(())
    }

    /// Finds the Turn that an interrupt names; an empty text names the running one.
    ///
    /// # Errors
    /// [`Refusal::TurnNotFound`], [`Refusal::TurnNotRunning`].
    pub fn turn_to_interrupt(&self, text: &str) -> Result<TurnId, Refusal> {
        let live = self.live.as_ref().map(|live| live.turn.id);
        if text.is_empty() {
            return live.ok_or_else(|| Refusal::TurnNotRunning(text.to_owned()));
        }
        match text.parse::<TurnId>() {
            Ok(id) if Some(id) == live => Ok(id),
            Ok(id) if id.0 >= 1 && id <= self.last_turn => Err(Refusal::TurnNotRunning(text.to_owned())),
            _ => Err(Refusal::TurnNotFound(text.to_owned())),
        }
    }

    /// Finds the Turn whose file changes a command undoes.
    ///
    /// # Errors
    /// [`Refusal::TurnInProgress`], [`Refusal::TurnNotFound`].
    pub fn turn_to_revert(&self, text: &str) -> Result<TurnId, Refusal> {
        self.check_idle()?;
        text.parse::<TurnId>()
            .ok()
            .filter(|id| id.0 >= 1 && *id <= self.last_turn)
            .ok_or_else(|| Refusal::TurnNotFound(text.to_owned()))
    }
}
