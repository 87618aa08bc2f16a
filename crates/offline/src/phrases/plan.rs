//! `plan:` with a list after it, `make a plan: a, b, c`, `make a plan to X: a; b`.

use bobbin_model::plan::TodoStatus;

use crate::instruction::Instruction;
use crate::text::{after_any, skip_colon};

const HEADS: &[&str] = &[
    "make me a plan",
    "make a plan",
    "make plan",
    "create a plan",
    "write a plan",
    "update the plan",
    "show a plan",
    "make a todo list",
    "make a to-do list",
    "create a todo list",
    "create a to-do list",
    "plan",
    "todos",
    "todo",
    "to-do list",
    "todo list",
    "to-do",
];

/// Returns whether a list after this line belongs to it.
pub(crate) fn is_plan_head(line: &str) -> bool {
    after_any(line, HEADS).is_some_and(|rest| rest.is_empty() || rest.ends_with(':'))
}

pub(super) fn understand(line: &str, items: &[String]) -> Option<Instruction> {
    let rest = after_any(line, HEADS)?;
    let (title, inline) = match after_any(rest, &["to", "for"]) {
        Some(named) => named.split_once(':').unwrap_or((named, "")),
        None => ("", skip_colon(rest)),
    };
    let separator = if inline.contains(';') { ';' } else { ',' };
    let inline = inline
        .split(separator)
        .map(|step| step.trim().strip_prefix("and ").unwrap_or(step.trim()));
    let steps: Vec<(String, TodoStatus)> = inline
        .map(|step| step.trim_end_matches('.'))
        .chain(items.iter().map(String::as_str))
        .filter_map(step)
        .collect();
    (!steps.is_empty()).then(|| Instruction::Plan {
        title: title.trim().to_owned(),
        steps,
    })
}

/// Reads one step with its checkbox.
fn step(text: &str) -> Option<(String, TodoStatus)> {
    let text = strip_marker(text).unwrap_or(text).trim();
    let boxes = [
        ("[x]", TodoStatus::Completed),
        ("[X]", TodoStatus::Completed),
        ("[ ]", TodoStatus::Pending),
        ("[]", TodoStatus::Pending),
        ("[~]", TodoStatus::InProgress),
        ("[>]", TodoStatus::InProgress),
        ("[-]", TodoStatus::Cancelled),
    ];
    let boxed = boxes
        .iter()
        .find_map(|(mark, status)| Some((text.strip_prefix(mark)?, *status)));
    let (content, status) = boxed.unwrap_or((text, TodoStatus::Pending));
    let content = content.trim();
    (!content.is_empty()).then(|| (content.to_owned(), status))
}

/// Returns a list item without its marker, or `None` for another line.
pub(crate) fn strip_marker(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = ["- ", "* ", "+ ", "• "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
    {
        return Some(rest.trim_start());
    }
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line[digits..].strip_prefix(['.', ')'])?;
    (digits > 0 && rest.starts_with(' ')).then(|| rest.trim_start())
}
