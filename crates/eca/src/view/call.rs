//! One tool call as its client knows it (section 8.2).

use std::sync::Arc;

use bobbin_agent_api::tool_name;
use bobbin_model::{ApprovalId, CallPreview, Json, Lines, TurnId, UnixMillis, visible};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::millis;
use crate::wire::content::{Arguments, CallHead, ChatContent, Content, Details, Output, Reason};

/// Longest summary, in characters.
const SUMMARY_CHARS: usize = 80;
/// The name of the tool that reads pages.
const FETCH_URL: &str = "WebFetch";
/// Longest title of a page, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// A call of the open Turn.
#[derive(Debug, Clone)]
pub(super) struct Call {
    turn: TurnId,
    /// The model's id of the call.
    pub(super) key: String,
    /// The owner of the called tool, its server, and the tool's bare name.
    origin: &'static str,
    server: Arc<str>,
    name: Arc<str>,
    arguments: Arguments,
    summary: Option<String>,
    /// Its change of a file.
    details: Option<Details>,
    /// Its open Approval.
    pub(super) approval: Option<ApprovalId>,
    /// Whether `toolCallRun` was sent.
    announced: bool,
    started_at: Option<UnixMillis>,
    /// Whether the call is over for the client. After a refusal, the result is for the model only.
    pub(super) ended: bool,
}

impl Call {
    pub(super) fn new(turn: TurnId, call_id: &str, name: &str) -> Self {
        let (origin, server, name) = match tool_name::parts(name) {
            Some((server, tool)) => ("mcp", server, tool),
            None => ("native", "eca", name),
        };
        Self {
            turn,
            key: call_id.to_owned(),
            origin,
            server: server.into(),
            name: name.into(),
            arguments: no_arguments(),
            summary: None,
            details: None,
            approval: None,
            announced: false,
            started_at: None,
            ended: false,
        }
    }

    /// Sets the complete arguments. Ignores anything but an object, since clients expect one.
    pub(super) fn complete(&mut self, arguments: Option<&Json>) {
        let Some(json) = arguments.filter(|json| json.get().starts_with('{')) else {
            return;
        };
        self.summary = summary(&self.name, json);
        self.arguments = Arguments(json.clone().into_shared());
    }

    /// Sets the file change that the call would make.
    pub(super) fn preview(&mut self, preview: &CallPreview) {
        self.details = Some(Details::FileChange {
            path: preview.path.clone(),
            diff: preview.diff.clone(),
            lines_added: preview.additions,
            lines_removed: preview.deletions,
        });
    }

    pub(super) fn prepare(&self, piece: &str) -> ChatContent {
        // Both need the complete arguments.
        let call = CallHead {
            summary: None,
            details: None,
            ..self.head()
        };
        Content::ToolCallPrepare {
            call,
            arguments_text: piece.to_owned(),
        }
        .into()
    }

    /// Announces once that the call is about to run.
    pub(super) fn announce(&mut self, manual_approval: bool, out: &mut Vec<ChatContent>) {
        if std::mem::replace(&mut self.announced, true) {
            return;
        }
        let content = Content::ToolCallRun {
            call: self.head(),
            arguments: self.arguments.clone(),
            manual_approval,
        };
        out.push(content.into());
    }

    pub(super) fn start(&mut self, at: UnixMillis, out: &mut Vec<ChatContent>) {
        self.announce(false, out);
        self.started_at = Some(at);
        let content = Content::ToolCallRunning {
            call: self.head(),
            arguments: self.arguments.clone(),
        };
        out.push(content.into());
    }

    pub(super) fn has_started(&self) -> bool {
        self.started_at.is_some()
    }

    pub(super) fn called(&mut self, text: &str, success: bool, at: UnixMillis, out: &mut Vec<ChatContent>) {
        self.announce(false, out);
        self.ended = true;
        let content = Content::ToolCalled {
            call: self.head(),
            arguments: self.arguments.clone(),
            error: !success,
            outputs: vec![Output::text(text.to_owned())],
            total_time_ms: self.started_at.map_or(0, |from| millis(from, at)),
        };
        out.push(content.into());
        if success && let Some(page) = self.page(text) {
            out.push(page.into());
        }
    }

    /// Returns a link to the page that a call has read.
    fn page(&self, text: &str) -> Option<Content> {
        #[derive(Deserialize)]
        struct Fetched {
            url: String,
        }
        if &*self.name != FETCH_URL {
            return None;
        }
        let Fetched { url } = serde_json::from_str(self.arguments.0.get()).ok()?;
        // The text has the status first, then the page, with its title in front.
        let body = text.split_once("\n\n").map_or("", |(_, body)| body);
        let title = body.lines().next().and_then(|line| line.strip_prefix("# "));
        let title: String = title.unwrap_or(&url).chars().take(MAX_TITLE_CHARS).collect();
        Some(Content::Url { title, url })
    }

    pub(super) fn reject(&mut self, reason: Reason, out: &mut Vec<ChatContent>) {
        self.announce(false, out);
        self.ended = true;
        let content = Content::ToolCallRejected {
            call: self.head(),
            arguments: self.arguments.clone(),
            reason,
        };
        out.push(content.into());
    }

    fn head(&self) -> CallHead {
        CallHead {
            origin: self.origin,
            server: self.server.clone(),
            id: wire_id(self.turn, &self.key),
            name: self.name.clone(),
            summary: self.summary.clone(),
            details: self.details.clone(),
        }
    }
}

/// Returns a call's id on the wire. The model's own id is unique in its Turn only.
pub(crate) fn wire_id(turn: TurnId, call_id: &str) -> String {
    format!("{turn}.{call_id}")
}

fn no_arguments() -> Arguments {
    let empty = RawValue::from_string("{}".to_owned());
    Arguments(empty.unwrap_or_else(|_| RawValue::NULL.to_owned()).into())
}

/// Returns a line such as `shell: cargo test`: the tool and its first characteristic argument.
fn summary(name: &str, arguments: &Json) -> Option<String> {
    let arguments: serde_json::Map<String, serde_json::Value> = arguments.decode().ok()?;
    let telling = ["command", "path", "pattern", "title", "url"];
    let value = telling
        .iter()
        .find_map(|member| arguments.get(*member)?.as_str())
        .filter(|value| !value.is_empty())?;
    let line: String = value
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(SUMMARY_CHARS)
        .collect();
    let cut = if line.len() < value.len() { "…" } else { "" };
    Some(format!("{name}: {}{cut}", visible(&line, Lines::One)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the contents after a call of `WebFetch` with this result.
    fn told(text: &str, success: bool) -> Vec<String> {
        let mut call = Call::new(TurnId(1), "call_1", FETCH_URL);
        let url = serde_json::json!({ "url": "https://tea.test/" });
        call.complete(Some(&Json::of(&url).unwrap()));
        let mut out = Vec::new();
        call.called(text, success, UnixMillis(0), &mut out);
        out.iter().map(|told| format!("{told:?}")).collect()
    }

    #[test]
    fn a_page_that_was_read_is_told_with_its_title() {
        let last = |text, success| told(text, success).pop().unwrap();
        let page = last("200 OK https://tea.test/\n\n# Tea\n\nHot.", true);
        assert!(
            page.contains(r#"Url { title: "Tea", url: "https://tea.test/" }"#),
            "{page}"
        );
        let page = last("200 OK https://tea.test/\n\nHot.", true);
        assert!(page.contains(r#"Url { title: "https://tea.test/""#), "{page}");
        let page = last("404 Not Found https://tea.test/\n\n# Gone", false);
        assert!(page.contains("ToolCalled"), "{page}");
    }
}
