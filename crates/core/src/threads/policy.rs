//! How the Approvals of a subagent are decided: never more freely than those of its parents, as their policies are now.
//!
//! What a user takes back from a Thread is taken back from its subagents at once. The policy of a live parent is read from
//! its handle, that of any other from the store; no owner waits for another.

use bobbin_model::{ApprovalPolicy, ThreadId, ThreadState};

use super::Threads;

impl Threads {
    /// Returns the approval policy of a Thread, no freer than those of its parents.
    pub(crate) async fn policy_in_tree(&self, state: &ThreadState) -> ApprovalPolicy {
        let source = state.header.source.sub_agent();
        self.strictest_policy(self.policy_of(state), source.map(|source| source.parent.clone()))
            .await
    }

    /// Returns the strictest of a policy, that of a Thread, and those of its parents.
    pub async fn strictest_policy(&self, own: ApprovalPolicy, parent: Option<ThreadId>) -> ApprovalPolicy {
        let (mut policy, mut next) = (own, parent);
        // A tree is no deeper than the depth that is allowed, and nothing is stricter than this.
        while let Some(id) = next.take()
            && policy != ApprovalPolicy::Interrupt
        {
            let (theirs, parent) = match self.live_policy(&id) {
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
                        tracing::warn!(thread = %id, %error, "the approval policy of a subagent's parent cannot be read");
                        (ApprovalPolicy::Default, None)
                    }
                },
            };
            policy = policy.stricter(theirs);
            next = parent;
        }
        policy
    }
}
