//! Questions of subagents, shown as calls of the chat at the root of their tree, since clients can ask about calls.
//!
//! They are not part of a chat's history. Open ones are shown after it, however late the chat is opened.

use bobbin_core::SubagentQuestion;
use bobbin_model::{Approval, ApprovalId, ApprovalKind, ItemBody, Json, TurnId, UnixMillis};
use serde_json::json;

use super::call::Call;
use super::{ASKING, GENERATING, View, wire_id};
use crate::wire::content::{ChatContent, Reason};

/// The tool name of such a call.
const SUBAGENT: &str = "subagent";

impl View {
    /// Shows a question of a subagent, or its result.
    pub(crate) fn below(&mut self, question: &SubagentQuestion, at: UnixMillis) -> Vec<ChatContent> {
        let mut out = Vec::new();
        match question {
            SubagentQuestion::Asked(approval) => return self.asked_below(approval),
            SubagentQuestion::Settled { approval, item, .. } => {
                let asked = |call: &&mut Call| !call.ended && call.key == key(approval);
                let Some(call) = self.calls.iter_mut().find(asked) else {
                    return out;
                };
                if matches!(item.body, ItemBody::ApprovalResponse { approved: true, .. }) {
                    call.start(at, &mut out);
                    call.called("allowed", true, at, &mut out);
                } else {
                    call.reject(Reason::UserChoice, &mut out);
                }
                self.progress(GENERATING, &mut out);
            }
        }
        out
    }

    /// Shows a question of a subagent, unless it is already shown.
    pub(crate) fn asked_below(&mut self, approval: &Approval) -> Vec<ChatContent> {
        let mut out = Vec::new();
        let key = key(&approval.id);
        if self.calls.iter().any(|call| !call.ended && call.key == key) {
            return out;
        }
        let mut call = Call::new(approval.turn, &key, SUBAGENT);
        call.complete(arguments(approval).as_ref());
        call.approval = Some(approval.id.clone());
        call.announce(true, &mut out);
        self.calls.push(call);
        self.progress(ASKING, &mut out);
        out
    }
}

/// Returns the wire's id of the call for a subagent's question.
pub(crate) fn question_id(turn: TurnId, approval: &ApprovalId) -> String {
    wire_id(turn, &key(approval))
}

fn key(approval: &ApprovalId) -> String {
    format!("{SUBAGENT}_{approval}")
}

fn arguments(approval: &Approval) -> Option<Json> {
    let scope = &approval.scope;
    let arguments = match scope.kind {
        ApprovalKind::Shell => json!({
            "command": scope.operation,
            "directory": scope.target,
            "reason": approval.reason,
        }),
        ApprovalKind::File | ApprovalKind::RemoteResource => json!({
            "operation": scope.operation,
            "path": scope.target,
            "reason": approval.reason,
        }),
    };
    Json::of(&arguments).ok()
}
