//! Compacts a conversation that is getting too long for its model (AppServer protocol 03 §5.13, §11.1).
//!
//! The record stays complete. The model is given a summary, followed by the newest messages unchanged. Both follow from
//! the record alone (`conversation`): a Turn resumed after a crash has the same conversation, and a Turn that is rolled
//! back takes its summaries with it. The summary and the figures of its model call are one commit: a crash before the
//! commit leaves the conversation as it was.
//!
//! Pure functions here decide where the cut is and what the summarizing model reads.

use bobbin_agent_api::TurnGone;
use bobbin_core::engine::{EngineFailure, WindowNote};
use bobbin_model::{Compaction, CompactionTrigger, ContextNote, ContextWindow, ItemBody, ItemId, TurnId};

use super::conversation::{Placed, model_text, newest_compaction};
use super::fit::squeeze;
use super::history::{LeftOut, Reach};
use super::summarize::MAX_SUMMARY_BYTES;
use super::tokens;
use super::turn::TurnRun;
use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::model::{Message, ModelError};

/// Longest part of a conversation that stays unchanged, in tokens; a fifth of the window if that is less.
const MAX_RETAINED: u64 = 20_000;
/// Smallest share of a conversation that is worth a summary: one part in this many.
const LEAST_SHARE: u64 = 5;
/// Most bytes of one message in the text to be summarized.
const MAX_STEP_BYTES: usize = 6 << 10;

/// A run's knowledge of the model's window.
#[derive(Debug, Default)]
pub(super) struct Fullness {
    /// The window, if the model states one that bounds the conversation.
    pub(super) window: Option<ContextWindow>,
    /// Tokens that a provider counted, and the number of messages counted.
    pub(super) counted: Option<(u64, usize)>,
    /// The last warning.
    warned: Option<ContextNote>,
    /// The conversation cannot be made shorter for now.
    pub(super) stuck: bool,
    /// The conversation was compacted because the model refused it as too long.
    pub(super) reacted: bool,
    /// Whether a bound has cut off a part of the conversation that no summary covers.
    pub(super) cut_off: CutOff,
}

/// Whether a part of a conversation is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CutOff {
    #[default]
    Nothing,
    Something,
    /// A part is cut off, and a Turn that the model still gets has notified users.
    Notified,
}

impl Fullness {
    pub(super) fn of(window: Option<ContextWindow>) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Compacted {
    /// The conversation is shorter now.
    Done,
    /// Nothing of it can be left out.
    NothingToDo(&'static str),
    /// The conversation is unchanged, and clients know why.
    Failed(String),
}

impl TurnRun {
    /// Returns the approximate number of tokens of the next request.
    pub(super) fn occupancy(&self) -> u64 {
        if let Some((known, messages)) = self.full.counted {
            return known + tokens::of_messages(self.messages.get(messages..).unwrap_or_default());
        }
        let estimated = self.overhead() + tokens::of_messages(&self.messages);
        // The provider counted the last request; messages since then are added.
        let since = self.messages.last().map_or(0, tokens::of_message);
        estimated.max(self.turn.context().tokens.saturating_add(since))
    }

    fn overhead(&self) -> u64 {
        tokens::of_text(&self.instructions.whole()) + tokens::of_tools(&self.specs())
    }

    /// Makes room before a request when the window has too little, or when not all of the conversation was read.
    pub(super) async fn make_room(&mut self) -> Result<(), EngineFailure> {
        let cut_off = std::mem::take(&mut self.full.cut_off);
        let is_cut_off = cut_off != CutOff::Nothing;
        let may = self.settings.compaction && !self.full.stuck && self.turn.at_start().history.is_none();
        let mut done = None;
        if let Some(window) = self.full.window.filter(|_| may)
            && (is_cut_off || self.occupancy() >= window.compact_at)
        {
            done = Some(self.compact(CompactionTrigger::Auto, window).await?);
        }
        if cut_off == CutOff::Something && done != Some(Compacted::Done) {
            self.note_left_out(LeftOut::OfConversation).await?;
        }
        if let Some(window) = self.full.window
            && self.occupancy() > window.tokens
        {
            self.cut_results(window.compact_at);
        }
        Ok(())
    }

    /// Cuts results so that a request has about `tokens`, as the last resort: no Turn ends because of a result. The
    /// record still has the full results. Returns whether any result was cut.
    pub(super) fn cut_results(&mut self, tokens: u64) -> bool {
        // A client that has the history shortens it by itself, but not the results of this Turn.
        let is_input = |message: &Message| matches!(message, Message::User { .. });
        let from = match &self.turn.at_start().history {
            Some(_) => self.messages.iter().rposition(is_input).unwrap_or_default(),
            None => 0,
        };
        let others = self.overhead() + tokens::of_messages(&self.messages[..from]);
        let any = squeeze(&mut self.messages[from..], tokens.saturating_sub(others));
        if any {
            let estimated = self.overhead() + tokens::of_messages(&self.messages);
            self.full.counted = Some((estimated, self.messages.len()));
        }
        any
    }

    /// Warns when a threshold has been passed since the last warning.
    pub(super) async fn warn_of_window(&mut self) -> Result<(), TurnGone> {
        let Some(window) = self.full.window else {
            return Ok(());
        };
        let tokens = self.occupancy();
        let (note, message) = if tokens >= window.error() {
            (ContextNote::Error, "The model's window is almost full.")
        } else if tokens >= window.warning() {
            (ContextNote::Warning, "The model's window is getting full.")
        } else {
            self.full.warned = None;
            return Ok(());
        };
        if self
            .full
            .warned
            .is_some_and(|warned| warned == note || warned == ContextNote::Error)
        {
            return Ok(());
        }
        self.full.warned = Some(note);
        self.note(note, tokens, window, message).await
    }

    async fn note(
        &self,
        note: ContextNote,
        tokens: u64,
        window: ContextWindow,
        message: impl Into<String>,
    ) -> Result<(), TurnGone> {
        let note = WindowNote {
            note,
            tokens,
            window,
            message: message.into(),
        };
        self.turn.note_window(note).await
    }

    /// Compacts as much of the conversation as can be, because a user asked for it.
    pub(super) async fn compact_now(&mut self) -> Result<(), EngineFailure> {
        let turn = self.turn.at_start();
        if newest_compaction(turn.turn.items.iter()).is_some() {
            // Before a restart.
            return Ok(());
        }
        if turn.history.is_some() {
            let why = "The client has the conversation of this thread, and shortens it by itself.";
            return Err(EngineFailure::Failed(why.to_owned()));
        }
        let Some(window) = self.full.window else {
            let why = "The offline model reads single messages, so there is nothing to compact.";
            return self.note_nothing_to_compact(why).await;
        };
        match self.compact(CompactionTrigger::Manual, window).await? {
            Compacted::Done => Ok(()),
            Compacted::NothingToDo(why) => self.note_nothing_to_compact(why).await,
            Compacted::Failed(why) => Err(EngineFailure::Failed(why)),
        }
    }

    /// Notifies the user, who asked for a compaction, that nothing was compacted.
    async fn note_nothing_to_compact(&self, why: &str) -> Result<(), EngineFailure> {
        let note = ItemBody::Error {
            message: why.to_owned(),
            code: "nothing_to_compact".to_owned(),
            fatal: false,
        };
        Ok(self.turn.add(note).await?)
    }

    /// Compacts the older part of the conversation.
    pub(super) async fn compact(
        &mut self,
        trigger: CompactionTrigger,
        window: ContextWindow,
    ) -> Result<Compacted, EngineFailure> {
        Box::pin(self.hooks_of_compaction(trigger)).await?;
        let before = self.occupancy();
        // Until a part was left out, another attempt would end as this one.
        self.full.stuck = true;
        self.note(
            ContextNote::Compacting,
            before,
            window,
            "The conversation is being compacted.",
        )
        .await?;
        let earlier = self.earlier(Reach::Summary).await?;
        let own = self.turn.items().await?;
        let all = earlier.placed(self.turn.turn(), &own, None);
        let oldest = earlier.oldest_retained(self.history_turns(), self.turn.turn());
        // A refused conversation shows that the window is smaller than stated.
        let fits = match trigger {
            CompactionTrigger::Auto | CompactionTrigger::Manual => window.tokens,
            CompactionTrigger::Reactive => window.tokens.min(before) / 2,
        };
        let stays = match trigger {
            CompactionTrigger::Manual => 0,
            CompactionTrigger::Auto | CompactionTrigger::Reactive => MAX_RETAINED.min(fits / 5),
        };
        let Some((cut, kept_from)) = cut(&all, stays, oldest) else {
            let why = "There is nothing in the conversation that could be left out.";
            self.note(ContextNote::CompactSkipped, before, window, why)
                .await?;
            return Ok(Compacted::NothingToDo(why));
        };
        let old = &all[..cut];
        let (record, left_out) = transcript(old, fits / 4 * 3);
        let (summary, billed) = match self.summarize(&record).await {
            Ok(summed) => summed,
            Err(ModelError::Gone(gone)) => return Err(gone.into()),
            Err(ModelError::Failed(why) | ModelError::Refused(why) | ModelError::ContextExceeded(why)) => {
                let why = format!("The conversation could not be compacted. {why}");
                self.note(ContextNote::CompactFailed, before, window, why.as_str())
                    .await?;
                return Ok(Compacted::Failed(why));
            }
        };
        let cleared = |placed: &&Placed| matches!(placed.message, Message::Result { .. });
        let mut body = Compaction {
            trigger,
            tokens_before: before,
            tokens_after: 0,
            left_after: 0.0,
            cleared_results: old.iter().filter(cleared).count() as u64,
            summary,
            kept_from,
        };
        let after = earlier.placed(self.turn.turn(), &own, Some(&body));
        let mut after: Vec<Message> = after.into_iter().map(|placed| placed.message).collect();
        self.result_limits.fit(&mut after);
        body.tokens_after = self.overhead() + tokens::of_messages(&after);
        body.left_after = window.left(body.tokens_after);
        self.full.counted = Some((body.tokens_after, after.len()));
        self.full.stuck = body.tokens_after >= window.compact_at;
        self.full.warned = None;
        self.messages = after;
        if let Some(billed) = billed {
            self.spend(billed);
        }
        self.turn.compacted(body, billed, window).await?;
        if left_out > 0 || earlier.gap(&own, None).is_some() {
            self.note_left_out(LeftOut::OfSummary).await?;
        }
        self.turn.commit().await?;
        Ok(Compacted::Done)
    }
}

/// Returns how many messages are summarized and where the rest starts, or `None` when a summary is not worth its price.
/// The rest fits into `room` tokens if possible, does not start with a result, and is never empty. A summary is always
/// worth its price when Turns before `oldest` cannot stay.
fn cut(all: &[Placed], room: u64, oldest: TurnId) -> Option<(usize, (TurnId, ItemId))> {
    let mut retained = 0;
    let mut cut = None;
    for (index, placed) in all.iter().enumerate().rev() {
        retained += tokens::of_message(&placed.message);
        if (retained > room || placed.at.0 < oldest) && cut.is_some() {
            break;
        }
        if !matches!(placed.message, Message::Result { .. }) {
            cut = Some(index);
        }
    }
    let cut = cut.filter(|cut| *cut > 0)?;
    let total = tokens::of_messages(all.iter().map(|placed| &placed.message));
    // The request of a Turn that is cut in the middle is repeated unchanged.
    let in_the_middle = !matches!(all[cut].message, Message::User { .. });
    let again = |placed: &&Placed| {
        in_the_middle && placed.at.0 == all[cut].at.0 && matches!(placed.message, Message::User { .. })
    };
    let old = all[..cut].iter().filter(|placed| !again(placed));
    let old = tokens::of_messages(old.map(|placed| &placed.message));
    (oldest > TurnId(0) || old >= total / LEAST_SHARE).then(|| (cut, all[cut].at))
}

/// Returns messages as a record of at most `room` tokens, and how many messages the record lacks. The first message has
/// an earlier summary and stays; the oldest of the others are left out first.
fn transcript(messages: &[Placed], room: u64) -> (String, usize) {
    let mut steps: Vec<String> = Vec::new();
    let mut used = 0;
    let first = messages
        .first()
        .map(|placed| step(&placed.message, MAX_SUMMARY_BYTES));
    used += first.as_deref().map_or(0, tokens::of_text);
    let mut left_out = 0;
    for placed in messages.iter().skip(1).rev() {
        let step = step(&placed.message, MAX_STEP_BYTES);
        used += tokens::of_text(&step);
        if used > room {
            left_out += 1;
        } else {
            steps.push(step);
        }
    }
    if left_out > 0 {
        steps.push(format!("[{left_out} older steps are left out]"));
    }
    steps.extend(first);
    steps.reverse();
    (steps.join("\n\n"), left_out)
}

fn step(message: &Message, bytes: usize) -> String {
    let cut = |text: &str| head_and_tail(text, bytes);
    match message {
        Message::User { parts } => {
            let text: String = parts.iter().map(model_text).collect();
            format!("[user]\n{}", cut(&text))
        }
        Message::Agent { text, calls } => {
            let mut shown = format!("[agent]\n{}", cut(text));
            for call in calls {
                let arguments = call.arguments.as_ref().map_or("", |json| json.get());
                shown.extend(["\n[call ", &call.tool, "] ", &cut(arguments)]);
            }
            shown
        }
        Message::Result { text, success, .. } => {
            let how = if *success { "result" } else { "failure" };
            format!("[{how}]\n{}", cut(text))
        }
    }
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
