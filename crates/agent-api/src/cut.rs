//! Cuts text to a size without cutting a character.

use std::borrow::Cow;

/// Returns the beginning of `text`, at most `limit` bytes, and whether that is all of it.
pub fn head(text: &str, limit: usize) -> (&str, bool) {
    let end = text.floor_char_boundary(limit);
    (&text[..end], end == text.len())
}

/// Returns `text`, or its first `limit` bytes and the number of those that follow, for a question.
pub fn head_and_rest(text: &str, limit: usize) -> Cow<'_, str> {
    let (shown, is_all) = head(text, limit);
    if is_all {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{shown}… ({} more bytes)", text.len() - shown.len()))
}

/// Returns `text`, or its beginning and end with a note between them when it is longer than `limit` bytes.
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
        assert_eq!(head_and_rest("aé", 3), "aé");
        assert_eq!(head_and_rest("aéé", 2), "a… (4 more bytes)");
        assert_eq!(head_and_tail("ééé", 6), "ééé");
        assert_eq!(head_and_tail("éééé", 6), "é\n[4 bytes left out]\né");
    }
}
