//! How the Approvals of a subagent are decided: never more freely than those of any Thread above, as these stand now.
//!
//! What a person takes back from a Thread is taken back from its subagents at once. Threads above that are live are asked
//! through what their owners publish, others are read from the store; no owner waits for another.

use bobbin_model::{ApprovalPolicy, ThreadId, ThreadState};

use super::Hub;

impl Hub {
    /// Returns how the Approvals of a Thread are decided, those above it taken into account.
    pub(crate) async fn policy_in_tree(&self, state: &ThreadState) -> ApprovalPolicy {
        let source = state.header.source.sub_agent();
        self.policy_below(self.policy_of(state), source.map(|source| source.parent.clone()))
            .await
    }

    /// Returns the strictest of a policy and those of a Thread and all above it.
    pub async fn policy_below(&self, own: ApprovalPolicy, above: Option<ThreadId>) -> ApprovalPolicy {
        let (mut policy, mut next) = (own, above);
        // A tree is no deeper than the depth that is allowed, and nothing is stricter than this.
        while let Some(id) = next.take()
            && policy != ApprovalPolicy::Interrupt
        {
            let (above, parent) = match self.live_policy(&id) {
                Some(found) => found,
                None => match self.stored(&id).await {
                    Ok(Some(state)) => {
                        let source = state.header.source.sub_agent();
                        (self.policy_of(&state), source.map(|source| source.parent.clone()))
                    }
                    // It is being deleted, and this with it.
                    Ok(None) => (ApprovalPolicy::Default, None),
                    Err(error) => {
                        // What is not known is asked.
                        tracing::warn!(thread = %id, %error, "the approval policy above a subagent cannot be read");
                        (ApprovalPolicy::Default, None)
                    }
                },
            };
            policy = policy.stricter(above);
            next = parent;
        }
        policy
    }
}
