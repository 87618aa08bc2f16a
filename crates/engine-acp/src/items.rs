//! Updates of an agent as Items of its Turn.
//!
//! Owns the open Items. Bounded by the number of calls and the bytes of updates in one Turn; an agent over them is ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bobbin_acp_wire::{
    ContentBlock, PlanPriority, PlanStatus, SessionUpdate, Severity, ToolCall, ToolCallContent,
    ToolCallStatus, ToolKind,
};
use bobbin_agent_api::TurnGone;
use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::tool::MAX_RESULT_BYTES;
use bobbin_core::engine::{Billed, OpenItem, TurnContext};
use bobbin_core::{Command, Retitle};
use bobbin_model::plan::{Plan, Todo, TodoPriority, TodoStatus};
use bobbin_model::{CallPreview, ContextWindow, ItemBody, Json, TokenUsage, TurnId, title_of_input};
use bobbin_undo::preview;
use serde_json::{Value, json};

use crate::permission::Allowed;

/// Most calls of one Turn.
const MAX_CALLS: usize = 4096;
/// Most bytes of text in the updates of one Turn.
const MAX_BYTES: usize = 32 << 20;
/// Most characters of a title.
const MAX_TITLE: usize = 100;
/// Most steps of a plan.
const MAX_STEPS: usize = 256;

/// Why an update was not recorded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotShown {
    /// The Turn accepts nothing more.
    Gone,
    /// The agent sends too much; the half sentence says what.
    TooMuch(&'static str),
}

impl From<TurnGone> for NotShown {
    fn from(_: TurnGone) -> Self {
        Self::Gone
    }
}

/// The Items of a Turn.
pub(crate) struct Shown {
    turn: TurnContext,
    root: PathBuf,
    message: Option<OpenMessage>,
    calls: BTreeMap<String, ShownCall>,
    bytes: usize,
    allowed: Vec<Allowed>,
    /// Tokens in the agent's window.
    in_window: u64,
    /// The cost of the session so far, in millionths.
    pub(crate) cost_micros: u64,
}

struct OpenMessage {
    is_thought: bool,
    id: Option<String>,
    item: OpenItem,
}

/// A call: everything that is known of it.
struct ShownCall {
    call: ToolCall,
    /// `None` once its arguments are complete.
    item: Option<OpenItem>,
    is_done: bool,
}

impl Shown {
    pub(crate) fn new(turn: &TurnContext, cost_micros: u64) -> Self {
        Self {
            turn: turn.clone(),
            root: turn.environment().root.clone(),
            message: None,
            calls: BTreeMap::new(),
            bytes: 0,
            allowed: Vec::new(),
            in_window: turn.context().tokens,
            cost_micros,
        }
    }

    /// Records an update.
    pub(crate) async fn update(&mut self, update: SessionUpdate) -> Result<(), NotShown> {
        match update {
            SessionUpdate::AgentMessageChunk { content, message_id } => {
                self.chunk(false, message_id, &content).await
            }
            SessionUpdate::AgentThoughtChunk { content, message_id } => {
                self.chunk(true, message_id, &content).await
            }
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call) => self.call(call).await,
            SessionUpdate::Plan { entries } => {
                let todos = entries.into_iter().take(MAX_STEPS).enumerate();
                let todos = todos.map(|(at, entry)| Todo {
                    id: (at + 1).to_string(),
                    content: entry.content,
                    priority: match entry.priority {
                        PlanPriority::High => TodoPriority::High,
                        PlanPriority::Medium => TodoPriority::Medium,
                        PlanPriority::Low => TodoPriority::Low,
                    },
                    status: match entry.status {
                        PlanStatus::Pending => TodoStatus::Pending,
                        PlanStatus::InProgress => TodoStatus::InProgress,
                        PlanStatus::Completed => TodoStatus::Completed,
                    },
                });
                let plan = Plan {
                    todos: todos.collect(),
                    ..Plan::default()
                };
                Ok(self.turn.plan(plan).await?)
            }
            SessionUpdate::UsageUpdate { used, size, cost } => {
                let total = cost.map_or(self.cost_micros, |cost| micros(cost.amount));
                let more = total.saturating_sub(self.cost_micros);
                self.cost_micros = total;
                // Some agents send the cost alone.
                if used > 0 {
                    self.in_window = used;
                }
                let billed = Billed {
                    usage: TokenUsage::default(),
                    context_tokens: self.in_window,
                    window: (size > 0).then(|| ContextWindow::of(size, None)),
                    cost_micros: more,
                };
                Ok(self.turn.usage(billed).await?)
            }
            SessionUpdate::Notice {
                severity: Severity::Warning | Severity::Error,
                title,
                description,
            } => {
                let message = description.map_or(title.clone(), |more| format!("{title}: {more}"));
                self.count(message.len())?;
                Ok(self.note("engine_notice", message).await?)
            }
            SessionUpdate::SessionInfoUpdate {
                title: Some(Some(title)),
                ..
            } => {
                self.title(&title).await;
                Ok(())
            }
            // What is the user's own, replayed or of a session that this Thread does not show.
            SessionUpdate::UserMessageChunk { .. }
            | SessionUpdate::AvailableCommandsUpdate { .. }
            | SessionUpdate::CurrentModeUpdate { .. }
            | SessionUpdate::ConfigOptionUpdate { .. }
            | SessionUpdate::SessionInfoUpdate { .. }
            | SessionUpdate::Notice { .. }
            | SessionUpdate::CompactionUpdate { .. }
            | SessionUpdate::CompactionSummaryChunk { .. }
            | SessionUpdate::Unknown => Ok(()),
        }
    }

    /// Names the Thread as the agent does, unless a user has named it.
    async fn title(&self, title: &str) {
        let said = self.turn.at_start().turn.items.first();
        let before = said.and_then(|item| match &item.body {
            ItemBody::UserMessage(message) => title_of_input(&message.native),
            _ => None,
        });
        let title: String = title.trim().chars().take(MAX_TITLE).collect();
        let Some(before) = before.filter(|_| self.turn.turn() == TurnId(1) && !title.is_empty()) else {
            return;
        };
        let Ok(thread) = self.turn.threads().thread(self.turn.thread()).await else {
            return;
        };
        let command = Command::Retitle(Retitle {
            before,
            display_name: title,
            spent: (TokenUsage::default(), 0),
            // The title is a convenience: nothing depends on it.
            reply: Box::new(drop),
        });
        thread.send(command).await;
    }

    /// Notes a call that the agent asks about, with complete arguments. Returns everything that is known of it.
    pub(crate) async fn asked(&mut self, call: ToolCall) -> Result<ToolCall, NotShown> {
        let id = call.tool_call_id.clone();
        self.call(call).await?;
        let Some(shown) = self.calls.get_mut(&id) else {
            return Err(NotShown::Gone);
        };
        shown.complete_arguments().await?;
        Ok(shown.call.clone())
    }

    /// Notes what a user has allowed. What the agent says of the call later changes nothing about that.
    pub(crate) fn allow(&mut self, allowed: Allowed) {
        if !self.allowed.contains(&allowed) {
            self.allowed.push(allowed);
        }
    }

    /// Returns everything that was allowed in this Turn.
    pub(crate) fn allowed(&self) -> &[Allowed] {
        &self.allowed
    }

    /// Returns the id of a call that has not ended and is of a kind.
    pub(crate) fn open_call(&self, is: impl Fn(&ToolCall, &Path) -> bool) -> Option<String> {
        let mut open = self.calls.values().filter(|shown| !shown.is_done);
        let found = open.find(|shown| is(&shown.call, &self.root))?;
        Some(found.call.tool_call_id.clone())
    }

    /// Records a sentence for the user.
    pub(crate) async fn note(&self, code: &str, message: String) -> Result<(), TurnGone> {
        let code = code.to_owned();
        self.turn
            .add(ItemBody::Error {
                message,
                code,
                fatal: false,
            })
            .await
    }

    /// Completes what is open. Calls without a result get one that says so.
    pub(crate) async fn end(&mut self) -> Result<(), TurnGone> {
        self.end_message().await?;
        for (id, mut shown) in std::mem::take(&mut self.calls) {
            if shown.is_done {
                continue;
            }
            shown.complete_arguments().await?;
            let why = "The agent ended its turn without a result of this call.";
            self.turn.add(result(id, why.to_owned(), false, None)).await?;
        }
        Ok(())
    }

    async fn chunk(
        &mut self,
        is_thought: bool,
        id: Option<String>,
        content: &ContentBlock,
    ) -> Result<(), NotShown> {
        let text = text_of(content);
        self.count(text.len())?;
        let continues = self
            .message
            .as_ref()
            .is_some_and(|open| open.is_thought == is_thought && open.id == id);
        if !continues {
            self.end_message().await?;
            let text = String::new();
            let body = if is_thought {
                ItemBody::Reasoning { text }
            } else {
                ItemBody::AgentMessage { text }
            };
            let item = self.turn.open(body).await?;
            self.message = Some(OpenMessage { is_thought, id, item });
        }
        if let Some(open) = &self.message {
            open.item.text(text).await?;
        }
        Ok(())
    }

    async fn end_message(&mut self) -> Result<(), TurnGone> {
        match self.message.take() {
            Some(open) => open.item.complete(None).await,
            None => Ok(()),
        }
    }

    /// Records news of a call.
    ///
    /// # Errors
    /// [`NotShown`].
    pub(crate) async fn call(&mut self, update: ToolCall) -> Result<(), NotShown> {
        self.count(size_of(&update))?;
        let id = update.tool_call_id.clone();
        if !self.calls.contains_key(&id) {
            if self.calls.len() >= MAX_CALLS {
                return Err(NotShown::TooMuch("too many tool calls in one turn"));
            }
            self.end_message().await?;
            let body = ItemBody::ToolCall {
                tool_name: tool_name(&update),
                call_id: id.clone(),
                arguments: None,
                arguments_text: None,
                kept: None,
            };
            let item = Some(self.turn.open(body).await?);
            let call = ToolCall {
                tool_call_id: id.clone(),
                ..ToolCall::default()
            };
            let shown = ShownCall {
                call,
                item,
                is_done: false,
            };
            self.calls.insert(id.clone(), shown);
        }
        let Some(shown) = self.calls.get_mut(&id).filter(|shown| !shown.is_done) else {
            return Ok(());
        };
        let has_content = update.content.is_some();
        merge(&mut shown.call, update);
        let change = has_content.then(|| change(&shown.call, &self.root)).flatten();
        if let Some(change) = &change {
            self.turn.preview(&id, change.clone()).await?;
        }
        match shown.call.status {
            Some(ToolCallStatus::InProgress) => shown.complete_arguments().await?,
            Some(status @ (ToolCallStatus::Completed | ToolCallStatus::Failed)) => {
                shown.complete_arguments().await?;
                shown.is_done = true;
                let text = head_and_tail(&result_text(&shown.call), MAX_RESULT_BYTES);
                let success = status == ToolCallStatus::Completed;
                let change = self::change(&shown.call, &self.root);
                self.turn.add(result(id, text, success, change)).await?;
            }
            Some(ToolCallStatus::Pending | ToolCallStatus::Unknown) | None => {}
        }
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), NotShown> {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES {
            return Err(NotShown::TooMuch("more than 32 MiB of updates in one turn"));
        }
        Ok(())
    }
}

impl ShownCall {
    async fn complete_arguments(&mut self) -> Result<(), TurnGone> {
        let Some(item) = self.item.take() else {
            return Ok(());
        };
        item.complete(Some(ItemBody::ToolCall {
            tool_name: tool_name(&self.call),
            call_id: self.call.tool_call_id.clone(),
            arguments: Json::of(&arguments(&self.call)).ok(),
            arguments_text: None,
            kept: None,
        }))
        .await
    }
}

/// Takes over what an update says. Lists are replaced.
fn merge(call: &mut ToolCall, update: ToolCall) {
    let ToolCall {
        tool_call_id: _,
        title,
        name,
        kind,
        status,
        content,
        locations,
        raw_input,
        raw_output,
        meta: _,
    } = update;
    call.title = title.or(call.title.take());
    call.name = name.or(call.name.take());
    call.kind = kind.or(call.kind);
    call.status = status.or(call.status);
    call.content = content.or(call.content.take());
    call.locations = locations.or(call.locations.take());
    call.raw_input = raw_input.or(call.raw_input.take());
    call.raw_output = raw_output.or(call.raw_output.take());
}

/// Returns the name of a call's tool: the agent's, or the word of its kind.
pub(crate) fn tool_name(call: &ToolCall) -> String {
    let kind = match call.kind {
        Some(ToolKind::Read) => "read",
        Some(ToolKind::Edit) => "edit",
        Some(ToolKind::Delete) => "delete",
        Some(ToolKind::Move) => "move",
        Some(ToolKind::Search) => "search",
        Some(ToolKind::Execute) => "execute",
        Some(ToolKind::Think) => "think",
        Some(ToolKind::Fetch) => "fetch",
        Some(ToolKind::SwitchMode) => "switch_mode",
        Some(ToolKind::Other) | None => "other",
    };
    call.name.clone().unwrap_or_else(|| kind.to_owned())
}

/// Returns the arguments of a call: its input, and its title and files where the input does not have such members.
fn arguments(call: &ToolCall) -> Value {
    let mut arguments = match &call.raw_input {
        Some(Value::Object(members)) => members.clone(),
        Some(other) => serde_json::Map::from_iter([("input".to_owned(), other.clone())]),
        None => serde_json::Map::new(),
    };
    if let Some(title) = &call.title {
        arguments.entry("title").or_insert_with(|| json!(title));
    }
    if let Some(locations) = call.locations.as_ref().filter(|locations| !locations.is_empty()) {
        arguments.entry("locations").or_insert_with(|| json!(locations));
    }
    Value::Object(arguments)
}

/// Returns the first change of a file that a call shows.
fn change(call: &ToolCall, root: &std::path::Path) -> Option<CallPreview> {
    call.content.iter().flatten().find_map(|content| match content {
        ToolCallContent::Diff {
            path,
            old_text,
            new_text,
        } => preview(
            &root.join(path),
            old_text.as_deref().map(str::as_bytes),
            new_text.as_bytes(),
        ),
        ToolCallContent::Content { .. } | ToolCallContent::Terminal { .. } | ToolCallContent::Unknown => None,
    })
}

fn result_text(call: &ToolCall) -> String {
    let texts = call.content.iter().flatten().filter_map(|content| match content {
        ToolCallContent::Content { content } => Some(text_of(content)),
        ToolCallContent::Diff { .. } | ToolCallContent::Terminal { .. } | ToolCallContent::Unknown => None,
    });
    let texts: Vec<String> = texts.collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    match &call.raw_output {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn result(call_id: String, result: String, success: bool, change: Option<CallPreview>) -> ItemBody {
    ItemBody::ToolResult {
        call_id,
        result,
        success,
        refused: false,
        seen: Vec::new(),
        pictures: Vec::new(),
        change: change.map(Box::new),
        tool_name: None,
    }
}

/// Returns a text as the content of a call.
pub(crate) fn text_content(text: &str) -> ToolCallContent {
    ToolCallContent::Content {
        content: ContentBlock::text(text),
    }
}

/// Returns a block of content as text. Pictures and sounds are named.
fn text_of(content: &ContentBlock) -> String {
    use bobbin_acp_wire::EmbeddedResource;
    match content {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Image { .. } => "[image]".to_owned(),
        ContentBlock::Audio { .. } => "[audio]".to_owned(),
        ContentBlock::ResourceLink { uri, name, .. } => format!("[{name}]({uri})"),
        ContentBlock::Resource { resource } => match resource {
            EmbeddedResource::Text { text, .. } => text.clone(),
            EmbeddedResource::Blob { uri, .. } => format!("[{uri}]"),
        },
        ContentBlock::Unknown => String::new(),
    }
}

/// Returns the bytes of an update that are stored.
fn size_of(call: &ToolCall) -> usize {
    serde_json::to_vec(call).map_or(0, |bytes| bytes.len())
}

/// Returns an amount of money in millionths. A negative one counts as none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the amount is not negative, and a cast of floats saturates"
)]
fn micros(amount: f64) -> u64 {
    (amount.max(0.0) * 1e6).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(value: Value) -> ToolCall {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn updates_change_only_what_they_say() {
        let mut known = call(
            json!({ "toolCallId": "1", "title": "Edit", "kind": "edit", "rawInput": {},
            "content": [{ "type": "content", "content": { "type": "text", "text": "one" } }] }),
        );
        merge(
            &mut known,
            call(
                json!({ "toolCallId": "1", "status": "completed", "rawInput": { "path": "a" },
            "content": [{ "type": "diff", "path": "a", "oldText": null, "newText": "x\n" }], "title": null }),
            ),
        );
        assert_eq!(known.title.as_deref(), Some("Edit"));
        assert_eq!(arguments(&known), json!({ "path": "a", "title": "Edit" }));
        assert_eq!(result_text(&known), "", "the list is replaced");
        let change = change(&known, std::path::Path::new("/srv")).unwrap();
        assert_eq!((change.path.as_str(), change.additions), ("/srv/a", 1));
        assert_eq!(tool_name(&known), "edit");
    }

    #[test]
    fn a_result_is_its_texts_or_the_raw_output() {
        let raw = |value: Value| result_text(&call(json!({ "toolCallId": "1", "rawOutput": value })));
        assert_eq!(raw(json!("done")), "done");
        assert_eq!(raw(json!({ "code": 0 })), r#"{"code":0}"#);
        assert_eq!(micros(0.25), 250_000);
        assert_eq!(micros(-1.0), 0);
    }
}
