//! What clients see of the tree of Threads, and do to it (AppServer protocol 02 §3, 05 §10.2).

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

    /// Whether one more subagent of a Thread may be open; one that is takes no room.
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

    /// Reads a Thread as it is on disk, without making it live; `None` when it is gone.
    ///
    /// # Errors
    /// [`CoreError::Store`].
    pub async fn stored(&self, id: &ThreadId) -> Result<Option<ThreadState>, CoreError> {
        Ok(self.store.load(id).await?.map(|loaded| loaded.state))
    }

    /// Does to every subagent of a tree what is about to be done to its root, children before parents. With
    /// [`Beforehand::Stop`] a Turn that runs at the top is stopped before, and is over, so that it starts no more of them.
    ///
    /// # Errors
    /// [`Refusal::ThreadNotFound`]; [`Refusal::Invalid`] when that Thread is a subagent itself and its root is there; what one of them
    /// answered: those before it are done, and doing it again does the rest.
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

    /// Whether a Thread has subagents, for which [`Threads::for_descendants`] takes its time. One that begins while the
    /// Thread is put away goes the same way. What cannot be known is said by what is done next.
    pub async fn has_descendants(&self, top: &ThreadId) -> bool {
        let found = self.store.descendants(top).await;
        found.is_ok_and(|found| !found.is_empty())
    }

    /// Stops the Turn that runs and waits until it is over, so that it starts no more subagents.
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
        // The owner ends it by force before. A subagent that still starts is found by the next pass.
        let over = tokio::time::timeout(self.settings.cancel_grace * 4, over).await;
        handle.log().unwatch(&waker);
        over.unwrap_or(Ok(()))
    }

    /// Does to a subagent what is done to its parent.
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
            // Another request did it.
            Ok(()) | Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes subagents that started while their parent was being deleted: no client could do it later.
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

    /// Does to a subagent what was done to its parent while the subagent started.
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

    /// Returns the questions that the live subagents of a tree ask users now.
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

/// What is done before the subagents of a Thread are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beforehand {
    /// Its Turn is stopped.
    Stop,
    /// Nothing.
    Nothing,
}
