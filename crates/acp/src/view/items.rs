//! Items as updates: messages, thoughts and calls.

use bobbin_acp_wire::{CompactionStatus, ContentBlock, SessionUpdate, Severity, ToolCall};
use bobbin_model::input::typed_text;
use bobbin_model::item::UserMessage;
use bobbin_model::{Delta, DeltaChannel, DynamicToolCall, Item, ItemBody, ItemId, Json, TurnId, UnixMillis};

use super::call::{Call, CallEnd};
use super::output::Output;
use super::{View, changed};

impl View {
    /// Shows streamed text.
    pub(super) fn delta(&mut self, delta: &Delta, at: UnixMillis, out: &mut Vec<SessionUpdate>) {
        let is_thought = match delta.channel {
            DeltaChannel::AgentMessage => false,
            DeltaChannel::Reasoning => true,
            DeltaChannel::CommandOutput => return self.output(delta.item, &delta.text, at, out),
            // Clients get complete arguments.
            DeltaChannel::ToolArguments => return,
        };
        out.push(chunk(is_thought, &delta.text, delta.turn, delta.item));
        self.streamed.insert(delta.item, delta.offset + delta.text.len());
    }

    pub(super) fn opened(&mut self, turn: TurnId, item: &Item, out: &mut Vec<SessionUpdate>) {
        match &item.body {
            ItemBody::ToolCall {
                tool_name, call_id, ..
            } => {
                self.known_call(turn, call_id, tool_name);
                self.change_call(call_id, out, |_| ToolCall::default());
            }
            ItemBody::DynamicToolCall(call) => self.whole_call(turn, call, out),
            ItemBody::CommandExecution(run) => {
                self.outputs.insert(item.id, Output::new(&run.call_id));
            }
            _ => {}
        }
    }

    /// Shows more output of a command that runs.
    fn output(&mut self, item: ItemId, text: &str, at: UnixMillis, out: &mut Vec<SessionUpdate>) {
        let Some(output) = self.outputs.get_mut(&item) else {
            return;
        };
        if let Some(shown) = output.add(text, at) {
            let call_id = output.call_id.clone();
            self.change_call(&call_id, out, |call| call.running(&shown));
        }
    }

    pub(super) fn completed(&mut self, turn: TurnId, item: &Item, out: &mut Vec<SessionUpdate>) {
        match &item.body {
            ItemBody::AgentMessage { text } => self.rest(false, turn, item.id, text, out),
            ItemBody::Reasoning { text } => self.rest(true, turn, item.id, text, out),
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                ..
            } => {
                self.known_call(turn, call_id, tool_name);
                self.complete_call(call_id, arguments.as_ref(), out);
            }
            // The result of the call follows.
            ItemBody::CommandExecution(_) => drop(self.outputs.remove(&item.id)),
            ItemBody::DynamicToolCall(call) => {
                self.whole_call(turn, call, out);
                if let Some(answer) = &call.answer {
                    let how = if answer.success {
                        CallEnd::Completed
                    } else {
                        CallEnd::Failed
                    };
                    self.end_call(&call.call_id, how, &answer.text(), out);
                }
            }
            _ => {}
        }
    }

    /// Shows an Item that is final at once. `is_own`: the client has sent the Turn's input itself.
    pub(super) fn added(&mut self, turn: TurnId, item: &Item, is_own: bool, out: &mut Vec<SessionUpdate>) {
        match &item.body {
            // Clients show their own prompts themselves.
            ItemBody::UserMessage(_) if is_own && item.id == ItemId(1) => {}
            ItemBody::UserMessage(said) => out.push(SessionUpdate::UserMessageChunk {
                content: ContentBlock::text(words(said)),
                message_id: Some(message_id(turn, item.id)),
            }),
            ItemBody::AgentMessage { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::ToolCall { .. }
            | ItemBody::DynamicToolCall(_) => self.completed(turn, item, out),
            ItemBody::ToolResult {
                call_id,
                result,
                success,
                ..
            } => {
                let how = if *success {
                    CallEnd::Completed
                } else {
                    CallEnd::Failed
                };
                self.end_call(call_id, how, result, out);
            }
            // The answer of the prompt says it.
            ItemBody::Error {
                code, fatal: true, ..
            } => self.failed_with = Some(code.clone()),
            ItemBody::Compaction(compaction) => {
                let id = self
                    .compacting
                    .take()
                    .unwrap_or_else(|| message_id(turn, item.id));
                out.extend(self.compaction(id, CompactionStatus::Completed, Some(&compaction.summary)));
            }
            ItemBody::Error { message, .. } => out.push(self.notice(Severity::Warning, message.clone())),
            _ => {}
        }
    }

    /// Notes a call that runs without showing it: the client gets it whole with its next change.
    pub(crate) fn seed_call(&mut self, turn: TurnId, item: &Item) {
        if let ItemBody::CommandExecution(run) = &item.body {
            self.outputs.insert(item.id, Output::new(&run.call_id));
        }
        let (call_id, name, arguments) = match &item.body {
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                ..
            } => (call_id, tool_name, arguments.as_ref()),
            ItemBody::DynamicToolCall(call) => (&call.call_id, &call.offered_as, call.arguments.as_ref()),
            _ => return,
        };
        self.known_call(turn, call_id, name);
        let root = self.facts.root.clone();
        if let Some(call) = self.calls.last_mut() {
            call.complete(arguments, &root);
        }
    }

    /// Notes how much of an open text the client has, or needs not.
    pub(crate) fn seed_text(&mut self, item: &Item) {
        if let ItemBody::AgentMessage { text } | ItemBody::Reasoning { text } = &item.body {
            self.streamed.insert(item.id, text.len());
        }
    }

    /// Shows the text so far of an open Item.
    pub(crate) fn text_so_far(&mut self, turn: TurnId, item: &Item, out: &mut Vec<SessionUpdate>) {
        let (is_thought, text) = match &item.body {
            ItemBody::AgentMessage { text } => (false, text),
            ItemBody::Reasoning { text } => (true, text),
            _ => return,
        };
        if !text.is_empty() {
            out.push(chunk(is_thought, text, turn, item.id));
        }
        self.seed_text(item);
    }

    fn known_call(&mut self, turn: TurnId, call_id: &str, name: &str) {
        let is_known = |call: &Call| call.key == call_id && !call.has_ended();
        if !self.calls.iter().any(is_known) {
            self.calls.push(Call::new(turn, call_id, name));
        }
    }

    fn complete_call(&mut self, call_id: &str, arguments: Option<&Json>, out: &mut Vec<SessionUpdate>) {
        let root = self.facts.root.clone();
        self.change_call(call_id, out, |call| {
            call.complete(arguments, &root);
            call.described()
        });
    }

    /// Shows a call of a client's tool. It comes with complete arguments.
    fn whole_call(&mut self, turn: TurnId, call: &DynamicToolCall, out: &mut Vec<SessionUpdate>) {
        let is_known = |known: &Call| known.key == call.call_id && !known.has_ended();
        if self.calls.iter().any(is_known) {
            return;
        }
        self.known_call(turn, &call.call_id, &call.offered_as);
        self.complete_call(&call.call_id, call.arguments.as_ref(), out);
    }

    fn end_call(&mut self, call_id: &str, how: CallEnd, result: &str, out: &mut Vec<SessionUpdate>) {
        self.change_call(call_id, out, |call| call.end(how, result));
    }

    /// Sends the text that was not streamed.
    fn rest(
        &mut self,
        is_thought: bool,
        turn: TurnId,
        item: ItemId,
        text: &str,
        out: &mut Vec<SessionUpdate>,
    ) {
        let from = self.streamed.remove(&item).unwrap_or(0);
        if let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
            out.push(chunk(is_thought, rest, turn, item));
        }
    }

    /// Shows a question of a subagent that has no call of its own here.
    pub(super) fn push_question(&mut self, mut call: Call, out: &mut Vec<SessionUpdate>) {
        changed(&mut call, out, |_| ToolCall::default());
        self.questions.push(call);
    }
}

fn chunk(is_thought: bool, text: &str, turn: TurnId, item: ItemId) -> SessionUpdate {
    let (content, message_id) = (ContentBlock::text(text), Some(message_id(turn, item)));
    if is_thought {
        SessionUpdate::AgentThoughtChunk { content, message_id }
    } else {
        SessionUpdate::AgentMessageChunk { content, message_id }
    }
}

fn message_id(turn: TurnId, item: ItemId) -> String {
    format!("{turn}.{item}")
}

/// Returns the text that a user typed, without attachments. For a message of pictures only, it names them.
fn words(said: &UserMessage) -> String {
    typed_text(&said.native)
}
