//! The text of an open document, changed as editors change it: lines and UTF-16 columns.
//!
//! Positions beyond a line or the document are clipped, as "replace everything" needs it.

use serde::{Deserialize, Serialize};

/// A position: a line and a column in UTF-16 units, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub character: u32,
}

/// The text between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Its start.
    pub start: Position,
    /// Its end, which is not part of it.
    pub end: Position,
}

/// A change that a document cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the range of the change ends before it starts")]
pub struct EditError;

/// An open document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its text.
    pub text: String,
    /// The number of the change that made it so.
    pub version: i64,
}

impl Document {
    /// Replaces a range, or everything.
    ///
    /// # Errors
    /// [`EditError`]; the document is unchanged.
    pub fn change(&mut self, range: Option<Range>, text: &str) -> Result<(), EditError> {
        let Some(Range { start, end }) = range else {
            text.clone_into(&mut self.text);
            return Ok(());
        };
        if end < start {
            return Err(EditError);
        }
        let (start, end) = (self.offset(start), self.offset(end));
        self.text.replace_range(start..end, text);
        Ok(())
    }

    fn offset(&self, position: Position) -> usize {
        let mut rest = self.text.as_str();
        let mut offset = 0;
        for _ in 0..position.line {
            let Some(end) = rest.find('\n') else {
                return self.text.len();
            };
            offset += end + 1;
            rest = &rest[end + 1..];
        }
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut column = 0;
        for (at, letter) in line.char_indices() {
            if column >= position.character {
                return offset + at;
            }
            column += if letter.len_utf16() == 2 { 2 } else { 1 };
        }
        offset + line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: (u32, u32), to: (u32, u32)) -> Range {
        let position = |(line, character)| Position { line, character };
        Range {
            start: position(from),
            end: position(to),
        }
    }

    #[test]
    fn changes_count_utf_16_units_and_are_clipped() {
        let cases = [
            (
                "buffer text\n",
                Some(range((0, 0), (0, 6))),
                "edited",
                "edited text\n",
            ),
            ("a🍵b\r\nc", Some(range((0, 1), (0, 3))), "-", "a-b\r\nc"),
            ("a\r\nb", Some(range((0, 9), (1, 0))), "", "ab"),
            ("a\nb\n", Some(range((0, 0), (999_999, 999_999))), "x", "x"),
            ("ä\n", Some(range((1, 0), (1, 0))), "ö", "ä\nö"),
            ("old", None, "new", "new"),
        ];
        for (before, range, text, after) in cases {
            let mut document = Document {
                text: before.to_owned(),
                version: 1,
            };
            document.change(range, text).unwrap();
            assert_eq!(document.text, after);
        }
        let mut document = Document {
            text: "ab".to_owned(),
            version: 1,
        };
        assert_eq!(document.change(Some(range((0, 2), (0, 1))), ""), Err(EditError));
    }
}
