//! A conversation as Markdown. The agent writes Markdown, so its messages stay as they are.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns the conversation of a Thread with its Turns. Views of calls and questions about them are left out: the call says
/// what was done.
pub(super) fn page(thread: &Value) -> String {
    let title = thread["displayName"].as_str().unwrap_or("Without a title");
    let mut page = format!(
        "# {}\n\nThread `{}`.\n\n",
        title.replace('\n', " "),
        text(thread, "id")
    );
    for turn in thread["turns"].as_array().into_iter().flatten() {
        let started: String = text(turn, "startedAt")
            .chars()
            .take("2027-03-01T08:00".len())
            .collect();
        let _ = write!(page, "## {}, {}", text(turn, "id"), started.replace('T', " "));
        if text(turn, "status") != "completed" {
            let _ = write!(page, " ({})", text(turn, "status"));
        }
        page.push_str("\n\n");
        for item in turn["items"].as_array().into_iter().flatten() {
            for paragraph in paragraphs(item) {
                let _ = write!(page, "{paragraph}\n\n");
            }
        }
    }
    page
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn paragraphs(item: &Value) -> Vec<String> {
    let payload = &item["payload"];
    let call = || {
        let arguments = &payload["arguments"];
        let command = arguments["command"].as_str().map(str::to_owned);
        let shown = command.unwrap_or_else(|| arguments.to_string());
        format!("`{}`\n\n{}", text(payload, "toolName"), fenced(&shown))
    };
    let result = |said: &str| {
        let label = if payload["success"] == true {
            ""
        } else {
            "Failed:\n\n"
        };
        format!("{label}{}", fenced(said))
    };
    match text(item, "type") {
        "userMessage" => {
            let lines = text(payload, "text").lines().map(|line| format!("> {line}"));
            vec![lines.collect::<Vec<_>>().join("\n")]
        }
        "agentMessage" => vec![text(payload, "text").trim_end().to_owned()],
        "reasoningContent" => vec![format!("*{}*", text(payload, "text").trim())],
        "toolCall" => vec![call()],
        "toolResult" => vec![result(text(payload, "result"))],
        "dynamicToolCall" => {
            let contents = payload["contentItems"].as_array().into_iter().flatten();
            let said: Vec<&str> = contents.filter_map(|content| content["text"].as_str()).collect();
            vec![call(), result(&said.join("\n"))]
        }
        "error" => vec![format!("**Error:** {}", text(payload, "message"))],
        _ => Vec::new(),
    }
}

/// Puts text between fences that are longer than any in it.
fn fenced(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}
