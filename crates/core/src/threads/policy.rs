//! The approval policy of a subagent: never freer than the present policies of its parents.
//!
//! So a stricter policy of a Thread applies to its subagents at once. The policy of a live parent comes from its handle, that
//! of another from the store; no owner waits for another.

use bobbin_model::{ApprovalPolicy, ThreadId, ThreadState};

use super::Threads;

impl Threads {
    /// Returns the approval policy of a Thread, no freer than those of its parents.
    pub(crate) async fn policy_in_tree(&self, state: &ThreadState) -> ApprovalPolicy {
        let source = state.header.source.sub_agent();
        self.strictest_policy(self.policy_of(state), source.map(|source| source.parent.clone()))
            .await
    }

    /// Returns the strictest policy of `own`, the Thread `parent` and all parents of that.
    pub async fn strictest_policy(&self, own: ApprovalPolicy, parent: Option<ThreadId>) -> ApprovalPolicy {
        let (mut policy, mut next) = (own, parent);
        // The tree's depth is bounded, and no policy is stricter than `Interrupt`.
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
                    // The parent is being deleted, and this Thread with it.
                    Ok(None) => (ApprovalPolicy::Default, None),
                    Err(error) => {
                        // If the policy is unknown, users are asked.
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
