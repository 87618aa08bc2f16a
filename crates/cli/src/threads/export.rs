//! A conversation as a file: Markdown, or a line of JSON for each Turn.
//!
//! Reads the whole conversation into memory, page by page, since the server has the newest page first.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use bobbin_client::Client;
use bobbin_model::{Lines, visible};
use bobbin_server::console;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::markdown;
use crate::call::call;

/// Turns of one request.
const PAGE: u32 = 100;

/// The format of an exported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text with headings.
    Markdown,
    /// The thread, then each turn, as lines of JSON.
    Jsonl,
}

/// Writes a Thread to a new file, or to stdout.
pub(super) async fn export(
    client: &Client,
    id: &str,
    format: Format,
    output: Option<&Path>,
) -> anyhow::Result<()> {
    let thread = whole(client, id).await?;
    let text = match format {
        Format::Jsonl => lines(thread),
        Format::Markdown => legible(&markdown::page(&thread)),
    };
    let Some(path) = output else {
        console::stream(&text);
        return Ok(());
    };
    let mut options = OpenOptions::new();
    // What was said may be secret.
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.with_context(|| format!("cannot make {}", path.display()))?;
    file.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))?;
    console::note(&format!("Exported to {}. Only you can read it.", path.display()));
    Ok(())
}

/// Returns a file for users with marks in place of what would act on the display that shows it.
fn legible(page: &str) -> String {
    visible(&page.replace("\r\n", "\n"), Lines::Keep).into_owned()
}

/// Reads a Thread with all its Turns, oldest first.
pub(crate) async fn whole(client: &Client, id: &str) -> anyhow::Result<Value> {
    let mut params = json!({ "threadId": id, "includeTurns": true, "turnLimit": PAGE });
    let mut read: Value = call(client, "thread/read", &params).await?;
    let mut thread = read["thread"].take();
    let mut pages = vec![thread["turns"].take()];
    while let Some(cursor) = read["turnPage"]["nextCursor"].as_str().map(str::to_owned) {
        params["cursor"] = cursor.into();
        read = call(client, "thread/read", &params).await?;
        pages.push(read["thread"]["turns"].take());
    }
    let turns = pages.into_iter().rev().flat_map(|page| match page {
        Value::Array(turns) => turns,
        _ => Vec::new(),
    });
    thread["turns"] = turns.collect();
    Ok(thread)
}

/// Returns a line for the Thread without its Turns, and one for each Turn.
fn lines(mut thread: Value) -> String {
    let turns = thread["turns"].take();
    if let Some(members) = thread.as_object_mut() {
        members.remove("turns");
    }
    let lines = std::iter::once(&thread).chain(turns.as_array().into_iter().flatten());
    let lines: Vec<String> = lines.map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread() -> Value {
        let item = |kind: &str, payload: Value| json!({ "type": kind, "payload": payload });
        let items = [
            item("userMessage", json!({ "text": "<b>make</b>\n``` tea" })),
            item("reasoningContent", json!({ "text": "Hm & so." })),
            item(
                "toolCall",
                json!({ "toolName": "Exec", "arguments": { "command": "make tea </pre>" } }),
            ),
            item(
                "toolResult",
                json!({ "result": "```\n<script>alert(1)</script>", "success": false }),
            ),
            item("approvalRequest", json!({ "reason": "left out" })),
            item("agentMessage", json!({ "text": "It **failed**." })),
            item("error", json!({ "message": "cold \"kettle\"" })),
        ];
        let turn = json!({ "id": "turn_001", "startedAt": "2027-03-01T08:00:00.000Z", "status": "completed", "items": items });
        json!({ "id": "thread_1", "displayName": "Tea <1>", "turns": [turn] })
    }

    #[test]
    fn markdown_fences_what_has_fences_itself() {
        let page = markdown::page(&thread());
        assert_eq!(
            page,
            "# Tea <1>\n\nThread `thread_1`.\n\n## turn_001, 2027-03-01 08:00\n\n\
             > <b>make</b>\n> ``` tea\n\n\
             *Hm & so.*\n\n\
             `Exec`\n\n```\nmake tea </pre>\n```\n\n\
             Failed:\n\n````\n```\n<script>alert(1)</script>\n````\n\n\
             It **failed**.\n\n\
             **Error:** cold \"kettle\"\n\n"
        );
    }

    #[test]
    fn nothing_of_a_conversation_acts_on_the_display_of_its_file() {
        let item =
            json!({ "type": "agentMessage", "payload": { "text": "a\u{1b}[2J\u{202e}\u{200b}\r\n\tb\rc" } });
        let thread = json!({ "displayName": "\u{1b}]0;x\u{7}", "turns": [{ "items": [item] }] });
        let page = legible(&markdown::page(&thread));
        assert!(page.contains("a\\u{1b}[2J\\u{202e}\\u{200b}\n\tb\\rc"), "{page}");
        assert!(
            !page.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')),
            "{page}"
        );
    }

    #[test]
    fn lines_are_the_thread_and_its_turns() {
        let text = lines(thread());
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0], json!({ "id": "thread_1", "displayName": "Tea <1>" }));
        assert_eq!((lines.len(), &lines[1]["id"]), (2, &json!("turn_001")));
    }
}
