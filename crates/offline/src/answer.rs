//! Texts on the results of calls. A failed call is never reported as done.

use super::fence::{block, language, span};
use super::instruction::Instruction;
use super::steps::Outcome;
use super::summary::entries;
use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::tool::{split_status, without_numbers};

/// Most bytes of a result in a message; the call's own Item has all of it.
const MAX_SHOWN_BYTES: usize = 32 << 10;

/// Returns the text on an instruction's result.
pub(super) fn answer(instruction: &Instruction, outcome: Outcome<'_>) -> String {
    if let Instruction::Run { command } | Instruction::Start { command } = instruction {
        return ran(command, outcome);
    }
    if !outcome.success {
        return format!("I could not {}: {}", instruction.in_words(), outcome.text);
    }
    match instruction {
        Instruction::List { path, glob } => listed(path.as_deref(), glob.as_deref(), outcome.text),
        Instruction::Read { path } => {
            let text = without_numbers(outcome.text);
            format!("{}:\n\n{}", span(path), output_block(&text, language(path)))
        }
        Instruction::Search(search) => {
            let (lines, note) = entries(outcome.text);
            if lines.is_empty() {
                format!("{}: {note}.", span(&search.pattern))
            } else {
                format!(
                    "{}: {note}.\n\n{}",
                    span(&search.pattern),
                    output_block(&lines.join("\n"), "")
                )
            }
        }
        Instruction::Call { tool, .. } => format!("{}:\n\n{}", span(tool), output_block(outcome.text, "")),
        Instruction::Plan { .. } => format!("Here is the plan: {}.", outcome.text),
        // The tool's own sentence, such as "created notes.txt (1 lines, 6 bytes)".
        _ => sentence(outcome.text),
    }
}

fn ran(command: &str, outcome: Outcome<'_>) -> String {
    let command = match command.lines().count() {
        0 | 1 => span(command),
        _ => "The command".to_owned(),
    };
    let Some((how, output)) = split_status(outcome.text) else {
        return format!("{command} was not run: {}", outcome.text);
    };
    let how = match how.strip_prefix("exit code ") {
        Some(code) => format!("ended with exit code {code}"),
        None if how == "cancelled" => "was cancelled".to_owned(),
        None if how.starts_with("killed") => format!("was {how}"),
        None => how.to_owned(),
    };
    if output.trim().is_empty() {
        format!("{command} {how} and printed nothing.")
    } else {
        format!("{command} {how}:\n\n{}", output_block(output, ""))
    }
}

fn listed(path: Option<&str>, glob: Option<&str>, result: &str) -> String {
    let (lines, note) = entries(result);
    let place = match (path, glob) {
        (_, Some(glob)) => format!("Files that match {}", span(glob)),
        (Some(path), None) => format!("Files in {}", span(path)),
        (None, None) => "Files in the workspace".to_owned(),
    };
    if lines.is_empty() {
        format!("{place}: {note}.")
    } else {
        format!("{place} ({note}):\n\n{}", output_block(&lines.join("\n"), ""))
    }
}

fn output_block(text: &str, language: &str) -> String {
    block(&head_and_tail(text, MAX_SHOWN_BYTES), language)
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
