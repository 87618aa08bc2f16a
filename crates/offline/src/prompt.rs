//! Parses a prompt into instructions completely or not at all.

use super::instruction::Instruction;
use super::phrases::{is_plan_head, plan, raw_command, strip_marker, understand};
use super::text::{after_any, is_noise, outside_quotes, skip};

/// Polite and connecting words before an instruction.
const POLITE: &[&str] = &["please", "then", "and", "now"];

/// Parses a prompt.
///
/// # Errors
/// The first line that is not understood; then no part of the prompt is executed.
pub(super) fn instructions(prompt: &str) -> Result<Vec<Instruction>, String> {
    let lines: Vec<&str> = prompt.lines().collect();
    let found = from_lines(&lines)?;
    Ok(if found.is_empty() {
        vec![Instruction::Help]
    } else {
        found
    })
}

fn from_lines<'a>(mut lines: &'a [&'a str]) -> Result<Vec<Instruction>, String> {
    let mut found = Vec::new();
    while let Some((line, following)) = lines.split_first() {
        lines = following;
        let line = line.trim();
        let line = strip_marker(line).unwrap_or(line);
        // A shell prompt is no polite word.
        let line = if raw_command(line).is_some() {
            line
        } else {
            skip(line, POLITE)
        };
        if is_noise(line) {
            continue;
        }
        let (fenced, after_fence) = fence(following);
        let (items, after_items) = list(line, following);
        if let Some(plan) = plan(line, &items) {
            found.push(plan);
            lines = after_items;
        } else if let Some(instruction) = fenced.as_deref().and_then(|block| understand(line, Some(block))) {
            found.push(instruction);
            lines = after_fence;
        } else if let Some(several) = from_line(line) {
            match (several.as_slice(), from_lines(following)) {
                (_, Ok(more)) => {
                    found.extend(several);
                    found.extend(more);
                }
                // The following lines are no instructions: they belong to the text that this line began.
                ([one], Err(error)) => found.push(with_following_lines(one, following).ok_or(error)?),
                (_, Err(error)) => return Err(error),
            }
            return Ok(found);
        } else if let Some(instruction) = open_end(line, following) {
            found.push(instruction);
            return Ok(found);
        } else {
            return Err(line.to_owned());
        }
    }
    Ok(found)
}

/// Parses one line as one instruction, or as several joined by "then" or "and".
fn from_line(line: &str) -> Option<Vec<Instruction>> {
    if let Some(raw) = raw_command(line) {
        return Some(vec![raw]);
    }
    joined(line, "then")
        .or_else(|| Some(vec![understand(line, None)?]))
        .or_else(|| joined(line, "and"))
}

/// Splits a line at a word if every part is an instruction.
fn joined(line: &str, word: &str) -> Option<Vec<Instruction>> {
    let cuts: Vec<usize> = outside_quotes(line, word).collect();
    if cuts.is_empty() {
        return None;
    }
    let mut start = 0;
    let mut parts = Vec::new();
    for cut in cuts {
        parts.push(&line[start..cut]);
        start = cut + word.len();
    }
    parts.push(&line[start..]);
    let one = |part: &&str| {
        let part = part.trim().trim_end_matches([';', ',']).trim_end();
        let part = part
            .strip_suffix(" and")
            .unwrap_or(part)
            .trim_end_matches([';', ',']);
        understand(skip(part, POLITE), None)
    };
    parts.iter().map(one).collect()
}

/// Returns the code block that starts on the next line that is not blank, and the lines after it.
fn fence<'a>(following: &'a [&'a str]) -> (Option<String>, &'a [&'a str]) {
    let Some(at) = following.iter().position(|line| !line.trim().is_empty()) else {
        return (None, following);
    };
    let opening = following[at].trim();
    let ticks = opening.len() - opening.trim_start_matches('`').len();
    if ticks < 3 {
        return (None, following);
    }
    let body = &following[at + 1..];
    let closes = |line: &&str| {
        let line = line.trim();
        line.len() >= ticks && line.bytes().all(|b| b == b'`')
    };
    let end = body.iter().position(closes).unwrap_or(body.len());
    let mut text = body[..end].join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    (Some(text), body.get(end + 1..).unwrap_or_default())
}

/// Returns the list after a plan's first line, and the lines after the list.
fn list<'a>(line: &str, following: &'a [&'a str]) -> (Vec<String>, &'a [&'a str]) {
    if !is_plan_head(line) {
        return (Vec::new(), following);
    }
    let is_item = |line: &&&str| line.trim().is_empty() || strip_marker(line).is_some();
    let end = following.iter().take_while(is_item).count();
    let items = following[..end]
        .iter()
        .filter_map(|line| strip_marker(line))
        .map(ToOwned::to_owned);
    (items.collect(), &following[end..])
}

/// Adds the following lines to an instruction that ends with a text.
fn with_following_lines(instruction: &Instruction, following: &[&str]) -> Option<Instruction> {
    let following = following.join("\n");
    let following = following.trim_end();
    match instruction {
        Instruction::Write { path, content } if !content.is_empty() => Some(Instruction::Write {
            path: path.clone(),
            content: format!("{content}{following}\n"),
        }),
        Instruction::Say { text } => Some(Instruction::Say {
            text: format!("{text}\n{following}"),
        }),
        _ => None,
    }
}

/// Parses `write FILE:` and `say:` with all following lines as the text.
fn open_end(line: &str, following: &[&str]) -> Option<Instruction> {
    let announces = line.ends_with(':') || after_any(line, &["write", "create", "save"]).is_some();
    let text = following.join("\n");
    if !announces || text.trim().is_empty() {
        return None;
    }
    let text = format!("{}\n", text.trim_matches('\n').trim_end());
    understand(line, Some(&text))
        .filter(|found| matches!(found, Instruction::Write { .. } | Instruction::Say { .. }))
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
