//! The fence that models put around a text, whatever their instructions say.

/// The marks of the first and the last line of a fenced text.
const FENCE: &str = "```";
/// Characters that the end of a fenced text can consist of.
const CLOSING: [char; 5] = ['`', '\n', '\r', ' ', '\t'];

/// Removes a fence around a text that comes piece by piece.
pub(super) enum Unfenced {
    /// So far the text may be the first line of a fence.
    Start(String),
    /// The text is in a fence; the pending part may be its end.
    Inside(String),
    /// The text has no fence.
    Without,
}

impl Unfenced {
    /// Returns the start of a text. A text that replaces one that starts with a fence retains it.
    pub(super) fn replacing(original: &str) -> Self {
        if original.trim_start().starts_with(FENCE) {
            Self::Without
        } else {
            Self::Start(String::new())
        }
    }

    /// Takes a piece. Returns the text that is certain to be no part of a fence.
    pub(super) fn push(&mut self, piece: &str) -> String {
        match self {
            Self::Without => piece.to_owned(),
            Self::Inside(pending) => {
                pending.push_str(piece);
                let certain = pending.trim_end_matches(CLOSING).len();
                let rest = pending.split_off(certain);
                std::mem::replace(pending, rest)
            }
            Self::Start(pending) => {
                pending.push_str(piece);
                let start = pending.trim_start();
                if let Some(fenced) = start.strip_prefix(FENCE) {
                    // The first line may name a language.
                    let Some((_, inside)) = fenced.split_once('\n') else {
                        return String::new();
                    };
                    let inside = inside.to_owned();
                    *self = Self::Inside(String::new());
                    return self.push(&inside);
                }
                if FENCE.starts_with(start) {
                    return String::new();
                }
                let text = std::mem::take(pending);
                *self = Self::Without;
                text
            }
        }
    }

    /// Returns the rest of the text. A line break before the end of a fence stays only with `ends_line`.
    pub(super) fn end(self, ends_line: bool) -> String {
        match self {
            Self::Start(pending) => pending,
            Self::Without => String::new(),
            Self::Inside(pending) => match pending.trim_end().strip_suffix(FENCE) {
                None => pending,
                Some(inside) => {
                    let line = inside.trim_end_matches([' ', '\t']);
                    let text = line.strip_suffix('\n').unwrap_or(line);
                    let text = text.strip_suffix('\r').unwrap_or(text);
                    let end = if ends_line { &line[text.len()..] } else { "" };
                    format!("{text}{end}")
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_removed_wherever_the_pieces_end() {
        for (answer, ends_line, expected) in [
            ("tea\n", true, "tea\n"),
            ("a ``` b", false, "a ``` b"),
            ("```rust\ntea();\n```", false, "tea();"),
            ("\n```rust\r\ntea();\r\n```\n\n", true, "tea();\r\n"),
            ("```\n  a\n\n  `b`\n```\n", true, "  a\n\n  `b`\n"),
            ("```\n```", false, ""),
            ("```\nnever closed\n", false, "never closed\n"),
            ("``", false, "``"),
            ("``x", false, "``x"),
            ("```one line```", false, "```one line```"),
            ("\n\n  tea", false, "\n\n  tea"),
        ] {
            for size in 1..=answer.len() {
                let mut unfenced = Unfenced::replacing("tea");
                let pieces = answer.as_bytes().chunks(size).map(str::from_utf8);
                let mut text: String = pieces.map(|piece| unfenced.push(piece.unwrap())).collect();
                text += &unfenced.end(ends_line);
                assert_eq!(text, expected, "{answer:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_text_passes_as_soon_as_it_is_no_fence() {
        let mut unfenced = Unfenced::replacing("tea");
        assert_eq!(
            ["```rust", "\nlet a", " = 1;\n", "b\n`"].map(|piece| unfenced.push(piece)),
            ["", "let a", " = 1;", "\nb"]
        );
        let mut unfenced = Unfenced::replacing("  ```\ntea\n```");
        assert_eq!(unfenced.push("```\n"), "```\n");
        assert_eq!(unfenced.end(false), "");
    }
}
