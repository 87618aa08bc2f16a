//! What clients see of the tree of Threads, and do to it (AppServer protocol 02 §3, 05 §10.2).

use std::sync::Arc;

use bobbin_model::{Approval, Refusal, ThreadId, ThreadState};
use bobbin_store::{Closed, ThreadSummary};

use super::MAX_CHILDREN;
use super::follow::answer;
use crate::{Command, CoreError, Hub, Reply, ThreadHandle};

impl Hub {
    /// Lists the subagents of a Thread, oldest first.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotFound`], [`CoreError::Store`].
    pub async fn children(&self, parent: &ThreadId, closed: Closed) -> Result<Vec<ThreadSummary>, CoreError> {
        let children = self.store.children(parent, closed, MAX_CHILDREN).await?;
        if children.is_empty() && self.store.load(parent).await?.is_none() {
            return Err(Refusal::ThreadNotFound(parent.clone()).into());
        }
        Ok(children)
    }

    /// Reads a Thread as it is on disk, without making it live; `None` when it is gone.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn stored(&self, id: &ThreadId) -> Result<Option<ThreadState>, CoreError> {
        Ok(self.store.load(id).await?.map(|loaded| loaded.state))
    }

    /// Does to every subagent below a Thread what is about to be done to that Thread, the lowest first. With
    /// [`Beforehand::Stop`] a Turn that runs at the top is stopped before, so that it starts no more of them.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotFound`]; [`Refusal::Invalid`] when that Thread is a subagent itself; what one of them
    /// answered: those before it are done, and doing it again does the rest.
    pub async fn below(
        self: &Arc<Self>,
        top: &ThreadId,
        beforehand: Beforehand,
        command: impl Fn(Reply<()>) -> Command + Send + Sync,
    ) -> Result<(), CoreError> {
        let handle = self.thread(top).await?;
        if let Some(root) = handle.above() {
            return Err(Refusal::Invalid(format!(
                "Thread {top} is a subagent: it is archived, unarchived and deleted with thread {root}."
            ))
            .into());
        }
        let below = self.store.descendants(top).await?;
        if below.is_empty() {
            return Ok(());
        }
        if beforehand == Beforehand::Stop {
            answer(&handle, |reply| Command::Stop { reply }).await?;
        }
        for id in below {
            let child = match self.thread(&id).await {
                Ok(child) => child,
                // Somebody else did it.
                Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => continue,
                Err(error) => return Err(error),
            };
            let done = answer(&child, |reply| Command::WithParent(Box::new(command(reply)))).await;
            match done {
                Ok(()) | Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns what the live subagents below a Thread ask people now.
    pub async fn questions_below(self: &Arc<Self>, top: &ThreadId) -> Vec<(Arc<ThreadHandle>, Approval)> {
        let mut open = Vec::new();
        for handle in self.asking_below(top) {
            match self.snapshot(&handle).await {
                Ok(snapshot) => {
                    let approvals = snapshot.state.approvals().iter();
                    open.extend(approvals.map(|approval| (handle.clone(), approval.clone())));
                }
                Err(error) => tracing::debug!(thread = %handle.id(), %error, "open approvals are not known"),
            }
        }
        open
    }
}

/// What is done before the subagents of a Thread are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beforehand {
    /// Its Turn is stopped.
    Stop,
    /// Nothing.
    Nothing,
}
