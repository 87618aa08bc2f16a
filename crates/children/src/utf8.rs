//! Bytes to text, chunk by chunk, without splitting a character.
//!
//! Invalid bytes become U+FFFD exactly as `String::from_utf8_lossy` does for the whole text. At most the three
//! bytes of an unfinished character are buffered.

/// Decodes a stream of bytes whose chunks end anywhere.
#[derive(Debug, Default)]
pub(crate) struct Utf8Stream {
    unfinished: Vec<u8>,
}

impl Utf8Stream {
    /// Appends the text of `bytes` to `text`, except a character that is not complete yet.
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut String) {
        if self.unfinished.is_empty() {
            self.unfinished = decode(bytes, text).to_vec();
        } else {
            let mut joined = std::mem::take(&mut self.unfinished);
            joined.extend_from_slice(bytes);
            self.unfinished = decode(&joined, text).to_vec();
        }
    }

    /// Ends the stream: a character that never became complete is replaced.
    pub(crate) fn finish(&mut self, text: &mut String) {
        if !self.unfinished.is_empty() {
            self.unfinished.clear();
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// Appends the decoded text of `bytes` and returns the unfinished character at their end.
fn decode<'a>(bytes: &'a [u8], text: &mut String) -> &'a [u8] {
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        text.push_str(chunk.valid());
        let invalid = chunk.invalid();
        if invalid.is_empty() {
            continue;
        }
        // Only the end of the bytes can be an unfinished character; `error_len` is `None` for one.
        if chunks.peek().is_none() && std::str::from_utf8(invalid).is_err_and(|e| e.error_len().is_none()) {
            return invalid;
        }
        text.push(char::REPLACEMENT_CHARACTER);
    }
    &[]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(pieces: &[&[u8]]) -> String {
        let (mut stream, mut text) = (Utf8Stream::default(), String::new());
        for piece in pieces {
            stream.push(piece, &mut text);
        }
        stream.finish(&mut text);
        text
    }

    #[test]
    fn a_character_cut_in_four_arrives_whole() {
        assert_eq!(decoded(&[b"a\xF0", b"\x9F", b"\xA6", b"\x80b"]), "a🦀b");
    }

    #[test]
    fn an_unfinished_character_at_the_end_is_replaced() {
        assert_eq!(decoded(&[b"a\xE2\x82"]), "a\u{FFFD}");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_text_of_the_whole(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..60),
                "\\PC{0,30}".prop_map(String::into_bytes),
            ],
            cut in 1_usize..9,
        ) {
            let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
            prop_assert_eq!(decoded(&pieces), String::from_utf8_lossy(&bytes));
        }
    }
}
