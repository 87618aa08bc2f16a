//! Files with a JSON object on each line.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::Value;

/// Largest file, in bytes.
const MAX_FILE: u64 = 256 << 20;
/// Longest line, in bytes: pictures are in lines.
const MAX_LINE: usize = 16 << 20;

/// Calls `each` with the objects of a file in order, until it returns `false`. Returns the number of lines that are none.
///
/// # Errors
/// The file cannot be read, or is too large.
pub(super) fn each(file: &Path, mut each: impl FnMut(&Value) -> bool) -> io::Result<u32> {
    let opened = bobbin_files::open_regular(file)?;
    if opened.metadata()?.len() > MAX_FILE {
        let why = format!("it has more than {} MiB", MAX_FILE >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let mut reader = BufReader::new(opened.take(MAX_FILE));
    let (mut line, mut damaged) = (Vec::new(), 0);
    loop {
        line.clear();
        if reader
            .by_ref()
            .take(MAX_LINE as u64)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(damaged);
        }
        if line.len() == MAX_LINE && line.last() != Some(&b'\n') {
            reader.skip_until(b'\n')?;
            damaged += 1;
            continue;
        }
        match serde_json::from_slice::<Value>(&line) {
            Ok(value) if value.is_object() => {
                if !each(&value) {
                    return Ok(damaged);
                }
            }
            _ if line.iter().all(u8::is_ascii_whitespace) => {}
            _ => damaged += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_lines_are_counted_and_the_rest_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.jsonl");
        let long = "x".repeat(MAX_LINE);
        std::fs::write(
            &file,
            format!("{{\"a\": 1}}\n[]\n\n{{\"a\": {long}\n\u{0}\n{{\"a\": 2}}"),
        )
        .unwrap();
        let mut seen = Vec::new();
        let damaged = each(&file, |value| {
            seen.push(value["a"].as_u64());
            true
        });
        assert_eq!((damaged.unwrap(), seen), (3, vec![Some(1), Some(2)]));
        assert_eq!(each(&file, |_| false).unwrap(), 0);
    }
}
