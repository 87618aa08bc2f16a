//! A conversation as Markdown. The agent writes Markdown, so its messages stay as they are.

use std::fmt::Write as _;

use super::export::{Conversation, Part};

/// Returns the conversation.
pub(super) fn page(conversation: &Conversation) -> String {
    let Conversation { id, title, turns } = conversation;
    let mut page = format!("# {}\n\nThread `{id}`.\n\n", title.replace('\n', " "));
    for turn in turns {
        let _ = write!(page, "## {}, {}", turn.id, turn.started_at);
        if turn.status != "completed" {
            let _ = write!(page, " ({})", turn.status);
        }
        page.push_str("\n\n");
        for part in &turn.parts {
            page.push_str(&paragraph(part));
            page.push_str("\n\n");
        }
    }
    page
}

fn paragraph(part: &Part) -> String {
    match part {
        Part::User(text) => {
            let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
            lines.join("\n")
        }
        Part::Agent(text) => text.trim_end().to_owned(),
        Part::Reasoning(text) => format!("*{}*", text.trim()),
        Part::Call(tool, arguments) => format!("`{tool}`\n\n{}", fenced(arguments)),
        Part::Result(text, true) => fenced(text),
        Part::Result(text, false) => format!("Failed:\n\n{}", fenced(text)),
        Part::Error(text) => format!("**Error:** {text}"),
    }
}

/// Puts text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}
