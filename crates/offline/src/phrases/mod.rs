//! The ways of saying each instruction, one file a family. Each takes one line without politeness in front
//! and returns `None` for a line that it does not understand as a whole.

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

/// Understands one line; `fenced` is the code block below it.
pub(super) fn understand(line: &str, fenced: Option<&str>) -> Option<Instruction> {
    // A phrase that has no use for the code block below it has not understood the line with it.
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

/// Understands a plan's head with its list.
pub(super) fn understand_plan(line: &str, items: &[String]) -> Option<Instruction> {
    plan::understand(line, items)
}
