//! `say hello`, `echo hello`, `repeat 5 tick`, `repeat tick 5 times`, `help`.

use crate::instruction::Instruction;
use crate::text::{after, after_any, is_noise, quoted};

pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    if let Some(rest) = after_any(line, &["say", "echo", "repeat after me"]) {
        let text = said(rest, fenced)?;
        return (!text.is_empty()).then_some(Instruction::Say { text });
    }
    if let Some(rest) = after(line, "repeat") {
        return repeat(rest, fenced);
    }
    let help = [
        "help",
        "what can you do",
        "who are you",
        "what are you",
        "how do you work",
        "/help",
    ];
    let asks = fenced.is_none() && after_any(line, &help).is_some_and(is_noise);
    asks.then_some(Instruction::Help)
}

fn said(rest: &str, fenced: Option<&str>) -> Option<String> {
    let rest = rest.strip_prefix(':').unwrap_or(rest).trim();
    match (quoted(rest), fenced) {
        (_, Some(block)) => rest.is_empty().then(|| block.to_owned()),
        (Some(inner), None) if is_noise(inner.rest) => Some(inner.text),
        (_, None) => Some(rest.to_owned()),
    }
}

fn repeat(rest: &str, fenced: Option<&str>) -> Option<Instruction> {
    let first = rest.split_whitespace().next()?;
    let (times, text) = if let Some(times) = count(first) {
        let rest = rest[first.len()..].trim_start();
        let rest = after_any(rest, &["times"]).unwrap_or(rest);
        (times, said(rest, fenced)?)
    } else {
        let (text, count_text) = rest.strip_suffix("times")?.trim_end().rsplit_once(' ')?;
        (count(count_text)?, said(text, fenced)?)
    };
    (!text.is_empty()).then_some(Instruction::Repeat { times, text })
}

fn count(word: &str) -> Option<usize> {
    word.replace([',', '_'], "").parse().ok()
}
