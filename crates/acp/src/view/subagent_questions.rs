//! Questions of subagents, shown as calls of the session at the root of their tree, since clients are asked about calls.

use bobbin_acp_wire::SessionUpdate;
use bobbin_core::SubagentQuestion;
use bobbin_model::{Approval, ApprovalId, ItemBody};

use super::call::{Call, CallEnd};
use super::{View, changed};

/// The name of such a call's tool.
const SUBAGENT: &str = "subagent";

impl View {
    /// Shows a question of a subagent, or its result.
    pub(crate) fn subagent(&mut self, question: &SubagentQuestion) -> Vec<SessionUpdate> {
        let mut out = Vec::new();
        match question {
            SubagentQuestion::Asked(approval) => return self.asked_by_subagent(approval),
            SubagentQuestion::Settled { approval, item, .. } => {
                let key = key(approval);
                let Some(at) = self.questions.iter().position(|call| call.key == key) else {
                    return out;
                };
                let mut call = self.questions.remove(at);
                let is_allowed = matches!(item.body, ItemBody::ApprovalResponse { approved: true, .. });
                let how = if is_allowed {
                    CallEnd::Completed
                } else {
                    CallEnd::Failed
                };
                changed(&mut call, &mut out, |call| call.end(how, ""));
            }
        }
        out
    }

    /// Shows a question of a subagent, unless it is already shown.
    pub(crate) fn asked_by_subagent(&mut self, approval: &Approval) -> Vec<SessionUpdate> {
        let mut out = Vec::new();
        let key = key(&approval.id);
        if self.questions.iter().all(|call| call.key != key) {
            let title = format!("Subagent: {}", approval.scope.operation);
            let call = Call::new(approval.turn, &key, SUBAGENT).titled(&title);
            self.push_question(call, &mut out);
        }
        out
    }

    /// Whether the client knows the question of a subagent.
    pub(crate) fn knows_question(&self, approval: &ApprovalId) -> bool {
        let key = key(approval);
        self.questions.iter().any(|call| call.key == key)
    }
}

/// Returns the id of the call that stands for a subagent's question, inside its Turn.
pub(crate) fn key(approval: &ApprovalId) -> String {
    format!("{SUBAGENT}_{approval}")
}
