//! Operations of clients on the tree of Threads (AppServer protocol 02 §3, 05 §10.2).

use std::sync::Arc;

use bobbin_model::state::StatusChange;
use bobbin_model::{Approval, Refusal, ThreadId, ThreadState, ThreadStatus};
use bobbin_store::{Closed, ThreadSummary};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::Threads;
use crate::settings::MAX_CHILDREN;
use crate::{Command, CoreError, Reply, ThreadHandle, Waker};

impl Threads {
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

    /// Checks that one more subagent of a Thread may be open. A subagent that is open already needs no room.
    ///
    /// # Errors
    /// [`Refusal::NotNow`], [`CoreError::Store`].
    pub async fn check_room_for_child(&self, parent: &ThreadId, child: &ThreadId) -> Result<(), CoreError> {
        let most = self.settings.sub_agents.open;
        let open = self.store.children(parent, Closed::LeftOut, MAX_CHILDREN).await?;
        if open.len() < most || open.iter().any(|other| other.header.id == *child) {
            return Ok(());
        }
        Err(Refusal::NotNow(format!(
            "{most} subagents of {parent} are open, which is as many as there may be; close one first"
        ))
        .into())
    }

    /// Reads a Thread from disk, without making it live; `None` if it does not exist.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn stored(&self, id: &ThreadId) -> Result<Option<ThreadState>, CoreError> {
        Ok(self.store.load(id).await?.map(|loaded| loaded.state))
    }

    /// Applies a command for a root to every subagent of its tree first, children before parents. With [`Beforehand::Stop`],
    /// the root's running Turn is stopped before and waited for, so that it starts no more subagents.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotFound`]; [`Refusal::Invalid`] if `top` is itself a subagent and its root exists; the error of a
    /// subagent. The subagents before that one are done, and a repeat does the rest.
    pub async fn for_descendants(
        self: &Arc<Self>,
        top: &ThreadId,
        beforehand: Beforehand,
        command: impl Fn(Reply<()>) -> Command + Send + Sync,
    ) -> Result<(), CoreError> {
        let handle = self.thread(top).await?;
        if let Some(root) = handle.root()
            && self.store.load(root).await?.is_some()
        {
            return Err(Refusal::Invalid(format!(
                "Thread {top} is a subagent: it is archived, unarchived and deleted with thread {root}."
            ))
            .into());
        }
        if beforehand == Beforehand::Stop && self.settings.sub_agents.depth > 0 {
            self.stop_turn(&handle).await?;
        }
        for id in self.store.descendants(top).await? {
            self.with_parent(&id, &command).await?;
        }
        Ok(())
    }

    /// Whether a Thread has subagents, so that [`Threads::for_descendants`] takes some time. A subagent that starts
    /// meanwhile is handled later by [`Threads::follow_parent`]. A read error counts as no; the next operation reports it.
    pub async fn has_descendants(&self, top: &ThreadId) -> bool {
        let found = self.store.descendants(top).await;
        found.is_ok_and(|found| !found.is_empty())
    }

    /// Stops the running Turn and waits until it is over, so that it starts no more subagents.
    async fn stop_turn(self: &Arc<Self>, handle: &ThreadHandle) -> Result<(), CoreError> {
        let Some(turn) = self.snapshot(handle).await?.state.live_turn() else {
            return Ok(());
        };
        handle.ask(|reply| Command::Stop { reply }).await?;
        let waker = Waker::default();
        handle.log().watch(&waker);
        let over = async {
            while self.snapshot(handle).await?.state.live_turn() == Some(turn) {
                waker.woken().await;
            }
            Ok(())
        };
        // The owner aborts the Turn before this time. A subagent that still starts is handled later.
        let over = tokio::time::timeout(self.settings.cancel_grace * 4, over).await;
        handle.log().unwatch(&waker);
        over.unwrap_or(Ok(()))
    }

    /// Applies a command for the parent to its subagent.
    async fn with_parent(
        self: &Arc<Self>,
        id: &ThreadId,
        command: impl FnOnce(Reply<()>) -> Command,
    ) -> Result<(), CoreError> {
        let done = async {
            let child = self.thread(id).await?;
            child
                .ask(|reply| Command::WithParent(Box::new(command(reply))))
                .await
        };
        match done.await {
            // Another request has deleted it.
            Ok(()) | Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes subagents that started while their parent was being deleted, since no client could do so later.
    pub(crate) fn delete_orphans(self: Arc<Self>, of: ThreadId) -> BoxFuture<'static, ()> {
        async move {
            let deleted = async {
                for id in self.store.descendants(&of).await? {
                    self.with_parent(&id, |reply| Command::Delete { reply }).await?;
                }
                Ok::<_, CoreError>(())
            };
            match deleted.await {
                Ok(()) | Err(CoreError::Stopping) => {}
                Err(error) => {
                    tracing::error!(thread = %of, %error, "a deleted thread leaves subagents; each can be deleted by itself");
                }
            }
        }
        .boxed()
    }

    /// Applies to a subagent what happened to its parent while the subagent started.
    pub async fn follow_parent(self: &Arc<Self>, parent: &ThreadId, id: &ThreadId) {
        let done = async {
            match self.stored(parent).await? {
                None => self.with_parent(id, |reply| Command::Delete { reply }).await,
                Some(parent) if parent.header.status == ThreadStatus::Archived => {
                    let change = StatusChange::Archive;
                    self.with_parent(id, |reply| Command::Status { change, reply })
                        .await
                }
                Some(_) => Ok(()),
            }
        };
        match done.await {
            Ok(()) | Err(CoreError::Stopping) => {}
            Err(error) => {
                tracing::error!(thread = %id, %error, "a subagent is not put away with the thread above");
            }
        }
    }

    /// Returns the open Approvals of a tree's live subagents.
    pub async fn questions_of_descendants(
        self: &Arc<Self>,
        top: &ThreadId,
    ) -> Vec<(Arc<ThreadHandle>, Approval)> {
        let mut open = Vec::new();
        for handle in self.descendants_that_ask(top) {
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

/// Action before the subagents of a Thread are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beforehand {
    /// Stop its Turn.
    Stop,
    /// None.
    Nothing,
}
