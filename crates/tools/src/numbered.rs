//! Lines of a text for the model, each with its number, within limits. A note says how to read on.

use std::io::{self, BufRead, Read as _};

/// Most lines if the model gives no limit.
pub(super) const USUAL_LINES: u64 = 2_000;
/// Most characters of a line, unless it is read from a column on.
const MAX_LINE_CHARS: usize = 2_000;
/// Bytes of a result that stay free for the note at its end.
const NOTE_BYTES: usize = 200;
/// Most bytes of a character.
const CHAR_BYTES: usize = 4;

/// The part of a text that the model asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// First line, from 1.
    pub(super) first: u64,
    /// First character of that line, from 1. That line then has as many characters as fit.
    pub(super) column: Option<u64>,
    /// Most lines.
    pub(super) limit: u64,
    /// Most bytes of the result.
    pub(super) max_bytes: usize,
}

/// Returns the lines of a part. `text` starts with the part's first line.
///
/// # Errors
/// The text cannot be read.
pub(super) fn numbered(text: &mut impl BufRead, part: Part) -> io::Result<String> {
    let room = part.max_bytes.saturating_sub(NOTE_BYTES).max(NOTE_BYTES);
    let mut shown = String::new();
    let mut reached = part.first;
    let column = part.column.filter(|column| *column > 1);
    if let Some(column) = column
        && let Some(chars) = skip_chars(text, column - 1)?
    {
        return Ok(format!("[line {} has only {chars} characters]", part.first));
    }
    for number in (part.first..).take(usize::try_from(part.limit).unwrap_or(usize::MAX)) {
        let is_first = number == part.first;
        let from = column.filter(|_| is_first).unwrap_or(1);
        let label = format!("{number}\t");
        let free = room.saturating_sub(shown.len() + label.len() + 1);
        if free == 0 {
            break;
        }
        let most = match part.column {
            Some(_) if is_first => free,
            _ => MAX_LINE_CHARS,
        };
        let Some(mut line) = Line::read(text, most)? else {
            return Ok(shown);
        };
        if line.text.len() > free {
            if !is_first {
                shown.push_str(&goes_on(number));
                return Ok(shown);
            }
            line.text.truncate(line.text.floor_char_boundary(free));
            line.is_cut = true;
        }
        let next = from + line.text.chars().count() as u64;
        let plain = line.text.strip_prefix('\u{feff}').filter(|_| number == 1);
        shown.extend([&label, plain.unwrap_or(&line.text), "\n"]);
        if line.is_cut {
            let note = format!("[line {number} goes on: offset {number}, column {next}]\n");
            shown.push_str(&note);
        }
        reached = number + 1;
    }
    if !text.fill_buf()?.is_empty() {
        shown.push_str(&goes_on(reached));
    }
    Ok(shown)
}

fn goes_on(line: u64) -> String {
    format!("[the file goes on at offset {line}]")
}

/// A line, or its beginning, without its end.
struct Line {
    text: String,
    is_cut: bool,
}

impl Line {
    /// Reads a line of at most `most` characters and skips the rest of it; `None` at the end of the text.
    fn read(text: &mut impl BufRead, most: usize) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let limit = most.saturating_mul(CHAR_BYTES).saturating_add(2);
        let read = text.take(limit as u64).read_until(b'\n', &mut bytes)?;
        if read == 0 {
            return Ok(None);
        }
        let mut is_cut = false;
        if bytes.ends_with(b"\n") {
            bytes.pop();
            if bytes.ends_with(b"\r") {
                bytes.pop();
            }
        } else if read == limit {
            text.skip_until(b'\n')?;
            is_cut = true;
        }
        let all = String::from_utf8_lossy(&bytes);
        let end = all.char_indices().nth(most).map(|(at, _)| at);
        is_cut |= end.is_some();
        let text = all[..end.unwrap_or(all.len())].to_owned();
        Ok(Some(Self { text, is_cut }))
    }
}

/// Skips `count` characters of a line. Returns the line's length in characters if it has at most `count`.
fn skip_chars(text: &mut impl BufRead, count: u64) -> io::Result<Option<u64>> {
    let mut chars = 0;
    loop {
        let buffer = text.fill_buf()?;
        if buffer.is_empty() {
            return Ok(Some(chars));
        }
        for (at, byte) in buffer.iter().enumerate() {
            // Each byte starts a character, except UTF-8 continuation bytes.
            let starts = byte & 0b1100_0000 != 0b1000_0000;
            if *byte == b'\n' {
                return Ok(Some(chars));
            }
            if starts && chars == count {
                text.consume(at);
                return Ok(None);
            }
            chars += u64::from(starts);
        }
        let read = buffer.len();
        text.consume(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, first: u64, column: Option<u64>, limit: u64, max_bytes: usize) -> String {
        let mut lines = text.as_bytes();
        for _ in 1..first {
            lines.skip_until(b'\n').unwrap();
        }
        let part = Part {
            first,
            column,
            limit,
            max_bytes,
        };
        numbered(&mut lines, part).unwrap()
    }

    #[test]
    fn each_line_has_its_number_and_no_line_end() {
        assert_eq!(
            part("\u{feff}a\r\nb\n\nc", 1, None, 9, 1000),
            "1\ta\n2\tb\n3\t\n4\tc\n"
        );
        assert_eq!(
            part("a\nb\nc\n", 2, None, 1, 1000),
            "2\tb\n[the file goes on at offset 3]"
        );
        assert_eq!(part("a\nb\n", 2, None, 1, 1000), "2\tb\n");
    }

    #[test]
    fn a_text_of_one_long_line_is_read_to_its_end() {
        let line = "é1 ü23 ".repeat(30_000);
        let text = format!("{line}\nlast\n");
        let mut seen = String::new();
        let mut column = None;
        let mut rounds = 0;
        loop {
            rounds += 1;
            let shown = part(&text, 1, column, 1, 8_000);
            assert!(shown.len() <= 8_000, "{}", shown.len());
            let (first, notes) = shown.split_once('\n').unwrap();
            seen.push_str(first.strip_prefix("1\t").unwrap());
            let Some((_, next)) = notes.split_once("column ") else {
                assert_eq!(notes, "[the file goes on at offset 2]");
                break;
            };
            column = Some(next.split_once(']').unwrap().0.parse().unwrap());
        }
        assert_eq!(seen, line);
        assert!((20..60).contains(&rounds), "{rounds}");
        let chars = line.chars().count() as u64;
        assert_eq!(
            part(&text, 1, Some(chars + 1), 1, 8_000),
            format!("[line 1 has only {chars} characters]")
        );
    }

    #[test]
    fn long_lines_are_cut_and_the_others_come_all_the_same() {
        let text = format!(
            "a\n{}\n{}\nb\n",
            "x".repeat(MAX_LINE_CHARS + 1),
            "y".repeat(MAX_LINE_CHARS)
        );
        let shown = part(&text, 1, None, 9, 50_000);
        assert!(
            shown.contains("x\n[line 2 goes on: offset 2, column 2001]\n3\ty"),
            "{shown}"
        );
        assert!(shown.ends_with("y\n4\tb\n"), "{shown}");
    }

    #[test]
    fn a_part_that_is_too_large_ends_with_a_whole_line() {
        let text = "0123456789\n".repeat(200);
        let shown = part(&text, 1, None, 2_000, 1_000);
        assert!(shown.len() <= 1_000);
        let (lines, note) = shown.trim_end_matches(']').rsplit_once("\n[").unwrap();
        let next: usize = note.rsplit_once(' ').unwrap().1.parse().unwrap();
        assert_eq!(lines.lines().count() + 1, next);
    }
}
