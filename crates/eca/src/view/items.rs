//! Items as contents: the user's messages, the model's text, reasoning and calls.

use bobbin_model::item::DeliveryMode;
use bobbin_model::{
    DecidedBy, Delta, DeltaChannel, DynamicToolCall, Item, ItemBody, ItemId, TurnId, UnixMillis,
};

use super::call::Call;
use super::{End, View, content_id, find, millis, reason_id, words};
use crate::wire::content::{ChatContent, Content, Status};

impl View {
    /// Shows streamed text.
    pub(crate) fn delta(&mut self, delta: &Delta, out: &mut Vec<ChatContent>) {
        match delta.channel {
            DeltaChannel::AgentMessage => {
                self.generate(out);
                out.push(ChatContent::assistant(delta.text.to_string()));
                self.streamed.insert(delta.item, delta.offset + delta.text.len());
            }
            DeltaChannel::Reasoning => {
                let id = reason_id(delta.turn, delta.item);
                let text = delta.text.to_string();
                out.push(Content::ReasonText { id, text }.into());
                self.streamed.insert(delta.item, delta.offset + delta.text.len());
            }
            DeltaChannel::ToolArguments => {
                let call_id = delta.call.as_ref().map_or("", |call| call.1.as_str());
                if let Some(call) = find(&mut self.calls, call_id) {
                    out.push(call.prepare(&delta.text));
                }
            }
            // The whole output comes with the call's result.
            DeltaChannel::CommandOutput => {}
        }
    }

    pub(super) fn opened(&mut self, turn: TurnId, item: &Item, out: &mut Vec<ChatContent>) {
        match &item.body {
            ItemBody::Reasoning { .. } => {
                self.generate(out);
                let id = reason_id(turn, item.id);
                out.push(Content::ReasonStarted { id }.into());
            }
            ItemBody::ToolCall {
                tool_name, call_id, ..
            } => self.prepare(turn, call_id, tool_name, out),
            ItemBody::DynamicToolCall(call) => self.prepare_whole(turn, call, out),
            _ => {}
        }
    }

    /// Shows a call of a client's tool. It comes with complete arguments.
    fn prepare_whole(&mut self, turn: TurnId, call: &DynamicToolCall, out: &mut Vec<ChatContent>) {
        if find(&mut self.calls, &call.call_id).is_some() {
            return;
        }
        self.prepare(turn, &call.call_id, &call.offered_as, out);
        if let (Some(shown), Some(arguments)) = (find(&mut self.calls, &call.call_id), &call.arguments) {
            out.push(shown.prepare(arguments.get()));
            shown.complete(Some(arguments));
        }
    }

    pub(super) fn completed(&mut self, turn: TurnId, item: &Item, out: &mut Vec<ChatContent>) {
        match &item.body {
            ItemBody::AgentMessage { text } => self.rest(item.id, text, out),
            ItemBody::Reasoning { text } => self.end_reason(turn, item, text, out),
            ItemBody::ToolCall {
                tool_name,
                call_id,
                arguments,
                ..
            } => {
                self.prepare(turn, call_id, tool_name, out);
                if let Some(call) = find(&mut self.calls, call_id) {
                    call.complete(arguments.as_ref());
                }
            }
            ItemBody::DynamicToolCall(call) => {
                self.prepare_whole(turn, call, out);
                if let Some(answer) = &call.answer {
                    let end = match (answer.is_refused(), answer.success) {
                        (true, _) => End::Refused,
                        (false, true) => End::Done,
                        (false, false) => End::Failed,
                    };
                    let at = item.completed_at.unwrap_or(item.created_at);
                    self.result(&call.call_id, &answer.text(), end, at, out);
                }
            }
            _ => {}
        }
    }

    pub(super) fn added(&mut self, turn: TurnId, item: &Item, at: UnixMillis, out: &mut Vec<ChatContent>) {
        match &item.body {
            // The prompt has already shown this message.
            ItemBody::UserMessage(_) if self.begun == Some(turn) && item.id == ItemId(1) => {}
            ItemBody::UserMessage(said) => {
                if said.delivery == DeliveryMode::Guidance {
                    self.steering = None;
                }
                out.push(ChatContent::echo(&words(said), content_id(turn, item.id)));
                self.status(Status::Running, out);
            }
            ItemBody::AgentMessage { .. } => self.completed(turn, item, out),
            ItemBody::Reasoning { .. } | ItemBody::ToolCall { .. } | ItemBody::DynamicToolCall(_) => {
                self.opened(turn, item, out);
                self.completed(turn, item, out);
            }
            ItemBody::ToolResult {
                call_id,
                result,
                success,
                refused,
                ..
            } => {
                let end = match (*refused, *success) {
                    (true, _) => End::Refused,
                    (false, true) => End::Done,
                    (false, false) => End::Failed,
                };
                self.result(call_id, result, end, at, out);
            }
            ItemBody::ApprovalResponse {
                request_id, decision, ..
            } if self.replaying => self.resolved(request_id, *decision, &DecidedBy::Interrupt, out),
            ItemBody::ApprovalRequest { request_id, .. } if self.replaying => {
                // History has the order only: a call asks before the next call is made.
                let asking = self
                    .calls
                    .iter_mut()
                    .find(|call| !call.ended && call.approval.is_none());
                if let Some(call) = asking {
                    call.approval = Some(request_id.clone());
                }
            }
            ItemBody::Compaction(_) => out.push(ChatContent::system(
                "\n\nThe conversation so far was compacted to make room.\n".to_owned(),
            )),
            // A fatal error is shown with the end of its Turn.
            ItemBody::Error { message, fatal, .. } if !fatal => {
                out.push(ChatContent::system(format!("\n\n{message}\n")));
            }
            _ => {}
        }
    }

    fn prepare(&mut self, turn: TurnId, call_id: &str, name: &str, out: &mut Vec<ChatContent>) {
        if find(&mut self.calls, call_id).is_some() {
            return;
        }
        self.generate(out);
        let call = Call::new(turn, call_id, name);
        out.push(call.prepare(""));
        self.calls.push(call);
    }

    /// Sends the text that was not streamed.
    fn rest(&mut self, item: ItemId, text: &str, out: &mut Vec<ChatContent>) {
        let from = self.streamed.remove(&item).unwrap_or(0);
        if let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
            self.generate(out);
            out.push(ChatContent::assistant(rest.to_owned()));
        }
    }

    fn end_reason(&mut self, turn: TurnId, item: &Item, text: &str, out: &mut Vec<ChatContent>) {
        let id = reason_id(turn, item.id);
        let from = self.streamed.remove(&item.id).unwrap_or(0);
        if let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
            let (id, text) = (id.clone(), rest.to_owned());
            out.push(Content::ReasonText { id, text }.into());
        }
        let total_time_ms = item.completed_at.map_or(0, |at| millis(item.created_at, at));
        out.push(Content::ReasonFinished { id, total_time_ms }.into());
    }
}
