//! The input of the Turn: words of the command line, stdin, pictures, the rules and the sandbox of this run.
//!
//! All of it is read and measured before anything runs. Too much is an error; nothing is cut.

use std::io::{IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bobbin_native_wire::turn::input_types::InputPart;
use nix::sys::stat::{SFlag, fstat};
use serde_json::{Value, json};

/// Longest request, as JSON: what a server takes in one message (AppServer protocol 01 §3), less what is around the input.
const MAX_INPUT_BYTES: usize = (4 << 20) - 4096;
/// After this time without an end of stdin the user hears what exec waits for.
pub(super) const SILENT_STDIN: Duration = Duration::from_secs(2);

/// Returns the text of the prompt. `words` are those of the command line.
///
/// # Errors
/// There is none, it is too long, or stdin is no text.
pub(super) fn prompt(words: &[String]) -> anyhow::Result<String> {
    let words = words.join(" ");
    let is_dash = words == "-";
    let from_stdin = if is_dash || has_input() {
        stdin()?
    } else {
        String::new()
    };
    let prompt = if is_dash { "" } else { words.trim() };
    Ok(match (prompt.is_empty(), from_stdin.trim().is_empty()) {
        (true, true) => bail!("no prompt given: pass it as an argument or on stdin"),
        (true, false) => from_stdin,
        (false, true) => prompt.to_owned(),
        (false, false) => format!(
            "{prompt}\n\n<stdin>\n{}\n</stdin>",
            from_stdin.trim_end_matches('\n')
        ),
    })
}

/// Whether stdin is something that a user has sent: a pipe or a file. A service manager's socket is not.
pub(crate) fn has_input() -> bool {
    let stdin = std::io::stdin();
    let Ok(found) = fstat(stdin.as_fd()) else {
        return false;
    };
    let kind = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT;
    !stdin.is_terminal() && (kind == SFlag::S_IFIFO || kind == SFlag::S_IFREG)
}

fn stdin() -> anyhow::Result<String> {
    let mut text = Vec::new();
    let read = std::io::stdin()
        .lock()
        .take(MAX_INPUT_BYTES as u64 + 1)
        .read_to_end(&mut text);
    read.context("stdin cannot be read")?;
    if text.len() > MAX_INPUT_BYTES {
        bail!("stdin is longer than {MAX_INPUT_BYTES} bytes; put it into a file and let the agent read that");
    }
    String::from_utf8(text).context("stdin is no UTF-8 text")
}

/// Returns the parts of the input.
///
/// # Errors
/// A picture is missing or none, or all of it is more than a server takes.
pub(super) fn parts(text: &str, images: &[PathBuf]) -> anyhow::Result<Value> {
    let mut parts = vec![json!({ "type": "text", "text": text })];
    for path in images {
        let part = InputPart::LocalImage(bobbin_chat::picture(path)?);
        parts.push(serde_json::to_value(part)?);
    }
    let parts = Value::Array(parts);
    let bytes = parts.to_string().len();
    if bytes > MAX_INPUT_BYTES {
        bail!(
            "the prompt has {bytes} bytes as JSON, and {MAX_INPUT_BYTES} are possible; put it into a file and let the agent \
             read that"
        );
    }
    Ok(parts)
}

/// Reads a time such as `90`, `90s`, `10m` or `1h 30m`.
///
/// # Errors
/// It is none, or not more than zero.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<u64>().ok().map(Duration::from_secs);
    let parsed = seconds.or_else(|| {
        let signed: jiff::SignedDuration = text.parse().ok()?;
        Duration::try_from(signed).ok()
    });
    parsed
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "write seconds, or a time such as 90s, 10m, 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_seconds_or_has_a_unit() {
        for (text, seconds) in [
            ("90", Some(90)),
            ("10m", Some(600)),
            ("1h 30m", Some(5400)),
            ("0", None),
            ("soon", None),
        ] {
            assert_eq!(duration(text).ok().map(|time| time.as_secs()), seconds, "{text}");
        }
    }

    #[test]
    fn a_prompt_is_measured_as_the_server_gets_it() {
        assert!(parts(&"x".repeat(MAX_INPUT_BYTES - 100), &[]).is_ok());
        let error = parts(&"\"".repeat(MAX_INPUT_BYTES / 2), &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("are possible"), "{error}");
    }
}
