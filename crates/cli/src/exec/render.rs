//! Notifications of the Turn as a user of a terminal reads them, or as JSON lines.
//!
//! The answer goes to stdout and everything else to stderr. What was shown of a message is compared with the whole text at its
//! end: a server leaves deltas out where a client is slow or a text is large.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::time::Duration;

use bobbin_chat::{ChangeLine, Prose};
use bobbin_client::{Notification, TurnState};
use bobbin_model::turn::{FileChange, FileChangeStatus};
use bobbin_model::{Decision, Json};
use bobbin_native_wire::item::approval::ApprovalRequestParams;
use bobbin_native_wire::item::delta::AgentMessageDeltaNotification;
use bobbin_native_wire::item::payload::ItemPayload;
use bobbin_native_wire::item::tool_payload::ToolCallPayload;
use bobbin_native_wire::item::types::Item;
use bobbin_native_wire::item::usage::TokenUsage;
use bobbin_native_wire::turn::diff::{TurnDiffUpdatedNotification, TurnWaitingNotification};
use bobbin_native_wire::turn::notifications::{
    ItemNotification, TurnCancelledNotification, TurnFailedNotification,
};
use bobbin_server::models::variable;
use serde_json::{Value, json};
use tokio::time::Instant;

use bobbin_server::console;

/// How a Turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    Completed,
    Failed(String),
    Cancelled(String),
}

/// The form of the output on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Messages of the agent as they come.
    Text,
    /// Nothing until the end.
    Nothing,
    /// Notifications as JSON lines.
    Json,
}

/// Silence after which a terminal shows that exec still waits.
const QUIET: Duration = Duration::from_secs(1);
/// Time between two pictures of the spinner.
pub(super) const TICK: Duration = Duration::from_millis(125);
/// Most characters of a failed call's result that are shown.
const MAX_FAILURE_CHARS: usize = 200;
/// Most changed files that are shown.
const MAX_FILES: usize = 100;
/// Most characters of a failed call that are shown again.
const MAX_CALL_CHARS: usize = 60;

/// The terminal, or a program that reads lines.
pub(super) struct Screen {
    output: Output,
    spins: bool,
    /// The spinner is in the terminal's current line.
    spinning: bool,
    last_shown: Instant,
    since: Instant,
    ticks: usize,
    /// stdout is in the middle of a line.
    mid_line: bool,
    /// The message that is being shown: its Item, and the text so far.
    message: (String, String),
    /// The message as it is rendered on a terminal.
    prose: Option<Prose>,
    /// Files that the Turn changed, as they were shown.
    files: HashMap<String, String>,
}

/// The record of a Turn that has ended.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Text of the agent's last message.
    pub(super) answer: String,
    /// The operation of the first approval that a user or the server refused.
    pub(super) refused: Option<String>,
    /// The offline model did not understand the prompt.
    pub(super) not_understood: bool,
    pub(super) usage: Option<TokenUsage>,
    pub(super) cost: Option<f64>,
}

impl Record {
    /// Returns what a Turn has said and done.
    pub(super) fn of(turn: &TurnState) -> Self {
        let mut record = Self {
            usage: turn.turn.token_usage,
            cost: turn.turn.cost,
            ..Self::default()
        };
        let mut asked = "";
        for item in &turn.items {
            match &item.item.payload {
                ItemPayload::AgentMessage(message) => message.text.clone_into(&mut record.answer),
                ItemPayload::Error(error) if error.code == "not_understood" => record.not_understood = true,
                ItemPayload::ApprovalRequest(request) => asked = &request.operation,
                // An interrupt settles open questions as `cancel`; exec's own `cancel` is known where it is given.
                ItemPayload::ApprovalResponse(response) if response.decision == Decision::Decline => {
                    record.refused.get_or_insert_with(|| asked.to_owned());
                }
                _ => {}
            }
        }
        record
    }

    /// Returns the operation that a Turn has asked about last.
    pub(super) fn last_asked(turn: &TurnState) -> String {
        let asked = turn.items.iter().rev().find_map(|item| match &item.item.payload {
            ItemPayload::ApprovalRequest(request) => Some(request.operation.clone()),
            _ => None,
        });
        asked.unwrap_or_default()
    }
}

impl Screen {
    pub(super) fn new(output: Output) -> Self {
        let now = Instant::now();
        let is_rendered = output == Output::Text && std::io::stdout().is_terminal();
        Self {
            output,
            spins: output != Output::Json && std::io::stderr().is_terminal(),
            spinning: false,
            last_shown: now,
            since: now,
            ticks: 0,
            mid_line: false,
            message: Default::default(),
            prose: is_rendered.then(|| Prose::new(variable("NO_COLOR").is_none())),
            files: HashMap::new(),
        }
    }

    /// Whether [`Screen::tick`] shows anything.
    pub(super) fn spins(&self) -> bool {
        self.spins
    }

    /// Shows that exec waits, where nothing else was shown for a while.
    pub(super) fn tick(&mut self) {
        const PICTURES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
        if self.mid_line || self.last_shown.elapsed() < QUIET {
            return;
        }
        self.ticks += 1;
        self.spinning = true;
        let picture = PICTURES[self.ticks % PICTURES.len()];
        console::redraw(&format!(
            "{picture} working, {} s",
            self.since.elapsed().as_secs()
        ));
    }

    /// Makes way for other output.
    fn make_way(&mut self) {
        self.last_shown = Instant::now();
        if std::mem::take(&mut self.spinning) {
            console::redraw("");
        }
    }

    /// Ends a line of text that is under way.
    pub(super) fn break_line(&mut self) {
        self.make_way();
        if std::mem::take(&mut self.mid_line) {
            console::say("");
        }
    }

    fn note(&mut self, line: &str) {
        if self.output != Output::Json {
            self.break_line();
            console::note(line.trim_end());
        }
    }

    /// Shows a notification of the Turn, which has taken it. Returns how the Turn ended, if this is its end.
    pub(super) fn show(&mut self, news: &Notification, turn: Option<&TurnState>) -> Option<TurnEnd> {
        if self.output == Output::Json {
            let mut params: Value = serde_json::from_str(news.json()).unwrap_or_default();
            // Each of them had a line of its own.
            if let Some(turn) = params["turn"].as_object_mut() {
                turn.remove("items");
            }
            console::data(&json!({ "method": news.method, "params": params }));
        }
        let end = match news.method.as_ref() {
            "item/agentMessage/delta" => {
                let piece: AgentMessageDeltaNotification = news.params()?;
                self.delta(&piece.item_id, &piece.delta);
                return None;
            }
            "item/completed" => {
                self.item(&news.params::<ItemNotification>()?.item, turn);
                return None;
            }
            "turn/diff/updated" => {
                let diff: TurnDiffUpdatedNotification = news.params()?;
                self.changes(&diff.files.unwrap_or_default());
                return None;
            }
            "turn/waiting" => {
                self.note(&news.params::<TurnWaitingNotification>()?.message);
                return None;
            }
            "turn/completed" => TurnEnd::Completed,
            "turn/failed" => TurnEnd::Failed(news.params::<TurnFailedNotification>()?.error),
            "turn/cancelled" => TurnEnd::Cancelled(news.params::<TurnCancelledNotification>()?.reason),
            _ => return None,
        };
        self.break_line();
        Some(end)
    }

    fn delta(&mut self, item: &str, text: &str) {
        if self.message.0 != item {
            self.message = (item.to_owned(), String::new());
        }
        self.message.1.push_str(text);
        self.text(text);
    }

    fn text(&mut self, text: &str) {
        if self.output != Output::Text || text.is_empty() {
            return;
        }
        let Some(prose) = &mut self.prose else {
            self.make_way();
            console::stream(text);
            self.mid_line = !text.ends_with('\n');
            return;
        };
        let shown = prose.push(text, console::width());
        if !shown.is_empty() {
            self.make_way();
            console::painted(&shown);
        }
    }

    /// Shows what of a finished message was not shown before.
    fn message(&mut self, item: &str, whole: &str) {
        let (id, shown) = std::mem::take(&mut self.message);
        let shown = if id == item { shown } else { String::new() };
        if let Some(rest) = whole.strip_prefix(&shown) {
            self.text(rest);
        } else {
            self.end_prose();
            self.note("parts of the text are missing; the whole text:");
            self.text(whole);
        }
        self.end_prose();
        self.break_line();
    }

    /// Shows the rest of a message on a terminal.
    fn end_prose(&mut self) {
        let rest = self.prose.as_mut().map(|prose| prose.end(console::width()));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            self.make_way();
            console::painted(&rest);
        }
    }

    fn item(&mut self, item: &Item, turn: Option<&TurnState>) {
        match &item.payload {
            ItemPayload::AgentMessage(message) => self.message(&item.id, &message.text),
            ItemPayload::ToolCall(call) => self.note(&format!("> {}", line_of(call))),
            ItemPayload::ToolResult(result) if !result.success => {
                let call = turn.and_then(|turn| call_of(turn, &result.call_id));
                let call = call.map(|call| format!("{}: ", start(&line_of(call), MAX_CALL_CHARS)));
                let why = start(&result.result, MAX_FAILURE_CHARS);
                self.note(&format!("  failed: {}{why}", call.unwrap_or_default()));
            }
            // The Turn's end says a fatal one again.
            ItemPayload::Error(error) if !error.fatal && error.code != "not_understood" => {
                self.note(&error.message);
            }
            _ => {}
        }
    }

    /// Shows each file that has changed since it was shown last.
    fn changes(&mut self, files: &[FileChange]) {
        for file in files {
            let how = match file.status {
                FileChangeStatus::Added => " (new)",
                FileChangeStatus::Deleted => " (deleted)",
                FileChangeStatus::Modified | FileChangeStatus::Renamed => "",
            };
            let path = &file.path;
            let line = format!("  +{} −{} {path}{how}", file.additions, file.deletions);
            if self.files.get(path) != Some(&line) && self.files.len() < MAX_FILES {
                self.note(&line);
                self.files.insert(path.clone(), line);
            }
        }
    }
}

/// Returns the change that the call of an approval would make to a file.
pub(super) fn change_of(turn: &TurnState, params: &ApprovalRequestParams) -> Option<Vec<ChangeLine>> {
    let call = call_of(turn, params.call_id.as_deref()?)?;
    bobbin_chat::change_of_call(&call.tool_name, &value(call.arguments.as_ref()), &params.target)
}

fn call_of<'a>(turn: &'a TurnState, id: &str) -> Option<&'a ToolCallPayload> {
    turn.items.iter().rev().find_map(|item| match &item.item.payload {
        ItemPayload::ToolCall(call) if call.call_id == id => Some(call),
        _ => None,
    })
}

/// Returns a call as one line.
fn line_of(call: &ToolCallPayload) -> String {
    let arguments = value(call.arguments.as_ref());
    let main = ["command", "path", "pattern", "url"]
        .iter()
        .find_map(|name| arguments[*name].as_str());
    format!("{} {}", call.tool_name, main.unwrap_or_default())
}

fn value(json: Option<&Json>) -> Value {
    json.and_then(|json| serde_json::from_str(json.get()).ok())
        .unwrap_or_default()
}

/// Returns the start of the first line of a text.
fn start(text: &str, most: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.unwrap_or("no result")
        .trim_end()
        .chars()
        .take(most)
        .collect()
}

#[cfg(test)]
mod tests {
    use bobbin_client::ThreadState;

    use super::*;

    /// Returns a Turn with these Items.
    fn turn(items: &[(&str, Value)]) -> ThreadState {
        let at = "2027-01-01T00:00:00.000Z";
        let mut state = ThreadState::default();
        let turn = json!({ "id": "u", "threadId": "t", "status": "running", "startedAt": at });
        state.apply(&Notification::of("turn/started", &json!({ "turn": turn })));
        for (at_item, (kind, payload)) in items.iter().enumerate() {
            let item = json!({
                "id": format!("item_{at_item}"), "turnId": "u", "type": kind, "payloadKind": kind, "status": "completed",
                "createdAt": at, "payload": payload,
            });
            let params = json!({ "threadId": "t", "turnId": "u", "item": item });
            state.apply(&Notification::of("item/completed", &params));
        }
        state
    }

    fn record(items: &[(&str, Value)]) -> Record {
        Record::of(turn(items).open_turn().unwrap())
    }

    #[test]
    fn the_answer_is_the_last_message() {
        let said = |text: &str| ("agentMessage", json!({ "text": text }));
        assert_eq!(record(&[said("one"), said("two")]).answer, "two");
    }

    #[test]
    fn only_a_decline_is_a_refusal() {
        let asked = json!({
            "requestId": "r", "approvalType": "shell", "operation": "rm x", "target": "", "scopeKey": "", "reason": "",
        });
        for (decision, refused) in [("decline", Some("rm x")), ("cancel", None), ("accept", None)] {
            let answer = json!({ "requestId": "r", "approved": decision == "accept", "decision": decision });
            let record = record(&[("approvalRequest", asked.clone()), ("approvalResponse", answer)]);
            assert_eq!(record.refused.as_deref(), refused, "{decision}");
        }
    }

    #[test]
    fn what_the_offline_model_did_not_understand_is_on_record() {
        let error = json!({ "code": "not_understood", "fatal": false, "message": "m" });
        assert!(record(&[("error", error)]).not_understood);
    }

    #[test]
    fn a_call_that_failed_is_named() {
        let call = json!({
            "toolName": "Exec", "providerFlatName": "Exec", "callId": "c", "arguments": { "command": "ls" },
        });
        let state = turn(&[("toolCall", call)]);
        let call = call_of(state.open_turn().unwrap(), "c").unwrap();
        assert_eq!(line_of(call), "Exec ls");
    }
}
