//! Cuts text to a size, at the boundary of a character.

use std::borrow::Cow;

/// Returns the first bytes of `text`, at most `limit`, and whether this is the whole text.
pub fn head(text: &str, limit: usize) -> (&str, bool) {
    let end = text.floor_char_boundary(limit);
    (&text[..end], end == text.len())
}

/// Returns the last bytes of `text`, at most `limit`.
pub fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// Returns `text` if it fits, or else its first `limit` bytes and the number of the bytes left out. For questions to users.
pub fn head_and_rest(text: &str, limit: usize) -> Cow<'_, str> {
    let (shown, is_all) = head(text, limit);
    if is_all {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{shown}… ({} more bytes)", text.len() - shown.len()))
}

/// Returns `text` if it has at most `limit` bytes, or else its first and last bytes with a note between them.
pub fn head_and_tail(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let first = text.floor_char_boundary(limit / 2);
    let last = text.ceil_char_boundary(text.len() - limit / 2);
    format!(
        "{}\n[{} bytes left out]\n{}",
        &text[..first],
        last - first,
        &text[last..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_whole() {
        assert_eq!(head("aé", 2), ("a", false));
        assert_eq!(head("aé", 3), ("aé", true));
        assert_eq!(["aé", "éa", "aé"].map(|text| tail(text, 2)), ["é", "a", "é"]);
        assert_eq!(tail("aé", 4), "aé");
        assert_eq!(head_and_rest("aé", 3), "aé");
        assert_eq!(head_and_rest("aéé", 2), "a… (4 more bytes)");
        assert_eq!(head_and_tail("ééé", 6), "ééé");
        assert_eq!(head_and_tail("éééé", 6), "é\n[4 bytes left out]\né");
    }
}
