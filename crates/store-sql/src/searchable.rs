//! The text of events that searches find.

use std::borrow::Cow;

use bobbin_model::{Event, Item, ItemBody, ItemId, ToolAnswer, TurnId};
use bobbin_store::StoredEvent;

/// Most indexed bytes of a message (a guess: text further down is hardly searched for).
const MESSAGE_BYTES: usize = 16 << 10;
/// Most indexed bytes of a call and of its result: commands, and the beginnings of their output.
const CALL_BYTES: usize = 2 << 10;

/// The searchable text of an event.
#[derive(Debug)]
pub struct SearchText<'a> {
    /// Turn and Item; `None` for the title.
    pub place: Option<(TurnId, ItemId)>,
    /// Type of the Item, or `title`.
    pub kind: &'static str,
    /// The text, up to a bound.
    pub text: Cow<'a, str>,
}

impl<'a> SearchText<'a> {
    /// Whether a write adds searchable text.
    pub fn is_in(events: &[StoredEvent]) -> bool {
        events
            .iter()
            .any(|stored| SearchText::of(&stored.event).is_some())
    }

    /// Returns the searchable text of an event, if it has any.
    pub fn of(event: &'a Event) -> Option<Self> {
        let title = |text| Self {
            place: None,
            kind: "title",
            text: Cow::Borrowed(text),
        };
        match event {
            Event::ThreadStarted { thread } => thread.display_name.as_deref().map(title),
            Event::ThreadRenamed { display_name } => Some(title(display_name)),
            Event::ItemCompleted { turn, item } | Event::ItemAdded { turn, item } => {
                let (kind, text) = of_item(item)?;
                Some(Self {
                    place: Some((*turn, item.id)),
                    kind,
                    text,
                })
            }
            _ => None,
        }
    }
}

fn of_item(item: &Item) -> Option<(&'static str, Cow<'_, str>)> {
    let message = |text| Cow::Borrowed(beginning(text, MESSAGE_BYTES));
    let found = match &item.body {
        ItemBody::UserMessage(said) => (
            "userMessage",
            Cow::Owned(beginning(&said.text(), MESSAGE_BYTES).to_owned()),
        ),
        ItemBody::AgentMessage { text } => ("agentMessage", message(text)),
        ItemBody::Reasoning { text } => ("reasoningContent", message(text)),
        ItemBody::Error { message: text, .. } => ("error", message(text)),
        ItemBody::ToolCall {
            tool_name, arguments, ..
        } => {
            let arguments = arguments.as_ref().map_or("", |json| json.get());
            let text = format!("{tool_name} {}", beginning(arguments, CALL_BYTES));
            ("toolCall", Cow::Owned(text))
        }
        ItemBody::DynamicToolCall(call) => {
            let arguments = call.arguments.as_ref().map_or("", |json| json.get());
            let answer = call.answer.as_ref().map_or_else(String::new, ToolAnswer::text);
            let (arguments, answer) = (beginning(arguments, CALL_BYTES), beginning(&answer, CALL_BYTES));
            let text = format!("{} {arguments}\n{answer}", call.tool_name);
            ("dynamicToolCall", Cow::Owned(text))
        }
        ItemBody::ToolResult { result, .. } => ("toolResult", Cow::Borrowed(beginning(result, CALL_BYTES))),
        // Other views of the same call, its Approval, and content that another Item has in full.
        ItemBody::Compaction(_)
        | ItemBody::CommandExecution(_)
        | ItemBody::ToolExecution { .. }
        | ItemBody::ApprovalRequest { .. }
        | ItemBody::Forked { .. }
        | ItemBody::UserInputRequest(_)
        | ItemBody::UserInputResponse { .. }
        | ItemBody::ApprovalResponse { .. } => return None,
    };
    (!found.1.trim().is_empty()).then_some(found)
}

/// Returns the beginning of a text, of at most this many bytes.
fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
