//! The phrases of each instruction, one file for each kind. A function takes one line without polite words, and returns
//! `None` unless it understands the whole line.

mod hosted;
mod list;
mod plan;
mod read;
mod replace;
mod run;
mod say;
mod search;
mod summary;
mod write;

use super::instruction::Instruction;

pub(super) use plan::{is_plan_head, strip_marker};
pub(super) use run::raw_command;

/// Parses one line; `fenced` is the code block after it.
pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    // A phrase that does not use the following code block has not understood the line.
    let alone = |found: Option<Instruction>| found.filter(|_| fenced.is_none());
    raw_command(line, fenced)
        .or_else(|| hosted::understand(line, fenced))
        .or_else(|| alone(plan::understand(line, &[])))
        .or_else(|| write::understand(line, fenced))
        .or_else(|| alone(replace::understand(line)))
        .or_else(|| say::understand(line, fenced))
        .or_else(|| alone(summary::understand(line)))
        .or_else(|| alone(list::understand(line)))
        .or_else(|| alone(search::understand(line)))
        .or_else(|| alone(read::understand(line)))
        .or_else(|| run::understand(line, fenced))
}

/// Parses the first line of a plan with its list.
pub(super) fn understand_plan(line: &str, items: &[String]) -> Option<Instruction> {
    plan::understand(line, items)
}
