//! Items as the client shows them. The Items of one call are one item there.

use bobbin_model::item::USER_COMMAND_CALL;
use bobbin_model::item::{CommandExecution, UserMessage};
use bobbin_model::{
    CallPreview, CommandStatus, DynamicToolCall, InputPart, Item, ItemBody, ItemId, Json, ToolContent,
    TurnId, UnixMillis,
};
use serde_json::{Value, json};

/// Longest result of a tool, and longest output of a command, that is sent, in bytes.
const MAX_RESULT: usize = 64 << 10;

/// Returns the id of an Item.
pub(crate) fn item_id(turn: TurnId, item: ItemId) -> String {
    format!("{turn}/{item}")
}

/// Returns the id of a call, whose Items are one.
pub(crate) fn call_item_id(turn: TurnId, call: &str) -> String {
    format!("{turn}/{call}")
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    InProgress,
    Completed,
    Failed,
    Declined,
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Self::InProgress => "inProgress",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Declined => "declined",
        }
    }

    /// As [`Status::word`], for items that know no refusal.
    fn word_of_tool(self) -> &'static str {
        match self {
            Self::Declined => "failed",
            status => status.word(),
        }
    }
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    id: String,
    tool: String,
    arguments: Value,
    command: Option<CommandExecution>,
    change: Option<CallPreview>,
    result: Option<String>,
    status: Status,
    root: String,
    pub(crate) started_at: UnixMillis,
    /// Whether the client was shown its start.
    pub(crate) is_shown: bool,
}

impl Call {
    pub(crate) fn new(id: String, tool: &str, arguments: Option<&Json>, root: &str, at: UnixMillis) -> Self {
        let arguments = arguments.and_then(|json| serde_json::from_str(json.get()).ok());
        Self {
            id,
            tool: tool.to_owned(),
            arguments: arguments.unwrap_or(Value::Null),
            command: None,
            change: None,
            result: None,
            status: Status::InProgress,
            root: root.to_owned(),
            started_at: at,
            is_shown: false,
        }
    }

    /// Whether its change of a file is shown, which comes with a preview.
    pub(crate) fn waits_for_change(&self) -> bool {
        matches!(self.tool.as_str(), "EditFile" | "WriteFile" | "ApplyPatch") && self.change.is_none()
    }

    pub(crate) fn preview(&mut self, change: &CallPreview) {
        self.change = Some(change.clone());
    }

    pub(crate) fn run(&mut self, command: &CommandExecution) {
        self.command = Some(command.clone());
    }

    pub(crate) fn end(&mut self, result: &str, success: bool, refused: bool) {
        self.status = match (success, refused) {
            (_, true) => Status::Declined,
            (true, false) => Status::Completed,
            (false, false) => Status::Failed,
        };
        if let Some(command) = &self.command
            && command.status == CommandStatus::Failed
        {
            self.status = Status::Failed;
        }
        self.result = Some(cut(result));
    }

    /// Ends a call whose Turn has ended without its result.
    pub(crate) fn stop(&mut self) {
        if self.status == Status::InProgress {
            self.status = Status::Failed;
        }
    }

    /// Whether it is a command.
    pub(crate) fn is_command(&self) -> bool {
        self.tool == "Exec" || self.command.is_some()
    }

    /// Whether it shows a change of files.
    pub(crate) fn is_change(&self) -> bool {
        self.change.as_ref().is_some_and(|change| !change.diff.is_empty())
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the item.
    pub(crate) fn item(&self) -> Value {
        if self.is_command() {
            return self.command();
        }
        if let Some(change) = self.change.as_ref().filter(|_| self.is_change()) {
            return json!({
                "type": "fileChange",
                "id": self.id,
                "changes": [change_of(change)],
                "status": self.status.word(),
            });
        }
        let status = self.status.word_of_tool();
        let content = self
            .result
            .as_ref()
            .map(|text| json!([{ "type": "text", "text": text }]));
        if let Some((server, tool)) = self
            .tool
            .strip_prefix("mcp__")
            .and_then(|name| name.split_once("__"))
        {
            let failed = (status == "failed").then(|| json!({ "message": self.result }));
            let result = content.filter(|_| status == "completed");
            return json!({
                "type": "mcpToolCall",
                "id": self.id,
                "server": server,
                "tool": tool,
                "status": status,
                "arguments": self.arguments,
                "result": result.map(|content| json!({ "content": content })),
                "error": failed,
            });
        }
        let texts = self
            .result
            .as_ref()
            .map(|text| json!([{ "type": "inputText", "text": text }]));
        json!({
            "type": "dynamicToolCall",
            "id": self.id,
            "tool": self.tool,
            "status": status,
            "arguments": self.arguments,
            "contentItems": texts,
            "success": (self.status != Status::InProgress).then_some(status == "completed"),
        })
    }

    fn command(&self) -> Value {
        let run = self.command.as_ref();
        let line = run
            .map(|run| run.command.as_str())
            .or(self.arguments["command"].as_str());
        let output = run
            .map(|run| run.aggregated_output.as_str())
            .filter(|text| !text.is_empty());
        // One that never ran says why.
        let output = output.or(self.result.as_deref().filter(|_| run.is_none()));
        json!({
            "type": "commandExecution",
            "id": self.id,
            "command": shell_line(line.unwrap_or_default()),
            "cwd": run.map_or(self.root.as_str(), |run| run.working_directory.as_str()),
            "status": self.status.word(),
            "commandActions": [],
            "aggregatedOutput": output.map(end_of),
            "exitCode": run.and_then(|run| run.exit_code),
            "durationMs": run.and_then(|run| run.duration_ms),
            "source": if self.id.contains(USER_COMMAND_CALL) { "userShell" } else { "agent" },
        })
    }
}

/// Returns the end of a command's output: the client shows its last lines.
fn end_of(output: &str) -> &str {
    let from = output.len().saturating_sub(MAX_RESULT);
    &output[output.ceil_char_boundary(from)..]
}

/// Returns a command line as the client shows it: it takes the shell away, and quotes the words of other lines anew.
pub(crate) fn shell_line(line: &str) -> String {
    format!("bash -lc '{}'", line.replace('\'', "'\\''"))
}

/// Returns a change of one file. Of a new or removed file the client wants the bare content.
fn change_of(change: &CallPreview) -> Value {
    let first = change.diff.lines().next().unwrap_or_default();
    let content = |sign: char| -> String {
        let lines = change.diff.lines().filter_map(|line| line.strip_prefix(sign));
        lines.flat_map(|line| [line, "\n"]).collect()
    };
    let (kind, diff) = if first.starts_with("@@ -0,0 ") {
        (json!({ "type": "add" }), content('+'))
    } else if first.contains(" +0,0 @@") {
        (json!({ "type": "delete" }), content('-'))
    } else {
        (
            json!({ "type": "update", "move_path": null }),
            change.diff.clone(),
        )
    };
    json!({ "path": change.path, "kind": kind, "diff": diff })
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_RESULT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_RESULT);
    format!("{}\n… {} more bytes", &text[..end], text.len() - end)
}

/// Returns the item of an Item that is no part of a call.
pub(crate) fn of(turn: TurnId, item: &Item) -> Option<Value> {
    let id = item_id(turn, item.id);
    Some(match &item.body {
        ItemBody::UserMessage(message) => user_message(&id, message),
        ItemBody::AgentMessage { text } => json!({ "type": "agentMessage", "id": id, "text": text }),
        ItemBody::Reasoning { text } => {
            let summary: Vec<&str> = Some(text.as_str())
                .filter(|text| !text.is_empty())
                .into_iter()
                .collect();
            json!({ "type": "reasoning", "id": id, "summary": summary, "content": [] })
        }
        ItemBody::Compaction(_) => json!({ "type": "contextCompaction", "id": id }),
        _ => return None,
    })
}

fn user_message(id: &str, message: &UserMessage) -> Value {
    let picture = |part: &InputPart| match part {
        InputPart::Image { url } => Some(json!({ "type": "image", "url": url })),
        InputPart::LocalImage { path, .. } => Some(json!({ "type": "localImage", "path": path })),
        _ => None,
    };
    let mut content: Vec<Value> = message.native.iter().filter_map(picture).collect();
    let text = message.text();
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": text, "text_elements": [] }));
    }
    json!({ "type": "userMessage", "id": id, "content": content, "clientId": message.client_message_id })
}

/// Returns a call that a client serves.
pub(crate) fn of_client(turn: TurnId, call: &DynamicToolCall, root: &str, at: UnixMillis) -> Call {
    let id = call_item_id(turn, &call.call_id);
    let mut shown = Call::new(id, &call.tool_name, call.arguments.as_ref(), root, at);
    if let Some(answer) = &call.answer {
        let texts = answer.content.iter().filter_map(|content| match content {
            ToolContent::Text(text) => Some(text.as_str()),
            ToolContent::Image { .. } => None,
        });
        let text = match &answer.error_message {
            Some(message) => message.clone(),
            None => texts.collect::<Vec<_>>().join("\n"),
        };
        shown.end(&text, answer.success, false);
    }
    shown
}

#[cfg(test)]
mod tests {
    use bobbin_model::UnixMillis;

    use super::*;

    fn preview(diff: &str) -> Value {
        change_of(&CallPreview {
            path: "/w/a".to_owned(),
            diff: diff.to_owned(),
            additions: 1,
            deletions: 0,
        })
    }

    #[test]
    fn a_new_file_is_its_content_and_a_changed_one_its_hunks() {
        let new = preview("@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(
            (&new["kind"]["type"], &new["diff"]),
            (&json!("add"), &json!("a\nb\n"))
        );
        let gone = preview("@@ -1 +0,0 @@\n-a\n");
        assert_eq!(
            (&gone["kind"]["type"], &gone["diff"]),
            (&json!("delete"), &json!("a\n"))
        );
        let changed = "@@ -1 +1 @@\n-a\n+b\n";
        let shown = preview(changed);
        assert_eq!(
            (&shown["kind"]["type"], &shown["diff"]),
            (&json!("update"), &json!(changed))
        );
    }

    #[test]
    fn a_command_line_is_one_word_of_a_shell() {
        assert_eq!(
            shell_line("echo 'a b' && ls"),
            r"bash -lc 'echo '\''a b'\'' && ls'"
        );
    }

    #[test]
    fn long_texts_are_cut_and_a_refused_call_is_declined() {
        let mut call = Call::new("t/c".to_owned(), "Exec", None, "/w", UnixMillis(0));
        call.end(&"é".repeat(MAX_RESULT), false, true);
        let item = call.item();
        assert_eq!(item["status"], "declined");
        assert!(item["aggregatedOutput"].as_str().unwrap().len() <= MAX_RESULT);
        let mut tool = Call::new("t/d".to_owned(), "mcp__pot__pour", None, "/w", UnixMillis(0));
        tool.end("full", false, false);
        let item = tool.item();
        assert_eq!((&item["server"], &item["tool"]), (&json!("pot"), &json!("pour")));
        assert_eq!(item["error"]["message"], "full");
    }
}
