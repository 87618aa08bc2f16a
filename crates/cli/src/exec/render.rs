//! Notifications of the Turn as a user of a terminal reads them, or as JSON lines.
//!
//! The answer goes to stdout and everything else to stderr. What was shown of a message is compared with the whole text at its
//! end: a server leaves deltas out where a client is slow or a text is large.

use std::collections::HashMap;
use std::io::IsTerminal as _;
use std::time::Duration;

use bobbin_model::Decision;
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
    /// Calls without a result, by their ids.
    calls: HashMap<String, Call>,
    /// Files that the Turn changed, as they were shown.
    files: HashMap<String, String>,
    record: Record,
}

/// A call, until its result.
struct Call {
    /// How it was shown.
    line: String,
    tool: String,
    arguments: Value,
}

/// The record of the Turn so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Text of the agent's last message.
    pub(super) answer: String,
    /// The operation of the first approval that a user or the server refused.
    pub(super) refused: Option<String>,
    /// The offline model did not understand the prompt.
    pub(super) not_understood: bool,
    pub(super) usage: Value,
    pub(super) cost: Value,
    last_asked: String,
}

impl Screen {
    pub(super) fn new(output: Output) -> Self {
        let now = Instant::now();
        Self {
            output,
            spins: output != Output::Json && std::io::stderr().is_terminal(),
            spinning: false,
            last_shown: now,
            since: now,
            ticks: 0,
            mid_line: false,
            message: Default::default(),
            calls: HashMap::new(),
            files: HashMap::new(),
            record: Record::default(),
        }
    }

    /// Returns what the Turn has said and done, and starts the next one without it.
    pub(super) fn take_record(&mut self) -> Record {
        std::mem::take(&mut self.record)
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

    /// Shows a notification. Returns how the Turn ended, if this is its end.
    pub(super) fn show(&mut self, method: &str, params: &Value) -> Option<TurnEnd> {
        if self.output == Output::Json {
            let mut params = params.clone();
            // Each of them had a line of its own.
            if let Some(turn) = params["turn"].as_object_mut() {
                turn.remove("items");
            }
            console::data(&json!({ "method": method, "params": params }));
        }
        let text = |name: &str| params[name].as_str().unwrap_or("unknown").to_owned();
        let end = match method {
            "item/agentMessage/delta" => {
                let delta = params["delta"].as_str().unwrap_or_default();
                self.delta(params["itemId"].as_str().unwrap_or_default(), delta);
                return None;
            }
            "item/completed" => {
                self.item(&params["item"]);
                return None;
            }
            "turn/diff/updated" => {
                self.changes(&params["files"]);
                return None;
            }
            "turn/waiting" => {
                self.note(params["message"].as_str().unwrap_or_default());
                return None;
            }
            "turn/completed" => TurnEnd::Completed,
            "turn/failed" => TurnEnd::Failed(text("error")),
            "turn/cancelled" => TurnEnd::Cancelled(text("reason")),
            _ => return None,
        };
        self.record.usage = params["turn"]["tokenUsage"].clone();
        self.record.cost = params["turn"]["cost"].clone();
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
        if self.output == Output::Text && !text.is_empty() {
            self.make_way();
            console::stream(text);
            self.mid_line = !text.ends_with('\n');
        }
    }

    /// Shows what of a finished message was not shown before.
    fn message(&mut self, item: &str, whole: &str) {
        let (id, shown) = std::mem::take(&mut self.message);
        let shown = if id == item { shown } else { String::new() };
        if let Some(rest) = whole.strip_prefix(&shown) {
            self.text(rest);
        } else {
            self.note("parts of the text are missing; the whole text:");
            self.text(whole);
        }
        self.break_line();
        whole.clone_into(&mut self.record.answer);
    }

    fn item(&mut self, item: &Value) {
        let payload = &item["payload"];
        let text = |name: &str| payload[name].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or_default() {
            "agentMessage" => self.message(item["id"].as_str().unwrap_or_default(), text("text")),
            "toolCall" => {
                let arguments = &payload["arguments"];
                let main = ["command", "path", "pattern", "url"]
                    .iter()
                    .find_map(|name| arguments[*name].as_str());
                let call = format!("{} {}", text("toolName"), main.unwrap_or_default());
                self.note(&format!("> {call}"));
                let call = Call {
                    line: start(&call, MAX_CALL_CHARS),
                    tool: text("toolName").to_owned(),
                    arguments: arguments.clone(),
                };
                self.calls.insert(text("callId").to_owned(), call);
            }
            "toolResult" => {
                // Calls of a round come before their results, so each failure names its call.
                let call = self.calls.remove(text("callId"));
                if payload["success"] == false {
                    let call = call.map(|call| format!("{}: ", call.line)).unwrap_or_default();
                    let why = start(text("result"), MAX_FAILURE_CHARS);
                    self.note(&format!("  failed: {call}{why}"));
                }
            }
            // The Turn's end says it again.
            "error" if payload["fatal"] == true => {}
            "error" if text("code") == "not_understood" => self.record.not_understood = true,
            "error" => {
                let message = text("message").to_owned();
                self.note(&message);
            }
            "approvalRequest" => text("operation").clone_into(&mut self.record.last_asked),
            "approvalResponse" => {
                let decision: Option<Decision> = serde_json::from_value(payload["decision"].clone()).ok();
                // An interrupt settles open questions as `cancel`; exec's own `cancel` is known where it is given.
                if decision == Some(Decision::Decline) {
                    self.refuse();
                }
            }
            _ => {}
        }
    }

    /// Returns the change that the call of an approval would make to a file.
    pub(super) fn change_of(&self, params: &Value) -> Option<Vec<String>> {
        let call = self.calls.get(params["callId"].as_str()?)?;
        let target = params["target"].as_str().unwrap_or_default();
        bobbin_chat::change_of_call(&call.tool, &call.arguments, target)
    }

    /// Shows each file that has changed since it was shown last.
    fn changes(&mut self, files: &Value) {
        for file in files.as_array().into_iter().flatten() {
            let path = file["path"].as_str().unwrap_or_default();
            let how = match file["status"].as_str() {
                Some("added") => " (new)",
                Some("deleted") => " (deleted)",
                _ => "",
            };
            let line = format!("  +{} −{} {path}{how}", file["additions"], file["deletions"]);
            if self.files.get(path) != Some(&line) && self.files.len() < MAX_FILES {
                self.note(&line);
                self.files.insert(path.to_owned(), line);
            }
        }
    }

    /// Notes that the last question was answered with a refusal.
    pub(super) fn refuse(&mut self) {
        let operation = self.record.last_asked.clone();
        self.record.refused.get_or_insert(operation);
    }
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
    use super::*;

    fn completed(screen: &mut Screen, kind: &str, payload: &Value) {
        let item = json!({ "id": "item_001", "type": kind, "payload": payload });
        assert!(screen.show("item/completed", &json!({ "item": item })).is_none());
    }

    #[tokio::test]
    async fn the_answer_is_the_last_message_whole_whatever_came_as_deltas() {
        let mut screen = Screen::new(Output::Nothing);
        for delta in ["a", "b"] {
            screen.show(
                "item/agentMessage/delta",
                &json!({ "itemId": "item_001", "delta": delta }),
            );
        }
        completed(&mut screen, "agentMessage", &json!({ "text": "abcd" }));
        assert_eq!(screen.take_record().answer, "abcd");
    }

    #[tokio::test]
    async fn only_a_decline_is_a_refusal() {
        for (decision, refused) in [("decline", Some("rm x")), ("cancel", None), ("accept", None)] {
            let mut screen = Screen::new(Output::Nothing);
            completed(&mut screen, "approvalRequest", &json!({ "operation": "rm x" }));
            completed(&mut screen, "approvalResponse", &json!({ "decision": decision }));
            assert_eq!(screen.take_record().refused.as_deref(), refused, "{decision}");
        }
    }

    #[tokio::test]
    async fn what_the_offline_model_did_not_understand_is_on_record() {
        let mut screen = Screen::new(Output::Json);
        completed(
            &mut screen,
            "error",
            &json!({ "code": "not_understood", "fatal": false, "message": "m" }),
        );
        assert!(screen.take_record().not_understood);
    }
}
