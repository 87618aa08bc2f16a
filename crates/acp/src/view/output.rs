//! The output of a command while it runs.
//!
//! Content of a call is replaced, so each update repeats what came before: a long output is shown by its end, and not with
//! each piece.

use bobbin_model::UnixMillis;

/// Longest output that is shown with each piece, in bytes.
const SMALL: usize = 4 << 10;
/// The end of a longer output that is shown, in bytes.
const SHOWN: usize = 16 << 10;
/// The least time between two updates of a longer output, in milliseconds. Its last piece comes with the result.
const PAUSE: i64 = 500;

/// The end of the output of one command.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) call_id: String,
    text: String,
    shown_at: Option<UnixMillis>,
}

impl Output {
    pub(super) fn new(call_id: &str) -> Self {
        Self {
            call_id: call_id.to_owned(),
            text: String::new(),
            shown_at: None,
        }
    }

    /// Adds a piece. Returns the text to show now, if there is something to show.
    pub(super) fn add(&mut self, piece: &str, at: UnixMillis) -> Option<String> {
        self.text.push_str(piece);
        // Not with each piece, which would copy the rest each time.
        if self.text.len() > 2 * SHOWN {
            self.cut();
        }
        let is_due = self.shown_at.is_none_or(|before| at.0 - before.0 >= PAUSE);
        if self.text.len() > SMALL && !is_due {
            return None;
        }
        self.cut();
        self.shown_at = Some(at);
        Some(self.text.clone())
    }

    fn cut(&mut self) {
        let more = self.text.len().saturating_sub(SHOWN);
        self.text.drain(..self.text.ceil_char_boundary(more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_output_is_shown_at_once_and_a_long_one_by_its_end_now_and_then() {
        let mut output = Output::new("c");
        let at = UnixMillis;
        assert_eq!(output.add("one", at(0)).as_deref(), Some("one"));
        assert_eq!(output.add("two", at(1)).as_deref(), Some("onetwo"));
        let long = "\u{e9}".repeat(SHOWN);
        assert_eq!(output.add(&long, at(2)), None);
        assert_eq!(output.add("x", at(400)), None);
        let shown = output.add("y", at(501)).unwrap();
        assert!(shown.len() <= SHOWN && shown.ends_with("xy"), "{}", shown.len());
    }
}
