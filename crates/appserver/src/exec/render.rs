//! Notifications as a person in a terminal wants to see them.

use serde_json::{Value, json};

use crate::console;

/// What a notification means for the run.
pub(super) enum Progress {
    GoesOn,
    Completed,
    Failed(String),
    Cancelled(String),
}

/// The terminal, or a machine that reads JSON lines.
pub(super) struct Screen {
    json: bool,
    /// stdout stands in the middle of a line.
    mid_line: bool,
    last_asked: String,
    refused: Option<String>,
}

impl Screen {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            mid_line: false,
            last_asked: String::new(),
            refused: None,
        }
    }

    /// Returns the operation that was refused first, if one was.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Ends a line of text that is under way.
    pub(super) fn break_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            console::say("");
        }
    }

    /// Shows a notification.
    pub(super) fn show(&mut self, method: &str, params: &Value) -> Progress {
        if self.json {
            console::data(&json!({ "method": method, "params": params }));
        }
        match method {
            "item/agentMessage/delta" => self.text(params["delta"].as_str().unwrap_or_default()),
            "item/completed" => self.item(&params["item"]),
            "turn/completed" => {
                self.break_line();
                return Progress::Completed;
            }
            "turn/failed" => {
                self.break_line();
                return Progress::Failed(params["error"].as_str().unwrap_or("unknown").to_owned());
            }
            "turn/cancelled" => {
                self.break_line();
                return Progress::Cancelled(params["reason"].as_str().unwrap_or("unknown").to_owned());
            }
            _ => {}
        }
        Progress::GoesOn
    }

    fn text(&mut self, text: &str) {
        if !self.json && !text.is_empty() {
            console::stream(text);
            self.mid_line = !text.ends_with('\n');
        }
    }

    fn item(&mut self, item: &Value) {
        let payload = &item["payload"];
        match item["type"].as_str().unwrap_or_default() {
            "agentMessage" if !self.json => self.break_line(),
            "toolCall" if !self.json => {
                self.break_line();
                let arguments = &payload["arguments"];
                let main = ["command", "path", "pattern"]
                    .iter()
                    .find_map(|name| arguments[*name].as_str());
                let name = payload["toolName"].as_str().unwrap_or_default();
                console::note(format!("> {name} {}", main.unwrap_or_default()).trim_end());
            }
            "approvalRequest" => {
                payload["operation"]
                    .as_str()
                    .unwrap_or_default()
                    .clone_into(&mut self.last_asked);
            }
            "approvalResponse" if payload["approved"] == false => {
                self.refused.get_or_insert_with(|| self.last_asked.clone());
            }
            _ => {}
        }
    }
}
