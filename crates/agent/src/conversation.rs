//! Turns recorded Items into the conversation that a model gets.
//!
//! Items for users alone (approvals, terminal views, error notes) stay out. So does reasoning, which belongs to its own
//! reply. Pure.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use bobbin_agent_api::client::MAX_ANSWER_BYTES;
use bobbin_agent_api::cut::head_and_tail;
use bobbin_agent_api::model::{Call, Message};
use bobbin_model::{
    Compaction, DynamicToolCall, GivenMessage, InputPart, Item, ItemBody, ItemId, ItemStatus, ToolAnswer,
    Trigger, TriggerKind, TurnId, UnixMillis,
};

use bobbin_model::item::UserMessage;
use bobbin_prompts::COMPACT;

use super::hooks::PROMPT_BLOCKED;
use super::past::PastTurn;
use super::pictures::of_results;
use super::refused::{refused_pictures, without_pictures};
use super::web_search::WEB_SEARCH;

/// The result, in a later Turn's conversation, of a call that has none.
const NO_RESULT: &str = "no result: the turn ended before this call did";
/// The text before a summary.
const SUMMARY: &str = "The conversation up to here was compacted to make room. This summary replaces it:";
/// The text before a conversation whose preceding part is missing.
const GAP: &str =
    "[An older part of the conversation is left out here: it is longer than what can be read at once.]";

/// A message and the place in the record where it starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    pub(super) at: (TurnId, ItemId),
    pub(super) message: Message,
}

/// Returns a part as a model reads it.
pub(super) fn model_text(part: &InputPart) -> Cow<'_, str> {
    match part {
        InputPart::Context { label, text } => Cow::Owned(format!("{label}\n{text}")),
        other => other.display(),
    }
}

/// Returns the messages of a conversation: those of earlier Turns and of the current Turn. Every call of an earlier
/// Turn has a result, and pictures that the provider has refused are left out.
pub(super) fn placed(earlier: &[Arc<PastTurn>], turn: TurnId, own: &[Item]) -> Vec<Placed> {
    let before = earlier.iter().flat_map(|turn| &turn.steps);
    let mut all: Vec<Placed> = before.cloned().collect();
    let complete = own.iter().filter(|item| {
        // The model repeats a message that was cut off.
        item.status == ItemStatus::Completed || !item.body.is_prose()
    });
    all.extend(steps(turn, complete));
    let refused = refused_pictures(own).map(|note| (turn, note)).or_else(|| {
        let mut newest_first = earlier.iter().rev();
        newest_first.find_map(|turn| Some((turn.id, turn.refused_pictures?)))
    });
    if let Some(note) = refused {
        let before = all.iter_mut().filter(|placed| placed.at < note);
        before.for_each(|placed| without_pictures(&mut placed.message));
    }
    all
}

/// Returns the compaction that an Item records.
fn compaction(item: &Item) -> Option<&Compaction> {
    match &item.body {
        ItemBody::Compaction(done) => Some(done),
        _ => None,
    }
}

/// Returns the last compaction among Items.
pub(super) fn newest_compaction<'a>(
    items: impl DoubleEndedIterator<Item = &'a Item>,
) -> Option<&'a Compaction> {
    items.rev().find_map(compaction)
}

/// The first message of a conversation that a model gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start<'a> {
    /// The first Turn and Item that the model gets.
    pub(super) at: (TurnId, ItemId),
    /// The summary of everything before.
    pub(super) summary: Option<&'a str>,
    /// Whether a part right before it is in no summary.
    pub(super) gap: bool,
}

/// Returns the summary of what came before, followed by the retained messages. The summary goes in front of a message
/// of the user; if the rest starts inside a Turn, that Turn's first message is repeated in front.
pub(super) fn behind(start: Start<'_>, all: Vec<Placed>) -> Vec<Placed> {
    let summary = start
        .summary
        .map(|summary| format!("{SUMMARY}\n<summary>\n{summary}\n</summary>\n"));
    let gap = start.gap.then(|| format!("{GAP}\n"));
    let in_front = InputPart::Text {
        text: summary.into_iter().chain(gap).collect(),
    };
    let (old, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|placed| placed.at < start.at);
    if let Some(Placed {
        message: Message::User { parts },
        ..
    }) = rest.first_mut()
    {
        parts.insert(0, in_front);
        return rest;
    }
    let turn = rest.first().map_or(start.at.0, |first| first.at.0);
    let request = old.into_iter().find_map(|placed| match placed.message {
        Message::User { parts } if placed.at.0 == turn => Some(parts),
        _ => None,
    });
    let parts = std::iter::once(in_front).chain(request.into_iter().flatten());
    let message = Message::User {
        parts: parts.collect(),
    };
    let at = (turn, ItemId(0));
    rest.insert(0, Placed { at, message });
    rest
}

/// Whether an Item is a user's request to compact the conversation, which no model reads.
pub(super) fn asks_to_compact(item: &Item) -> bool {
    let ItemBody::UserMessage(said) = &item.body else {
        return false;
    };
    matches!(said.native.as_slice(), [InputPart::CommandRef { name, .. }] if name == COMPACT)
}

/// Returns the messages of a Turn's Items, without results for calls that have none.
pub(super) fn messages<'a>(items: impl IntoIterator<Item = &'a Item>) -> Vec<Message> {
    let steps = steps(TurnId(0), items).into_iter();
    steps.map(|placed| placed.message).collect()
}

/// Returns a user's message as a model gets it.
fn parts(said: &UserMessage) -> Vec<InputPart> {
    let is_job = |trigger: &&Trigger| trigger.kind != TriggerKind::SubagentFollowupTask;
    let job = said.trigger.as_deref().filter(is_job).map(of_job);
    let parts = said.native.iter().map(InputPart::materialized);
    job.into_iter().chain(parts).collect()
}

/// Returns what a model has to know of a message that a job sends.
fn of_job(trigger: &Trigger) -> InputPart {
    let name = trigger.label.as_deref().unwrap_or_default();
    InputPart::Context {
        label: "job".to_owned(),
        text: format!(
            "The job {name:?} sends this message by itself. No user is there to answer questions, and what is not permitted is \
             declined. Its user reads the last reply as a report: what was done, and what was declined."
        ),
    }
}

/// Returns the messages of a Turn's Items, each with its place.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of Item")]
pub(super) fn steps<'a>(turn: TurnId, items: impl IntoIterator<Item = &'a Item>) -> Vec<Placed> {
    let mut steps = Vec::new();
    let mut reply = Reply::default();
    // Pictures of results, and the place of the last of these.
    let mut shown = Shown::default();
    let mut searches = HashSet::new();
    for item in items {
        let at = (turn, item.id);
        if is_after_results(&item.body) {
            shown.end(&mut steps);
        }
        match &item.body {
            ItemBody::UserMessage(_) if asks_to_compact(item) => reply.end(turn, &mut steps),
            ItemBody::UserMessage(said) => {
                reply.end(turn, &mut steps);
                let message = Message::User { parts: parts(said) };
                steps.push(Placed { at, message });
            }
            // A hook has blocked the message.
            ItemBody::Error { code, .. } if code == PROMPT_BLOCKED => {
                reply.end(turn, &mut steps);
                let is_input = |step: &Placed| matches!(step.message, Message::User { .. });
                while steps.last().is_some_and(is_input) {
                    steps.pop();
                }
            }
            ItemBody::AgentMessage { text } => {
                if !reply.results.is_empty() {
                    reply.end(turn, &mut steps);
                }
                reply.start(item.id);
                reply.say(text);
            }
            // Items of the provider's searches are for users. The results of the searches are in the reply.
            ItemBody::ToolCall {
                tool_name, call_id, ..
            } if tool_name == WEB_SEARCH => {
                searches.insert(call_id);
            }
            ItemBody::ToolResult { call_id, .. } if searches.contains(call_id) => {}
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                kept,
                ..
            } => {
                reply.start(item.id);
                reply.calls.push(Call {
                    id: call_id.clone(),
                    tool: tool_name.clone(),
                    arguments: arguments.clone(),
                    provider_state: kept.clone(),
                });
            }
            ItemBody::DynamicToolCall(call) => {
                if reply.is_before(call.reply, item.created_at) {
                    reply.end(turn, &mut steps);
                }
                reply.start(item.id);
                reply.number = call.reply;
                reply.calls.push(Call {
                    id: call.call_id.clone(),
                    tool: call.offered_as.clone(),
                    arguments: call.arguments.clone(),
                    provider_state: call.kept.clone(),
                });
                if let (Some(answer), Some(ended)) = (&call.answer, item.completed_at) {
                    let message = result_of(call, answer);
                    reply.results.push((ended, Placed { at, message }));
                }
            }
            ItemBody::ToolResult {
                call_id,
                result,
                success,
                pictures,
                ..
            } => {
                reply.end(turn, &mut steps);
                shown.paths.extend(pictures.iter().cloned());
                shown.at = at;
                let message = Message::Result {
                    call_id: call_id.clone(),
                    text: result.clone(),
                    success: *success,
                };
                steps.push(Placed { at, message });
            }
            ItemBody::Reasoning { .. }
            | ItemBody::CommandExecution(_)
            | ItemBody::ToolExecution { .. }
            | ItemBody::ApprovalRequest { .. }
            | ItemBody::ApprovalResponse { .. }
            | ItemBody::Forked { .. }
            | ItemBody::UserInputRequest(_)
            | ItemBody::UserInputResponse { .. }
            | ItemBody::Compaction(_)
            | ItemBody::Error { .. } => {}
        }
    }
    reply.end(turn, &mut steps);
    // A result that is still missing comes before the pictures.
    if has_all_results(&steps) {
        shown.end(&mut steps);
    }
    steps
}

/// Returns whether an Item comes after all results of the reply before.
fn is_after_results(body: &ItemBody) -> bool {
    matches!(
        body,
        ItemBody::UserMessage(_)
            | ItemBody::AgentMessage { .. }
            | ItemBody::ToolCall { .. }
            | ItemBody::DynamicToolCall(_)
    )
}

fn has_all_results(steps: &[Placed]) -> bool {
    let mut results = 0;
    for step in steps.iter().rev() {
        match &step.message {
            Message::Result { .. } => results += 1,
            Message::Agent { calls, .. } => return results >= calls.len(),
            Message::User { .. } => {}
        }
    }
    true
}

/// Pictures of the results of one reply.
struct Shown {
    paths: Vec<String>,
    at: (TurnId, ItemId),
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            at: (TurnId(0), ItemId(0)),
        }
    }
}

impl Shown {
    fn end(&mut self, steps: &mut Vec<Placed>) {
        let message = of_results(std::mem::take(&mut self.paths));
        steps.extend(message.map(|message| Placed { at: self.at, message }));
    }
}

/// The parts of one reply, collected from its Items.
#[derive(Default)]
struct Reply {
    /// Its first Item.
    first: Option<ItemId>,
    /// Its number, if a call of it says that.
    number: Option<usize>,
    text: String,
    calls: Vec<Call>,
    /// Results of its single-Item calls, and when they came.
    results: Vec<(UnixMillis, Placed)>,
}

fn result_of(call: &DynamicToolCall, answer: &ToolAnswer) -> Message {
    Message::Result {
        call_id: call.call_id.clone(),
        text: head_and_tail(&answer.text(), MAX_ANSWER_BYTES),
        success: answer.success,
    }
}

impl Reply {
    fn start(&mut self, item: ItemId) {
        self.first.get_or_insert(item);
    }

    fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Adds the reply to the conversation, if it has any parts.
    fn end(&mut self, turn: TurnId, steps: &mut Vec<Placed>) {
        let Self {
            first,
            number: _,
            text,
            calls,
            results,
        } = std::mem::take(self);
        if let Some(first) = first.filter(|_| !text.is_empty() || !calls.is_empty()) {
            let message = Message::Agent { text, calls };
            let at = (turn, first);
            steps.push(Placed { at, message });
        }
        steps.extend(results.into_iter().map(|(_, result)| result));
    }

    /// Returns whether a single-Item call is of a later reply. In older records calls have no number: one that came
    /// after another had ended is.
    fn is_before(&self, number: Option<usize>, at: UnixMillis) -> bool {
        match (self.number, number) {
            (Some(own), Some(number)) => own != number,
            _ => self.results.iter().any(|(ended, _)| *ended < at),
        }
    }
}

/// Returns a conversation that a client supplied. Every call in it has a result.
pub(super) fn handed_in(before: &[GivenMessage]) -> Vec<Message> {
    let messages = before.iter().map(|message| match message {
        // The server's own instructions are elsewhere; this message is marked as the client's.
        GivenMessage::System { text } => Message::User {
            parts: vec![InputPart::Context {
                label: "system".to_owned(),
                text: text.clone(),
            }],
        },
        GivenMessage::User { text } => Message::User {
            parts: vec![InputPart::Text { text: text.clone() }],
        },
        GivenMessage::Agent { text, calls } => Message::Agent {
            text: text.clone(),
            calls: calls
                .iter()
                .map(|call| Call {
                    id: call.id.clone(),
                    tool: call.tool.clone(),
                    arguments: call.arguments.clone(),
                    provider_state: None,
                })
                .collect(),
        },
        GivenMessage::Result { call_id, text } => Message::Result {
            call_id: call_id.clone(),
            text: text.clone(),
            success: true,
        },
    });
    // No provider accepts a reply without text and without calls.
    let said = messages.filter(
        |message| !matches!(message, Message::Agent { text, calls } if text.is_empty() && calls.is_empty()),
    );
    // All messages come before the current Turn; their Turn number has no meaning.
    let at = (TurnId(0), ItemId(0));
    let placed = said.map(|message| Placed { at, message });
    let all = whole(placed.collect()).into_iter();
    all.map(|placed| placed.message).collect()
}

/// Gives every call a result.
pub(super) fn whole(turn: Vec<Placed>) -> Vec<Placed> {
    let results: HashSet<String> = turn
        .iter()
        .filter_map(|placed| match &placed.message {
            Message::Result { call_id, .. } => Some(call_id.clone()),
            _ => None,
        })
        .collect();
    let mut all = Vec::with_capacity(turn.len());
    for placed in turn {
        let missing = match &placed.message {
            Message::Agent { calls, .. } => {
                let ids = calls.iter().map(|call| &call.id);
                ids.filter(|id| !results.contains(*id)).cloned().collect()
            }
            _ => Vec::new(),
        };
        let at = placed.at;
        all.push(placed);
        all.extend(missing.into_iter().map(|call_id| Placed {
            at,
            message: Message::Result {
                call_id,
                text: NO_RESULT.to_owned(),
                success: false,
            },
        }));
    }
    all
}

#[cfg(test)]
#[path = "conversation_tests.rs"]
mod tests;
