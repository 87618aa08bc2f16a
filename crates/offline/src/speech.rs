//! The text of a reply, and the pieces in which it is streamed.

/// Texts up to this size are streamed word by word, longer ones line by line.
const WORDS_UP_TO: usize = 4 << 10;
/// Longest piece, bytes.
const MAX_PIECE_BYTES: usize = 1 << 10;

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Speech {
    /// A text.
    Text(String),
    /// A repeated text; each repetition is one piece.
    Repeated { text: String, times: usize },
}

impl Speech {
    /// Returns its size in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Repeated { text, times } => (text.len() + 1) * times,
        }
    }

    /// Returns the pieces in order; joined they are the whole text.
    pub(super) fn pieces(&self) -> Box<dyn Iterator<Item = String> + Send + '_> {
        match self {
            Self::Text(text) => Box::new(pieces(text).map(ToOwned::to_owned)),
            Self::Repeated { text, times } => Box::new((1..=*times).map(move |time| {
                if time == *times {
                    text.clone()
                } else {
                    format!("{text} ")
                }
            })),
        }
    }
}

/// Splits a text after its spaces or line ends.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> + Send {
    let by_words = text.len() <= WORDS_UP_TO;
    let ends = move |c: char| c == '\n' || (by_words && c == ' ');
    text.split_inclusive(ends).flat_map(bounded)
}

fn bounded(piece: &str) -> impl Iterator<Item = &str> + Send {
    let mut rest = piece;
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES));
        rest = tail;
        (!head.is_empty()).then_some(head)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_joined_are_the_text() {
        for text in [
            "",
            "one two  three\nfour",
            &"é".repeat(5000),
            &"a b\n".repeat(4000),
        ] {
            let all: Vec<&str> = pieces(text).collect();
            assert_eq!(all.concat(), text);
            assert!(
                all.iter()
                    .all(|piece| !piece.is_empty() && piece.len() <= MAX_PIECE_BYTES)
            );
        }
        assert_eq!(pieces("one two").count(), 2);
    }

    #[test]
    fn a_repeated_text_has_one_piece_a_time() {
        let speech = Speech::Repeated {
            text: "tick".to_owned(),
            times: 3,
        };
        assert_eq!(speech.pieces().collect::<Vec<_>>(), ["tick ", "tick ", "tick"]);
    }
}
