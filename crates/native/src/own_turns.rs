//! The Turns that a client has started and that end with its connection, as those of `bobbin exec` do.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_core::{Command, StartedTurn, ThreadHandle};
use bobbin_model::TurnId;
use parking_lot::Mutex;

/// Limit of known Turns; the oldest is forgotten first, and has usually ended.
const MAX_TURNS: usize = 64;

/// The newest Turns of one connection.
#[derive(Default)]
pub(crate) struct OwnTurns(Mutex<VecDeque<(Arc<ThreadHandle>, TurnId)>>);

impl OwnTurns {
    /// Adds a Turn.
    pub(crate) fn add(&self, thread: Arc<ThreadHandle>, started: &StartedTurn) {
        let mut turns = self.0.lock();
        if turns.len() == MAX_TURNS {
            turns.pop_front();
        }
        turns.push_back((thread, started.turn.id));
    }

    /// Interrupts the Turns that have not ended.
    pub(crate) async fn end(&self) {
        let turns = std::mem::take(&mut *self.0.lock());
        for (thread, turn) in turns {
            let turn = turn.to_string();
            // Refused if it has ended.
            drop(thread.ask(|reply| Command::Interrupt { turn, reply }).await);
        }
    }
}
