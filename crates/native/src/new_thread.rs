//! New Threads for features that prepare a place for them: read from params, changed, then started or forked.

use std::sync::Arc;

use bobbin_core::{ForkPoint, ThreadHandle};
use bobbin_model::state::NewThread;
use bobbin_model::{ThreadId, Worktree};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::history::types::ThreadForkParams;
use bobbin_native_wire::thread::params::{ThreadResult, ThreadStartParams};

use crate::client::Client;
use crate::errors;
use crate::groups::history::fork::{self, RequestedThread};
use crate::groups::thread::lifecycle;

/// A Thread that a client asks for, as `thread/start` or `thread/fork` would make it.
pub struct ThreadRequest {
    requested: RequestedThread,
    copy: Option<(Arc<ThreadHandle>, ForkPoint)>,
}

impl ThreadRequest {
    /// Reads the params of a new conversation.
    ///
    /// # Errors
    /// They cannot be used.
    pub async fn of_start(client: &Client, params: ThreadStartParams) -> Result<Self, RpcError> {
        Ok(Self {
            requested: lifecycle::requested(client, params).await?,
            copy: None,
        })
    }

    /// Reads the params of a copy.
    ///
    /// # Errors
    /// They cannot be used, or there is no such Thread.
    pub async fn of_fork(client: &Client, params: ThreadForkParams) -> Result<Self, RpcError> {
        let id = ThreadId::new(params.thread_id.as_str());
        let from = client
            .threads()
            .thread(&id)
            .await
            .map_err(|error| errors::of(&error))?;
        let (point, changes) = fork::read(client, params)?;
        let requested = fork::requested(client, &from, changes).await;
        Ok(Self {
            requested: requested.map_err(|error| errors::of(&error))?,
            copy: Some((from, point)),
        })
    }

    /// Returns the Thread's values.
    pub fn thread(&self) -> &NewThread {
        &self.requested.0
    }

    /// Makes the Thread work in a worktree.
    pub fn work_in(&mut self, worktree: Worktree) {
        let config = self.requested.0.config.get_or_insert_default();
        config.workspace_override = None;
        config.worktree = Some(Box::new(worktree));
    }

    /// Starts the Thread.
    ///
    /// # Errors
    /// As `thread/start` and `thread/fork`.
    pub async fn start(self, client: &Client) -> Result<ThreadResult, RpcError> {
        if let Some((from, point)) = self.copy {
            return fork::fork_as(client, &from, point, self.requested).await;
        }
        let (request, tools) = self.requested;
        let (done, started) = tokio::sync::oneshot::channel();
        // The caller may have left; the Thread exists anyway.
        let reply = Box::new(move |started| drop(done.send(started)));
        client
            .threads()
            .start_thread_with(request, tools, None, reply)
            .await;
        match started.await {
            Ok(Ok(snapshot)) => Ok(fork::served(client, &snapshot).await),
            Ok(Err(error)) => Err(errors::of(&error)),
            Err(_) => Err(errors::of(&bobbin_core::CoreError::Stopping)),
        }
    }
}
