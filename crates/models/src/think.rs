//! Thoughts that a model writes into its text: `<think>…</think>` at the beginning of a reply, as local models do, or
//! `<thought>…</thought>`, as Google's do.
//!
//! Only the beginning counts: later the same words are the model's text, say when it explains them. Pure; buffers a
//! few bytes that may become a mark.

use bobbin_agent_api::model::ModelEvent;

/// The marks before and behind thoughts.
const MARKS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thought>", "</thought>")];

/// Separates thoughts from text.
#[derive(Debug)]
pub(crate) enum Think {
    /// Nothing but white space and perhaps a part of the mark has come.
    Start(String),
    /// Inside; with bytes that may be a part of the closing mark, and that mark.
    Inside(String, &'static str),
    /// Behind it, where white space is dropped.
    Behind,
    /// Everything is text.
    Over,
}

impl Default for Think {
    fn default() -> Self {
        Self::Start(String::new())
    }
}

impl Think {
    /// Takes a piece of the reply's text; adds the thoughts and text that no mark can change any more.
    pub(crate) fn text(&mut self, piece: &str, out: &mut Vec<ModelEvent>) {
        match self {
            Self::Start(early) => {
                early.push_str(piece);
                let start = early.trim_start();
                let inside = MARKS
                    .iter()
                    .find_map(|(open, close)| Some((start.strip_prefix(open)?.to_owned(), *close)));
                if let Some((inside, close)) = inside {
                    *self = Self::Inside(String::new(), close);
                    self.text(&inside, out);
                } else if !MARKS.iter().any(|(open, _)| open.starts_with(start)) {
                    out.push(ModelEvent::Text(std::mem::take(early)));
                    *self = Self::Over;
                }
            }
            Self::Inside(late, close) => {
                late.push_str(piece);
                if let Some((thought, rest)) = late.split_once(*close) {
                    push(ModelEvent::Reasoning, thought, out);
                    let rest = rest.to_owned();
                    *self = Self::Behind;
                    self.text(&rest, out);
                } else {
                    let certain = late.len() - part_of(close, late);
                    let rest = late.split_off(certain);
                    push(ModelEvent::Reasoning, &std::mem::replace(late, rest), out);
                }
            }
            Self::Behind => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    *self = Self::Over;
                    push(ModelEvent::Text, text, out);
                }
            }
            Self::Over => push(ModelEvent::Text, piece, out),
        }
    }

    /// Adds the buffered bytes: no text follows, or something else comes first.
    pub(crate) fn end(&mut self, out: &mut Vec<ModelEvent>) {
        match std::mem::replace(self, Self::Over) {
            Self::Start(text) => push(ModelEvent::Text, &text, out),
            Self::Inside(thought, _) => push(ModelEvent::Reasoning, &thought, out),
            Self::Behind | Self::Over => {}
        }
    }
}

fn push(kind: fn(String) -> ModelEvent, text: &str, out: &mut Vec<ModelEvent>) {
    if !text.is_empty() {
        out.push(kind(text.to_owned()));
    }
}

/// Returns how many bytes at the end of a text may be the beginning of a closing mark.
fn part_of(close: &str, text: &str) -> usize {
    let lengths = (1..close.len()).rev();
    lengths
        .into_iter()
        .find(|length| text.ends_with(&close[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the thoughts and the text of a reply that comes in pieces.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut think, mut out) = (Think::default(), Vec::new());
        for piece in pieces {
            think.text(piece, &mut out);
        }
        think.end(&mut out);
        let (mut thoughts, mut text) = (String::new(), String::new());
        for event in out {
            match event {
                ModelEvent::Reasoning(piece) => {
                    assert!(text.is_empty(), "thoughts come first");
                    thoughts.push_str(&piece);
                }
                ModelEvent::Text(piece) => text.push_str(&piece),
                other => panic!("{other:?}"),
            }
        }
        (thoughts, text)
    }

    #[test]
    fn only_marks_at_the_beginning_count() {
        for (reply, thoughts, text) in [
            ("<think>Hot?</think>\n\nTea.", "Hot?", "Tea."),
            (
                "\n <think>\nHot?\n</think>Tea. <think>x</think>",
                "\nHot?\n",
                "Tea. <think>x</think>",
            ),
            ("Tea. <think>x</think>", "", "Tea. <think>x</think>"),
            (
                "<thought>Hot?</think>\n</thought>\nTea.",
                "Hot?</think>\n",
                "Tea.",
            ),
            ("<thinking>x", "", "<thinking>x"),
            ("<thoughts>x", "", "<thoughts>x"),
            ("<thou", "", "<thou"),
            ("<thin", "", "<thin"),
            ("  ", "", "  "),
            ("<think>never closed </thin", "never closed </thin", ""),
            ("<think></think>", "", ""),
            ("", "", ""),
        ] {
            assert_eq!(read([reply]), (thoughts.to_owned(), text.to_owned()), "{reply:?}");
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            words in prop::collection::vec(prop_oneof![
                Just("<think>"), Just("</think>"), Just("<thought>"), Just("</thought>"), Just("</th"), Just("</"), Just("<"), Just(">"), Just(" "), Just("é"), Just("tea"),
            ], 0..12),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let whole = words.concat();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
            cuts.retain(|cut| whole.is_char_boundary(*cut));
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|ends| &whole[ends[0]..ends[1]]);
            prop_assert_eq!(read(pieces), read([whole.as_str()]));
        }
    }
}
