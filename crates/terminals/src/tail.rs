//! The end of a growing text: its latest bytes, and its total length. Pure.

use std::collections::VecDeque;

/// The end of a text.
#[derive(Debug)]
pub(crate) struct Tail {
    stored: VecDeque<u8>,
    limit: usize,
    bytes: u64,
    chars: u64,
}

impl Tail {
    /// Returns an empty text that retains up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            stored: VecDeque::new(),
            limit,
            bytes: 0,
            chars: 0,
        }
    }

    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.chars += text.chars().count() as u64;
        let excess = (self.stored.len() + text.len()).saturating_sub(self.limit);
        let old = excess.min(self.stored.len());
        self.stored.drain(..old);
        self.stored.extend(&text.as_bytes()[excess - old..]);
    }

    /// Returns the bytes of the whole text.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the characters of the whole text.
    pub(crate) fn chars(&self) -> u64 {
        self.chars
    }

    /// Returns the retained text, from the first complete character on.
    pub(crate) fn text(&mut self) -> &str {
        whole(self.stored.make_contiguous())
    }
}

/// Returns a text that was cut by bytes, without a partial character at its beginning.
pub(crate) fn whole(bytes: &[u8]) -> &str {
    let cut = bytes.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count();
    let bytes = &bytes[cut..];
    // Only the beginning can be cut; other invalid bytes were invalid on disk.
    std::str::from_utf8(bytes)
        .unwrap_or_else(|error| std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
}

/// Returns the last `chars` characters.
pub(crate) fn last(text: &str, chars: usize) -> &str {
    match chars
        .checked_sub(1)
        .and_then(|before| text.char_indices().rev().nth(before))
    {
        Some((start, _)) => &text[start..],
        None if chars == 0 => "",
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_everything_counted() {
        let mut tail = Tail::new(5);
        for piece in ["ab", "é", "", "cdé"] {
            tail.push(piece);
        }
        assert_eq!((tail.bytes(), tail.chars()), (8, 6));
        // The first é lacks its first byte.
        assert_eq!(tail.text(), "cdé");
        tail.push("0123456789");
        assert_eq!(tail.text(), "56789");
    }

    #[test]
    fn the_last_characters_are_whole() {
        for (chars, end) in [(0, ""), (1, "é"), (2, "bé"), (3, "abé"), (9, "abé")] {
            assert_eq!(last("abé", chars), end);
        }
        assert_eq!(whole(&[0xA9, b'x']), "x");
        assert_eq!(whole(b"x\xff"), "x");
    }
}
