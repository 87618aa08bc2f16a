//! One tool call as its client knows it: kind, title, places, content.

use std::path::Path;

use bobbin_acp_wire::{ContentBlock, Location, ToolCall, ToolCallContent, ToolCallStatus, ToolKind};
use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::tool_name;
use bobbin_model::{CallPreview, Json, Lines, TurnId, visible};
use serde_json::{Map, Value};

use super::diff;

/// Longest title, in characters.
const TITLE_CHARS: usize = 200;
/// Longest arguments that are sent as they are, in bytes; users see the title and the diff of larger ones.
const MAX_INPUT_BYTES: usize = 64 << 10;
/// Longest result that is sent, in bytes; of a longer one, the start and the end.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// It succeeded.
    Completed,
    /// It failed, or was not allowed.
    Failed,
}

/// A call of the open Turn.
#[derive(Debug, Clone)]
pub(super) struct Call {
    turn: TurnId,
    /// The model's id of the call.
    pub(super) key: String,
    name: String,
    kind: ToolKind,
    title: String,
    input: Option<Value>,
    places: Vec<Location>,
    /// Its change of a file.
    change: Vec<ToolCallContent>,
    status: ToolCallStatus,
    /// Whether the client knows the call.
    announced: bool,
}

impl Call {
    pub(super) fn new(turn: TurnId, call_id: &str, name: &str) -> Self {
        let title = match tool_name::parts(name) {
            Some((server, tool)) => format!("{server}: {tool}"),
            None => name.to_owned(),
        };
        Self {
            turn,
            key: call_id.to_owned(),
            name: name.to_owned(),
            kind: kind(name),
            title: line(&title),
            input: None,
            places: Vec::new(),
            change: Vec::new(),
            status: ToolCallStatus::Pending,
            announced: false,
        }
    }

    /// Sets a title of its own.
    pub(super) fn titled(mut self, title: &str) -> Self {
        self.title = line(title);
        self
    }

    /// Sets the complete arguments.
    pub(super) fn complete(&mut self, arguments: Option<&Json>, root: &Path) {
        let Some(json) = arguments else { return };
        let Ok(members) = json.decode::<Map<String, Value>>() else {
            return;
        };
        if let Some(title) = title(&self.name, &members) {
            self.title = line(&title);
        }
        if let Some(path) = text(&members, "path").filter(|_| names_a_file(&self.name)) {
            let first = members.get("offset").and_then(Value::as_u64);
            self.places = vec![Location {
                path: root.join(path).to_string_lossy().into_owned(),
                line: first
                    .and_then(|line| u32::try_from(line).ok())
                    .filter(|line| *line > 0),
            }];
        }
        if json.get().len() <= MAX_INPUT_BYTES {
            self.input = Some(Value::Object(members));
        }
    }

    /// Sets the change that the call would make to a file.
    pub(super) fn preview(&mut self, preview: &CallPreview) {
        (self.change, self.places) = diff::shown(preview);
    }

    /// Whether the call has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.status, ToolCallStatus::Completed | ToolCallStatus::Failed)
    }

    /// Returns the whole call.
    pub(super) fn whole(&self) -> ToolCall {
        ToolCall {
            tool_call_id: wire_id(self.turn, &self.key),
            title: Some(self.title.clone()),
            name: Some(self.name.clone()),
            kind: Some(self.kind),
            status: Some(self.status),
            content: Some(self.change.clone()).filter(|change| !change.is_empty()),
            locations: Some(self.places.clone()).filter(|places| !places.is_empty()),
            raw_input: self.input.clone(),
            ..ToolCall::default()
        }
    }

    /// Returns the news of the call: the whole call if the client does not know it, else `changed`.
    pub(super) fn news(&mut self, changed: impl FnOnce(&Self) -> ToolCall) -> (bool, ToolCall) {
        let is_new = !std::mem::replace(&mut self.announced, true);
        let mut news = self.whole();
        let changed = changed(self);
        if is_new {
            news.content = changed.content.or(news.content);
            news.raw_output = changed.raw_output;
            (true, news)
        } else {
            let tool_call_id = news.tool_call_id;
            (
                false,
                ToolCall {
                    tool_call_id,
                    ..changed
                },
            )
        }
    }

    /// Notes that the call runs.
    pub(super) fn start(&mut self) {
        self.status = ToolCallStatus::InProgress;
    }

    /// Returns the change for output of a command that runs.
    pub(super) fn running(&self, output: &str) -> ToolCall {
        let mut content = self.change.clone();
        content.push(ToolCallContent::Content {
            content: ContentBlock::text(output),
        });
        ToolCall {
            content: Some(content),
            ..ToolCall::default()
        }
    }

    /// Notes the end of the call. Returns what changes.
    pub(super) fn end(&mut self, how: CallEnd, result: &str) -> ToolCall {
        self.status = match how {
            CallEnd::Completed => ToolCallStatus::Completed,
            CallEnd::Failed => ToolCallStatus::Failed,
        };
        let result = head_and_tail(result, MAX_RESULT_BYTES);
        let mut changed = ToolCall {
            status: Some(self.status),
            ..ToolCall::default()
        };
        // Content replaces, so the result of a change that is shown goes beside it.
        if result.is_empty() {
        } else if self.change.is_empty() || how == CallEnd::Failed {
            let mut content = self.change.clone();
            content.push(ToolCallContent::Content {
                content: ContentBlock::text(result),
            });
            changed.content = Some(content);
        } else {
            changed.raw_output = Some(Value::String(result));
        }
        changed
    }

    /// Returns what a change of the arguments changes.
    pub(super) fn described(&self) -> ToolCall {
        let ToolCall {
            title,
            locations,
            raw_input,
            content,
            ..
        } = self.whole();
        ToolCall {
            title,
            locations,
            raw_input,
            content,
            ..ToolCall::default()
        }
    }
}

/// Returns a call's id on the wire. The model's own id is unique in its Turn only.
pub(crate) fn wire_id(turn: TurnId, call_id: &str) -> String {
    format!("{turn}.{call_id}")
}

/// Returns the kind of work that a tool does.
pub(crate) fn kind(name: &str) -> ToolKind {
    match name {
        "ReadFile" | "ReadTerminal" => ToolKind::Read,
        "WriteFile" | "EditFile" | "ApplyPatch" => ToolKind::Edit,
        "GrepFiles" | "FindFiles" => ToolKind::Search,
        "Exec" | "WriteTerminal" | "StopTerminal" => ToolKind::Execute,
        "WebFetch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

fn names_a_file(name: &str) -> bool {
    matches!(kind(name), ToolKind::Read | ToolKind::Edit | ToolKind::Search)
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    members.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// Returns what a call does, for users.
fn title(name: &str, members: &Map<String, Value>) -> Option<String> {
    let about = |word: &str, member: &str| text(members, member).map(|text| format!("{word} {text}"));
    match name {
        "Exec" => text(members, "command").map(str::to_owned),
        "ReadFile" => about("Read", "path"),
        "WriteFile" => about("Write", "path"),
        "EditFile" => about("Edit", "path"),
        "ApplyPatch" => Some("Apply a patch".to_owned()),
        "GrepFiles" => about("Search for", "pattern"),
        "FindFiles" => about("Find", "pattern").or_else(|| about("List", "path")),
        "WebFetch" => about("Fetch", "url"),
        _ => None,
    }
}

/// Returns the first line of a text, cut where it is long, without characters that act on a display.
fn line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(TITLE_CHARS).collect();
    let more = if cut.len() < text.trim_end().len() {
        "…"
    } else {
        ""
    };
    format!("{}{more}", visible(&cut, Lines::One))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn completed(name: &str, arguments: &Value) -> ToolCall {
        let mut call = Call::new(TurnId(2), "c", name);
        call.complete(Some(&Json::of(arguments).unwrap()), Path::new("/w"));
        call.whole()
    }

    #[test]
    fn a_call_says_what_it_does_and_where() {
        let place = |path: &str, line| {
            Some(vec![Location {
                path: path.to_owned(),
                line,
            }])
        };
        for (name, arguments, title, kind, places) in [
            (
                "ReadFile",
                json!({"path": "a/b.txt", "offset": 7}),
                "Read a/b.txt",
                ToolKind::Read,
                place("/w/a/b.txt", Some(7)),
            ),
            (
                "Exec",
                json!({"command": "make all\nmake install"}),
                "make all…",
                ToolKind::Execute,
                None,
            ),
            (
                "EditFile",
                json!({"path": "/x/y"}),
                "Edit /x/y",
                ToolKind::Edit,
                place("/x/y", None),
            ),
            (
                "FindFiles",
                json!({"path": "src"}),
                "List src",
                ToolKind::Search,
                place("/w/src", None),
            ),
            (
                "mcp__web__look",
                json!({"path": "p"}),
                "web: look",
                ToolKind::Other,
                None,
            ),
        ] {
            let call = completed(name, &arguments);
            assert_eq!(call.tool_call_id, "turn_002.c");
            assert_eq!(
                (call.title.as_deref(), call.kind),
                (Some(title), Some(kind)),
                "{name}"
            );
            assert_eq!(call.locations, places, "{name}");
            assert_eq!(call.raw_input, Some(arguments), "{name}");
        }
    }

    #[test]
    fn large_arguments_are_not_repeated() {
        let call = completed(
            "WriteFile",
            &json!({"path": "a", "content": "x".repeat(MAX_INPUT_BYTES)}),
        );
        assert_eq!(call.raw_input, None);
        assert_eq!(call.title.as_deref(), Some("Write a"));
    }

    #[test]
    fn the_first_news_of_a_call_are_the_whole_call() {
        let mut call = Call::new(TurnId(1), "c", "Exec");
        call.start();
        let changed = call.end(CallEnd::Completed, "done");
        let (is_new, news) = call.news(|_| changed.clone());
        assert!(is_new);
        assert_eq!(news.status, Some(ToolCallStatus::Completed));
        assert_eq!(news.content, changed.content);
        let (is_new, news) = call.news(|_| changed.clone());
        assert!(!is_new && news.title.is_none());
    }
}
