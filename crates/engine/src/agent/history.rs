//! The conversation of a Turn, read from the record.

use bobbin_core::engine::EngineFailure;
use bobbin_model::{ContextWindow, Item, Turn, TurnId};

use super::Message;
use super::conversation::{handed_in, messages, newest_compaction, placed};
use super::turn::TurnRun;

/// Most bytes of earlier Turns given to a model whose window is not known, and least to one whose window is; the oldest
/// Turns are left out first (guess: about what the smaller windows of today hold beside the Turn at hand).
pub(super) const MAX_HISTORY_BYTES: usize = 256 << 10;
/// Most bytes of them whatever the window.
const MAX_BYTES: usize = 4 << 20;
/// Bytes that a token may have: what does not fit into a window is compacted, and not read for nothing.
const BYTES_OF_TOKEN: u64 = 4;
/// Turns read at once.
const PAGE: u32 = 16;

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
            let own = placed(&[], begun.turn.id, &begun.turn.items, None).into_iter();
            self.messages = handed_in(before);
            self.messages.extend(own.map(|placed| placed.message));
            return Ok(());
        }
        let earlier = self.earlier().await?;
        let placed = placed(&earlier, begun.turn.id, &begun.turn.items, None).into_iter();
        self.messages = placed.map(|placed| placed.message).collect();
        Ok(())
    }

    /// Reads the earlier Turns that a model is still given something of, oldest first.
    pub(super) async fn earlier(&self) -> Result<Vec<Turn>, EngineFailure> {
        let own = self.turn.begun();
        let wanted = self
            .model
            .history_turns(self.turn.environment().config.model.as_deref()) as usize;
        let room = room(self.full.window);
        let kept_from = |items: &[Item]| newest_compaction(items.iter()).map(|done| done.kept_from.0);
        let mut from = kept_from(&own.turn.items);
        let mut newest_first: Vec<Turn> = Vec::new();
        let mut bytes = 0;
        let mut before = own.turn.id;
        while newest_first.len() < wanted && from.is_none_or(|from| from < before) {
            let limit = PAGE.min(u32::try_from(wanted - newest_first.len()).unwrap_or(PAGE));
            let page = self.turn.history(before, limit).await.map_err(|error| {
                tracing::error!(thread = %self.turn.thread(), %error, "cannot read a thread's history");
                EngineFailure::Failed("The conversation so far could not be read.".to_owned())
            })?;
            let last = page.len() < limit as usize;
            for turn in page.into_iter().rev() {
                before = turn.id;
                let said: usize = messages(&turn.items).iter().map(Message::bytes).sum();
                bytes += said;
                if bytes > room || from.is_some_and(|from| turn.id < from) {
                    return Ok(oldest_first(newest_first));
                }
                from = from.or_else(|| kept_from(&turn.items));
                newest_first.push(turn);
            }
            if last || before == TurnId(1) {
                break;
            }
        }
        Ok(oldest_first(newest_first))
    }
}

fn oldest_first(mut turns: Vec<Turn>) -> Vec<Turn> {
    turns.reverse();
    turns
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
