//! Reads the conversation of a Turn from the record.
//!
//! Reading goes backwards: from the newest Turn to the Turn in which the newest compaction's retained part starts, or
//! to a bound in Turns and bytes. Messages that a compaction covers are not counted, and the end of the newest Turn is
//! always included. If a bound cuts something off, the last older compaction is searched for separately and the model
//! is notified of the gap. The caller then compacts the missing part, or notifies users.

use bobbin_agent_api::TurnGone;
use bobbin_core::engine::EngineFailure;
use std::sync::Arc;

use bobbin_model::{Compaction, ContextWindow, Item, ItemBody, ItemId, TurnId};

use super::compaction::CutOff;
use super::conversation::{Placed, Start, behind, handed_in, messages, newest_compaction, placed};
use super::past::PastTurn;
use super::turn::TurnRun;
use bobbin_agent_api::model::Message;

/// Most bytes of earlier Turns for a model whose window is unknown, and the minimum for a model whose window is known.
/// The oldest Turns are left out first (guess: about the size of today's smaller windows beside the current Turn).
pub(super) const MAX_HISTORY_BYTES: usize = 256 << 10;
/// Most bytes of earlier Turns, whatever the window.
const MAX_BYTES: usize = 4 << 20;
/// Most bytes of a token: text beyond the window would be compacted, so it is not read.
const BYTES_OF_TOKEN: u64 = 4;
/// Most Turns searched for a compaction, beyond those that the model gets (guess: some seconds of reading).
const MAX_LOOKED: usize = 1_000;
/// Code of the note that a model does not get all of a conversation.
const LEFT_OUT: &str = "history_left_out";

/// How far back is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// As far as the model's conversation goes.
    Conversation,
    /// Twice as far: a summary needs the part that the model no longer gets.
    Summary,
}

/// The place from which a part of a conversation is missing.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeftOut {
    /// In the model's conversation, without a summary.
    OfConversation,
    /// In the summary of the missing part.
    OfSummary,
}

/// The Turns before the current one, as far as they were read.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// The Turns, oldest first.
    pub(super) turns: Vec<Arc<PastTurn>>,
    /// The newest compaction, which may be in none of `turns`.
    pub(super) done: Option<Compaction>,
    /// The start of the model's conversation, if a bound has cut something off before it.
    pub(super) cut: Option<(TurnId, ItemId)>,
}

impl Earlier {
    /// Returns the messages of a conversation. `newest` is a compaction that is not recorded yet.
    pub(super) fn placed(&self, turn: TurnId, own: &[Item], newest: Option<&Compaction>) -> Vec<Placed> {
        let all = placed(&self.turns, turn, own);
        let done = self.newest(own, newest);
        let from = done.map(|done| done.kept_from);
        let cut = self.gap(own, newest);
        match cut.or(from) {
            Some(at) => behind(
                Start {
                    at,
                    summary: done.map(|done| done.summary.as_str()),
                    gap: cut.is_some(),
                },
                all,
            ),
            None => all,
        }
    }

    fn newest<'a>(&'a self, own: &'a [Item], newest: Option<&'a Compaction>) -> Option<&'a Compaction> {
        newest
            .or_else(|| newest_compaction(own.iter()))
            .or(self.done.as_ref())
    }

    /// Returns the start of the model's conversation, if a part before it is in no summary.
    pub(super) fn gap(&self, own: &[Item], newest: Option<&Compaction>) -> Option<(TurnId, ItemId)> {
        let from = self.newest(own, newest).map(|done| done.kept_from);
        // A part that a summary covers is not missing.
        self.cut.filter(|cut| Some(*cut) > from)
    }

    /// Returns the oldest Turn that a compaction may retain, so that the next Turns get all retained messages; the
    /// first Turn where no bound applies.
    pub(super) fn oldest_retained(&self, wanted: usize, own: TurnId) -> TurnId {
        if self.turns.len() < wanted && self.cut.is_none() {
            return TurnId(0);
        }
        let newest = self.turns.len().saturating_sub(wanted / 2);
        self.turns.get(newest).map_or(own, |turn| turn.id)
    }
}

impl TurnRun {
    /// Reads the conversation from the record.
    pub(super) async fn read_conversation(&mut self) -> Result<(), EngineFailure> {
        let turn = self.turn.clone();
        let at_start = turn.at_start();
        let own = messages(&at_start.turn.items);
        let is_round =
            |message: &&Message| matches!(message, Message::Agent { calls, .. } if !calls.is_empty());
        let rounds = own.iter().filter(is_round).count();
        self.ledger.change(|spent| spent.rounds = rounds);
        if let Some(before) = &at_start.history {
            // The client has the history and supplies a part of it.
            let own = Earlier::default().placed(at_start.turn.id, &at_start.turn.items, None);
            self.messages = handed_in(before);
            self.messages.extend(own.into_iter().map(|placed| placed.message));
            self.result_limits.fit(&mut self.messages);
            return Ok(());
        }
        let earlier = self.earlier(Reach::Conversation).await?;
        let placed = earlier
            .placed(at_start.turn.id, &at_start.turn.items, None)
            .into_iter();
        self.messages = placed.map(|placed| placed.message).collect();
        self.result_limits.fit(&mut self.messages);
        self.full.cut_off = match earlier.cut {
            None => CutOff::Nothing,
            // A resumed Turn's own note counts.
            Some(_)
                if earlier.turns.iter().any(|turn| turn.notifies_of_gap)
                    || at_start.turn.items.iter().any(notifies_of_gap) =>
            {
                CutOff::Notified
            }
            Some(_) => CutOff::Something,
        };
        Ok(())
    }

    /// Reads the earlier Turns of which the model still gets a part.
    pub(super) async fn earlier(&self, reach: Reach) -> Result<Earlier, EngineFailure> {
        let own = self.turn.at_start();
        let times = match reach {
            Reach::Conversation => 1,
            Reach::Summary => 2,
        };
        let from = newest_compaction(own.turn.items.iter()).map(|done| done.kept_from);
        let mut reading = Reading {
            wanted: times * self.history_turns(),
            room: times * room(self.full.window),
            from,
            ..Reading::default()
        };
        if reading.wanted == 0 {
            return Ok(Earlier::default());
        }
        let thread = self.turn.thread();
        let mut backwards = self.past.before(thread, own.turn.id);
        let mut goes_on = from.is_none_or(|from| from.0 < own.turn.id);
        while goes_on {
            let turn = backwards.next(&self.turn).await.map_err(|error| {
                tracing::error!(%thread, %error, "cannot read a thread's history");
                EngineFailure::Failed("The conversation so far could not be read.".to_owned())
            })?;
            goes_on = turn.is_some_and(|turn| reading.take(turn));
        }
        self.past.cache(thread, backwards);
        reading.newest_first.reverse();
        Ok(Earlier {
            turns: reading.newest_first,
            done: reading.done,
            cut: reading.cut,
        })
    }

    /// Returns how many earlier Turns the model gets.
    pub(super) fn history_turns(&self) -> usize {
        let model = self.turn.environment().config.model.as_deref();
        self.model.history_turns(model) as usize
    }

    /// Notifies users that the model does not get all of the conversation.
    pub(super) async fn note_left_out(&self, what: LeftOut) -> Result<(), TurnGone> {
        let message = match what {
            LeftOut::OfConversation => {
                "This conversation is longer than what the model is given of it, and it was not compacted: the model does \
                 not know its beginning. Say again what matters, or start a new thread."
            }
            LeftOut::OfSummary => {
                "This conversation is longer than what the model can read to sum it up: older parts of it are in no \
                 summary, and the model does not know them. Say again what matters, or start a new thread."
            }
        };
        let note = ItemBody::Error {
            message: message.to_owned(),
            code: LEFT_OUT.to_owned(),
            fatal: false,
        };
        self.turn.add(note).await
    }
}

/// Returns whether an Item notifies users that the model does not get everything.
pub(super) fn notifies_of_gap(item: &Item) -> bool {
    matches!(&item.body, ItemBody::Error { code, .. } if code == LEFT_OUT)
}

/// Earlier Turns, read newest first.
#[derive(Debug, Default)]
struct Reading {
    wanted: usize,
    room: usize,
    bytes: usize,
    newest_first: Vec<Arc<PastTurn>>,
    /// The start of the part that the newest compaction retains.
    from: Option<(TurnId, ItemId)>,
    /// The newest compaction, if it is in an earlier Turn.
    done: Option<Compaction>,
    cut: Option<(TurnId, ItemId)>,
    looked: usize,
}

impl Reading {
    /// Takes the next older Turn; returns whether an older one may be needed.
    fn take(&mut self, turn: Arc<PastTurn>) -> bool {
        if self.from.is_some_and(|from| turn.id < from.0) {
            return false;
        }
        if self.from.is_none()
            && let Some(done) = &turn.done
        {
            self.from = Some(done.kept_from);
            self.bytes += done.summary.len();
            self.done = Some(done.clone());
        }
        if let Some(newer) = self.newest_first.last()
            && self.newest_first.len() == self.wanted
        {
            self.cut.get_or_insert((newer.id, ItemId(0)));
        }
        if self.cut.is_some() {
            self.looked += 1;
            return self.from.is_none() && self.looked < MAX_LOOKED;
        }
        if self.weigh(&turn) {
            self.newest_first.push(turn);
        }
        self.cut.is_none() || self.from.is_none()
    }

    /// Counts the part of a Turn that the model gets, and notes the start of a partial Turn. Returns whether there is
    /// any.
    fn weigh(&mut self, turn: &PastTurn) -> bool {
        let newer = self.newest_first.last().map(|newer| (newer.id, ItemId(0)));
        let mut start = None;
        let from = self.from;
        let is_given = |placed: &&Placed| from.is_none_or(|from| placed.at >= from);
        for placed in turn.steps.iter().filter(is_given).rev() {
            self.bytes += placed.message.bytes();
            // The newest group of the newest Turn is included whatever its size.
            if self.bytes > self.room && (start.is_some() || newer.is_some()) {
                self.cut = start.or(newer);
                return start.is_some();
            }
            if !matches!(placed.message, Message::Result { .. }) {
                start = Some(placed.at);
            }
        }
        true
    }
}

fn room(window: Option<ContextWindow>) -> usize {
    let bytes = window.map_or(0, |window| window.tokens.saturating_mul(BYTES_OF_TOKEN));
    usize::try_from(bytes)
        .unwrap_or(usize::MAX)
        .clamp(MAX_HISTORY_BYTES, MAX_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_windows_are_given_more_of_the_past() {
        assert_eq!(room(None), MAX_HISTORY_BYTES);
        assert_eq!(room(Some(ContextWindow::of(8_000, None))), MAX_HISTORY_BYTES);
        assert_eq!(room(Some(ContextWindow::default())), 720_000);
        assert_eq!(room(Some(ContextWindow::of(u64::MAX, None))), MAX_BYTES);
    }
}
