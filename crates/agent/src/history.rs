//! The conversation of a Turn, read from the record.
//!
//! Read backwards: from the newest Turn to the one in which the newest compaction begins to keep, or to a bound in Turns and
//! bytes. What a compaction stands for is not counted, and the end of the newest Turn is always there. Where a bound cuts
//! something off, the last compaction further back is looked for by itself, the model is told that there is a gap, and
//! the caller has it summed up, or tells people.

use bobbin_agent_api::TurnGone;
use bobbin_core::engine::EngineFailure;
use std::sync::Arc;

use bobbin_model::{Compaction, ContextWindow, Item, ItemBody, ItemId, TurnId};

use super::compaction::CutOff;
use super::conversation::{Placed, Start, behind, handed_in, messages, newest_compaction, placed};
use super::past::PastTurn;
use super::turn::TurnRun;
use bobbin_agent_api::model::Message;

/// Most bytes of earlier Turns given to a model whose window is not known, and least to one whose window is; the oldest
/// Turns are left out first (guess: about what the smaller windows of today hold beside the Turn at hand).
pub(super) const MAX_HISTORY_BYTES: usize = 256 << 10;
/// Most bytes of them whatever the window.
const MAX_BYTES: usize = 4 << 20;
/// Bytes that a token may have: what does not fit into a window is compacted, and not read for nothing.
const BYTES_OF_TOKEN: u64 = 4;
/// Most Turns in which a compaction is looked for behind those that are given (guess: some seconds of reading).
const MAX_LOOKED: usize = 1_000;
/// Code of the note that a model is not given all of a conversation.
const LEFT_OUT: &str = "history_left_out";

/// How far back is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// As far as a model is given something.
    Conversation,
    /// Twice as far: a summary is to have what the model is not given any more.
    Summary,
}

/// Where something of a conversation is missing.
#[derive(Debug, Clone, Copy)]
pub(super) enum LeftOut {
    /// In what the model is given, without a summary.
    OfConversation,
    /// In the summary that stands for it.
    OfSummary,
}

/// What was read of the Turns before the one at hand.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Them, oldest first.
    pub(super) turns: Vec<Arc<PastTurn>>,
    /// The newest compaction, which may be in none of them.
    pub(super) done: Option<Compaction>,
    /// Where what is given begins, when a bound has cut something off before it.
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

    /// Returns where what is given begins, when something before it is in no summary.
    pub(super) fn gap(&self, own: &[Item], newest: Option<&Compaction>) -> Option<(TurnId, ItemId)> {
        let from = self.newest(own, newest).map(|done| done.kept_from);
        // What a summary stands for is not missed.
        self.cut.filter(|cut| Some(*cut) > from)
    }

    /// Returns the oldest Turn that a compaction may keep, so that the next Turns are given all of what it keeps; the first where
    /// that makes no difference.
    pub(super) fn oldest_kept(&self, wanted: usize, own: TurnId) -> TurnId {
        if self.turns.len() < wanted && self.cut.is_none() {
            return TurnId(0);
        }
        let newest = self.turns.len().saturating_sub(wanted / 2);
        self.turns.get(newest).map_or(own, |turn| turn.id)
    }
}

impl TurnRun {
    /// Reads the conversation as it stands in the record.
    pub(super) async fn read_conversation(&mut self) -> Result<(), EngineFailure> {
        let turn = self.turn.clone();
        let begun = turn.begun();
        let own = messages(&begun.turn.items);
        let is_round =
            |message: &&Message| matches!(message, Message::Agent { calls, .. } if !calls.is_empty());
        let rounds = own.iter().filter(is_round).count();
        self.ledger.change(|spent| spent.rounds = rounds);
        if let Some(before) = &begun.history {
            // The client keeps the history, and says how much of it there is.
            let own = Earlier::default().placed(begun.turn.id, &begun.turn.items, None);
            self.messages = handed_in(before);
            self.messages.extend(own.into_iter().map(|placed| placed.message));
            return Ok(());
        }
        let earlier = self.earlier(Reach::Conversation).await?;
        let placed = earlier.placed(begun.turn.id, &begun.turn.items, None).into_iter();
        self.messages = placed.map(|placed| placed.message).collect();
        self.full.cut_off = match earlier.cut {
            None => CutOff::Nothing,
            // This Turn's own note counts where it is taken up again.
            Some(_)
                if earlier.turns.iter().any(|turn| turn.tells_left_out)
                    || begun.turn.items.iter().any(tells_left_out) =>
            {
                CutOff::Told
            }
            Some(_) => CutOff::Something,
        };
        Ok(())
    }

    /// Reads the earlier Turns that a model is still given something of.
    pub(super) async fn earlier(&self, reach: Reach) -> Result<Earlier, EngineFailure> {
        let own = self.turn.begun();
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
        self.past.keep(thread, backwards);
        reading.newest_first.reverse();
        Ok(Earlier {
            turns: reading.newest_first,
            done: reading.done,
            cut: reading.cut,
        })
    }

    /// Returns how many earlier Turns the model is given.
    pub(super) fn history_turns(&self) -> usize {
        let model = self.turn.environment().config.model.as_deref();
        self.model.history_turns(model) as usize
    }

    /// Tells people that the model is not given all of the conversation.
    pub(super) async fn note_left_out(&self, what: LeftOut) -> Result<(), TurnGone> {
        let message = match what {
            LeftOut::OfConversation => {
                "This conversation is longer than what the model is given of it, and it was not summed up: the model does \
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

/// Whether an Item tells people that the model is not given all.
pub(super) fn tells_left_out(item: &Item) -> bool {
    matches!(&item.body, ItemBody::Error { code, .. } if code == LEFT_OUT)
}

/// Earlier Turns, taken newest first.
#[derive(Debug, Default)]
struct Reading {
    wanted: usize,
    room: usize,
    bytes: usize,
    newest_first: Vec<Arc<PastTurn>>,
    /// Where the newest compaction begins to keep.
    from: Option<(TurnId, ItemId)>,
    /// It, where it is in an earlier Turn.
    done: Option<Compaction>,
    cut: Option<(TurnId, ItemId)>,
    looked: usize,
}

impl Reading {
    /// Takes the next older Turn; returns whether one before it may be wanted.
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

    /// Counts what is given of a Turn, and notes where that begins if it is not all of it. Returns whether it is anything.
    fn weigh(&mut self, turn: &PastTurn) -> bool {
        let newer = self.newest_first.last().map(|newer| (newer.id, ItemId(0)));
        let mut begins = None;
        let from = self.from;
        let is_given = |placed: &&Placed| from.is_none_or(|from| placed.at >= from);
        for placed in turn.steps.iter().filter(is_given).rev() {
            self.bytes += placed.message.bytes();
            // The newest Turn's newest group is there whatever its size.
            if self.bytes > self.room && (begins.is_some() || newer.is_some()) {
                self.cut = begins.or(newer);
                return begins.is_some();
            }
            if !matches!(placed.message, Message::Result { .. }) {
                begins = Some(placed.at);
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
