//! ``run `cargo test` ``, `run: make`, `$ ls`, `execute the command …`.

use crate::instruction::Instruction;
use crate::text::{after_any, is_noise, quoted, skip, skip_colon};

/// Words that begin a description of a command, not a command.
const NOT_A_PROGRAM: &[&str] = &[
    "the", "my", "all", "our", "some", "a", "an", "it", "this", "that", "these", "your",
];

/// After a quoted command: the command runs in the background.
const BACKGROUND: &str = "in the background";

/// Parses a shell prompt: everything after it is the command.
pub(crate) fn raw_command(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let command = line.strip_prefix("$ ").filter(|_| fenced.is_none())?.trim();
    (!command.is_empty()).then(|| Instruction::Run {
        command: command.to_owned(),
    })
}

pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    let rest = after_any(line, &["run", "execute", "exec", "shell"])?;
    let rest = skip(
        skip_colon(rest),
        &[
            "the shell command",
            "the command",
            "the following",
            "command",
            "this",
        ],
    );
    let rest = skip_colon(rest);
    if let Some(named) = quoted(rest).filter(|_| fenced.is_none())
        && let Some(rest) = skip_words(named.rest, BACKGROUND)
        && is_noise(rest)
        && !named.text.trim().is_empty()
    {
        let command = named.text.trim().to_owned();
        return Some(Instruction::Start { command });
    }
    let command = if let Some(block) = fenced {
        is_noise(rest).then(|| block.trim().to_owned())?
    } else if let Some(named) = quoted(rest) {
        if is_noise(named.rest) {
            named.text.trim().to_owned()
        } else {
            plain(rest)?
        }
    } else {
        plain(rest)?
    };
    (!command.is_empty()).then_some(Instruction::Run { command })
}

/// Returns the text after some words, if the text begins with them.
fn skip_words<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let (head, tail) = text.trim_start().split_at_checked(words.len())?;
    head.eq_ignore_ascii_case(words).then_some(tail)
}

/// Returns an unquoted command: the whole rest, without a full stop.
fn plain(rest: &str) -> Option<String> {
    let mut command = rest.trim();
    for polite in [", please", " please"] {
        let cut = command.len().checked_sub(polite.len());
        if let Some((head, tail)) = cut.and_then(|at| command.split_at_checked(at))
            && tail.eq_ignore_ascii_case(polite)
        {
            command = head;
        }
    }
    if let Some(head) = command
        .strip_suffix('.')
        .filter(|head| head.ends_with(|c: char| c.is_ascii_alphanumeric()))
    {
        command = head;
    }
    let program = command.split_whitespace().next()?.to_ascii_lowercase();
    (!NOT_A_PROGRAM.contains(&program.as_str())).then(|| command.to_owned())
}
