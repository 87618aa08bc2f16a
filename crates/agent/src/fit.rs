//! Cuts results of calls to the size that the model's window allows. Pure.
//!
//! Every result passes here: those of built-in tools, of tool servers and of clients. The bounds follow from the window
//! and from the messages. So a conversation that is read from the record again gets the same cuts. A provider's prompt
//! cache needs that.

use bobbin_agent_api::model::Message;
use bobbin_agent_api::tool::MAX_RESULT_BYTES;
use bobbin_model::ContextWindow;

use super::tokens;

/// Least bytes of a result, whatever else the round gave.
const MIN_RESULT_BYTES: usize = 1 << 10;
/// Bytes of an ordinary token.
const BYTES_OF_TOKEN: u64 = 4;
/// The share of the window that one result may fill: one part in this many.
const RESULT_SHARE: u64 = 8;
/// The share of the window that the results of one reply may fill. Text of long words or of other scripts has twice the
/// tokens, so a round is at most half a window.
const ROUND_SHARE: u64 = 4;

/// How large results may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResultLimits {
    /// Most bytes of one result.
    one: usize,
    /// Most bytes of the results of one reply's calls.
    round: usize,
}

impl ResultLimits {
    /// Returns the limits for a model's window; those of the usual window if it is unknown.
    pub(super) fn of(window: Option<ContextWindow>) -> Self {
        let window = window.unwrap_or_default().tokens.saturating_mul(BYTES_OF_TOKEN);
        let share = |share: u64| usize::try_from(window / share).unwrap_or(usize::MAX);
        Self {
            one: share(RESULT_SHARE).clamp(MIN_RESULT_BYTES, MAX_RESULT_BYTES),
            round: share(ROUND_SHARE).max(MIN_RESULT_BYTES),
        }
    }

    /// Returns the most bytes of the next result: an equal share of what the results of the same reply have left.
    pub(super) fn next(self, messages: &[Message]) -> usize {
        let mut round = Round::default();
        for message in messages.iter().rev() {
            match message {
                Message::Result { text, .. } => round.add(text),
                Message::Agent { calls, .. } => {
                    round.calls = calls.len();
                    break;
                }
                Message::User { .. } => {}
            }
        }
        self.share(&round)
    }

    /// Cuts each result of a conversation as it was cut when it came.
    pub(super) fn fit(self, messages: &mut [Message]) {
        let mut round = Round::default();
        for message in messages {
            match message {
                Message::Agent { calls, .. } => {
                    round = Round {
                        calls: calls.len(),
                        ..Round::default()
                    };
                }
                Message::Result { text, .. } => {
                    cut(text, self.share(&round));
                    round.add(text);
                }
                Message::User { .. } => {}
            }
        }
    }

    fn share(self, round: &Round) -> usize {
        let calls = round.calls.saturating_sub(round.results).max(1);
        let left = self.round.saturating_sub(round.bytes) / calls;
        left.clamp(MIN_RESULT_BYTES, self.one)
    }
}

/// The results of one reply so far.
#[derive(Debug, Default)]
struct Round {
    calls: usize,
    results: usize,
    bytes: usize,
}

impl Round {
    fn add(&mut self, text: &str) {
        self.results += 1;
        self.bytes += text.len();
    }
}

/// Cuts the middle out of a result that is longer than `limit` bytes, and says so in its place.
pub(super) fn cut(text: &mut String, limit: usize) {
    if text.len() <= limit {
        return;
    }
    let note = |left_out: usize| {
        format!("\n[{left_out} bytes are left out here to fit your context window; ask for a smaller part]\n")
    };
    let room = limit.saturating_sub(note(text.len()).len());
    let first = text.floor_char_boundary(room / 2);
    let last = text.ceil_char_boundary(text.len() - room / 2);
    *text = format!("{}{}{}", &text[..first], note(last - first), &text[last..]);
}

/// Cuts results, all to the same size, until the messages have at most `room` tokens or nothing is left to cut.
/// Returns whether any was cut.
pub(super) fn squeeze(messages: &mut [Message], room: u64) -> bool {
    let mut limit = MAX_RESULT_BYTES / 2;
    let mut any = false;
    while limit >= MIN_RESULT_BYTES / 2 && tokens::of_messages(&*messages) > room {
        for message in &mut *messages {
            if let Message::Result { text, .. } = message
                && text.len() > limit
            {
                cut(text, limit);
                any = true;
            }
        }
        limit /= 2;
    }
    any
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::model::Call;

    use super::*;

    fn round(calls: usize, results: &[usize]) -> Vec<Message> {
        let call = |id: usize| Call {
            id: id.to_string(),
            tool: "ReadFile".to_owned(),
            arguments: None,
            provider_state: None,
        };
        let result = |(id, bytes): (usize, &usize)| Message::Result {
            call_id: id.to_string(),
            text: "tea ".repeat(bytes / 4),
            success: true,
        };
        let reply = Message::Agent {
            text: String::new(),
            calls: (0..calls).map(call).collect(),
        };
        std::iter::once(reply)
            .chain(results.iter().enumerate().map(result))
            .collect()
    }

    fn bytes(messages: &[Message]) -> Vec<usize> {
        let results = messages.iter().filter_map(|message| match message {
            Message::Result { text, .. } => Some(text.len()),
            _ => None,
        });
        results.collect()
    }

    #[test]
    fn a_result_has_a_share_of_the_window_and_the_calls_of_a_reply_share_a_larger_one() {
        let small = ResultLimits::of(Some(ContextWindow::of(32_768, None)));
        assert_eq!((small.one, small.round), (14_746, 29_492));
        let usual = ResultLimits::of(None);
        assert_eq!((usual.one, usual.round), (MAX_RESULT_BYTES, 180_000));
        assert_eq!(small.next(&round(1, &[])), 14_746);
        assert_eq!(small.next(&round(4, &[])), 7_373);
        // What small results leave is there for the others.
        assert_eq!(small.next(&round(4, &[400, 400])), 14_346);
        assert_eq!(small.next(&round(90, &[])), MIN_RESULT_BYTES);
        assert_eq!(
            ResultLimits::of(Some(ContextWindow::of(0, None))).one,
            MIN_RESULT_BYTES
        );
    }

    #[test]
    fn a_conversation_read_again_has_the_same_cuts() {
        let limits = ResultLimits::of(Some(ContextWindow::of(32_768, None)));
        let mut once = round(3, &[60_000, 40, 60_000]);
        once.extend(round(1, &[60_000]));
        limits.fit(&mut once);
        assert_eq!(bytes(&once)[1], 40);
        assert!(bytes(&once)[3] > 14_700, "{:?}", bytes(&once));
        let mut again = once.clone();
        limits.fit(&mut again);
        assert_eq!(again, once);
        let told = format!("{once:?}");
        assert!(told.contains("bytes are left out here to fit your context window"));
    }

    #[test]
    fn a_cut_counts_its_own_note_and_cuts_no_character() {
        let mut text = "\u{e9}".repeat(2_000);
        cut(&mut text, 1_001);
        assert!(text.len() <= 1_001 && text.len() > 950, "{}", text.len());
        let whole = text.clone();
        cut(&mut text, 1_001);
        assert_eq!(text, whole);
    }

    #[test]
    fn the_last_resort_cuts_what_is_longest_and_stops_when_it_fits() {
        let mut messages = round(3, &[40_000, 2_000, 40_000]);
        assert!(squeeze(&mut messages, 10_000));
        let left = bytes(&messages);
        assert!(left[0] > 12_000 && left[1] == 2_000, "{left:?}");
        assert!(!squeeze(&mut messages, 10_000));
        assert!(squeeze(&mut messages, 0));
        assert!(!squeeze(&mut messages, 0));
    }
}
