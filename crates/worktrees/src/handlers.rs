//! The handlers. Making and removing a worktree are tasks that outlive their connection; looks end with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_core::{CoreError, ListFilter, Threads};
use bobbin_model::{Refusal, ThreadId, TurnFeatures, Worktree};
use bobbin_native::client::{Client, refuse};
use bobbin_native::errors;
use bobbin_native::new_thread::ThreadRequest;
use bobbin_native_wire::history::types::ThreadForkParams;
use bobbin_native_wire::thread::config::ThreadConfiguration;
use bobbin_native_wire::thread::params::{ThreadResult, ThreadStartParams};
use bobbin_native_wire::{RpcError, Timestamp};
use bobbin_peer::Responder;

use crate::Worktrees;
use crate::records::WorktreeRecord;
use crate::repository::{NewWorktree, Repository, found};
use crate::types::{
    WorktreeApplyParams, WorktreeApplyResult, WorktreeCreateAndForkParams, WorktreeCreateAndStartParams,
    WorktreeCreateResult, WorktreeListParams, WorktreeListResult, WorktreeRemoveParams, WorktreeRemoveResult,
    WorktreeStatus, WorktreeStatusParams, WorktreeStatusResult,
};

/// Most worktrees of a workspace: each is a copy of all files.
const MAX_WORKTREES: usize = 64;
/// The base of a worktree whose client names none.
const HEAD: &str = "HEAD";

/// The client's wishes for a worktree.
struct Wishes {
    branch: Option<String>,
    base: Option<String>,
    copy: bool,
    /// The Thread whose folder is copied; `None` for the workspace.
    source: Option<ThreadId>,
}

pub(crate) async fn create_and_start(
    client: &Client,
    worktrees: &Worktrees,
    params: WorktreeCreateAndStartParams,
    responder: Responder,
) {
    let wishes = match wishes(params.path.as_ref(), params.config.as_ref()) {
        Ok(()) => Wishes {
            branch: params.branch_name,
            base: params.base_ref,
            copy: params.copy_dirty_changes.unwrap_or(true),
            source: None,
        },
        Err(error) => return refuse(responder, error),
    };
    let params = ThreadStartParams {
        identity: params.identity,
        config: params.config,
        history_mode: params.history_mode,
        display_name: params.display_name,
        dynamic_tools: params.dynamic_tools,
        client_request_id: None,
    };
    let request = ThreadRequest::of_start(client, params).await;
    create(client, worktrees, request, wishes, responder);
}

pub(crate) async fn create_and_fork(
    client: &Client,
    worktrees: &Worktrees,
    params: WorktreeCreateAndForkParams,
    responder: Responder,
) {
    let wishes = match wishes(params.path.as_ref(), params.config.as_ref()) {
        Ok(()) => Wishes {
            branch: params.branch_name,
            base: params.base_ref,
            copy: params.copy_dirty_changes.unwrap_or(true),
            source: Some(ThreadId::new(params.source_thread_id.as_str())),
        },
        Err(error) => return refuse(responder, error),
    };
    let params = ThreadForkParams {
        thread_id: params.source_thread_id,
        turn_id: None,
        fork_point: params.fork_point,
        display_name: params.display_name,
        config: params.config,
        identity: params.identity,
        dynamic_tools: params.dynamic_tools,
        ephemeral: None,
        client_request_id: None,
    };
    let request = ThreadRequest::of_fork(client, params).await;
    create(client, worktrees, request, wishes, responder);
}

/// Refuses members that a client may not set here.
fn wishes(path: Option<&String>, config: Option<&ThreadConfiguration>) -> Result<(), RpcError> {
    if path.is_some() {
        return Err(RpcError::invalid_params(
            "'path' cannot be chosen: a worktree lies in the server's state directory.",
        ));
    }
    if config.is_some_and(|config| config.workspace_override.is_some()) {
        return Err(RpcError::invalid_params(
            "'config.workspaceOverride' cannot be set: the thread works in its worktree.",
        ));
    }
    Ok(())
}

/// Makes a worktree and its Thread in a task, and answers.
fn create(
    client: &Client,
    worktrees: &Worktrees,
    request: Result<ThreadRequest, RpcError>,
    wishes: Wishes,
    responder: Responder,
) {
    let request = match request {
        Ok(request) => request,
        Err(error) => return refuse(responder, error),
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (of, worktrees) = (client.clone(), worktrees.clone());
    client.threads().own(async move {
        let stopping = of.threads().stopping().clone();
        let made = worktrees.made(&of, request, wishes);
        tokio::select! {
            biased;
            // What is there of the worktree is in the list.
            () = stopping.cancelled() => first.err(errors::of(&CoreError::Stopping)),
            made = made => match made {
                Ok(made) => first.ok(&made),
                Err(error) => first.err(error),
            },
        }
    });
}

pub(crate) async fn list(
    client: &Client,
    worktrees: &Worktrees,
    params: WorktreeListParams,
    responder: Responder,
) {
    let (of, worktrees) = (client.clone(), worktrees.clone());
    client.answer_large(responder, async move |responder| {
        let cancelled = responder.token().clone();
        tokio::select! {
            biased;
            () = cancelled.cancelled() => drop(responder),
            listed = worktrees.listed(&of, params) => match listed {
                Ok(data) => responder.ok(WorktreeListResult { data }),
                Err(error) => refuse(responder, errors::of(&error)),
            },
        }
    });
}

pub(crate) async fn status(
    client: &Client,
    worktrees: &Worktrees,
    params: WorktreeStatusParams,
    responder: Responder,
) {
    let (of, worktrees) = (client.clone(), worktrees.clone());
    client.answer_large(responder, async move |responder| {
        let record = match worktrees.of_thread(of.threads(), &params.thread_id).await {
            Ok(record) => record,
            Err(error) => return refuse(responder, error),
        };
        let cancelled = responder.token().clone();
        tokio::select! {
            biased;
            () = cancelled.cancelled() => drop(responder),
            status = worktrees.status(record) => responder.ok(WorktreeStatusResult { bare: status.clone(), status }),
        }
    });
}

pub(crate) async fn apply(
    client: &Client,
    worktrees: &Worktrees,
    params: WorktreeApplyParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (of, worktrees) = (client.clone(), worktrees.clone());
    client.threads().own(async move {
        match worktrees.applied(of.threads(), params).await {
            Ok(result) => first.ok(&result),
            Err(error) => first.err(error),
        }
    });
}

pub(crate) async fn remove(
    client: &Client,
    worktrees: &Worktrees,
    params: WorktreeRemoveParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let (of, worktrees) = (client.clone(), worktrees.clone());
    client.threads().own(async move {
        match worktrees.removed(of.threads(), params).await {
            Ok(result) => first.ok(&result),
            Err(error) => first.err(error),
        }
    });
}

impl Worktrees {
    /// Makes a worktree and its Thread. If the Thread cannot be made, the worktree is removed again.
    async fn made(
        &self,
        client: &Client,
        mut request: ThreadRequest,
        wishes: Wishes,
    ) -> Result<WorktreeCreateResult, RpcError> {
        let repository = self.usable_repository()?;
        let _changing = self.changes.lock().await;
        if self.all().await.len() >= MAX_WORKTREES {
            let why = format!("There are {MAX_WORKTREES} worktrees already; remove one first.");
            return Err(RpcError::invalid_request(why));
        }
        let source = self.source(client.threads(), wishes.source.as_ref()).await?;
        let thread_id = request.thread().id.to_string();
        let id = thread_id.trim_start_matches("thread_").to_owned();
        let path = self.records.0.join(&id);
        let branch = wishes.branch.unwrap_or_else(|| format!("bobbin/{id}"));
        let base_ref = wishes.base.unwrap_or_else(|| HEAD.to_owned());
        let is_own = source.starts_with(&self.workspace);
        let folder = if is_own { &repository.top } else { &source };
        let base_head = repository.resolve(&self.git, folder, &base_ref, &branch).await;
        let base_head = base_head.map_err(RpcError::invalid_params)?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut record = WorktreeRecord {
            worktree: Worktree {
                source_thread_id: wishes
                    .source
                    .map_or_else(|| thread_id.clone(), |id| id.to_string()),
                workspace_path: text(&folder_in(&path, &repository.prefix)),
                source_workspace_path: text(&self.workspace),
                path: text(&path),
                branch_name: branch,
                base_ref,
                head: base_head.clone(),
                base_head,
                created_at: Timestamp(client.threads().clock().now().0).to_string(),
                dirty_handoff: None,
                id,
            },
            thread_id,
        };
        self.write(&record).await?;
        let new = NewWorktree {
            path: &path,
            source: &source,
            branch: &record.worktree.branch_name,
            base: &record.worktree.base_head,
            copy: wishes.copy,
        };
        let started = match repository.add(&self.git, &self.records.0, &new).await {
            Ok(handoff) => {
                record.worktree.dirty_handoff = Some(handoff);
                match self.write(&record).await {
                    Ok(()) => {
                        request.work_in(record.worktree.clone());
                        request.start(client).await
                    }
                    Err(error) => Err(error),
                }
            }
            Err(why) => Err(RpcError::invalid_request(format!(
                "The worktree cannot be made: {why}"
            ))),
        };
        match started {
            Ok(ThreadResult { thread, .. }) => Ok(WorktreeCreateResult {
                thread,
                worktree: record.worktree,
            }),
            Err(error) => {
                if let Err(why) = self.discard(&repository, &record.worktree).await {
                    tracing::warn!(
                        path = record.worktree.path,
                        why,
                        "a worktree without a thread is left"
                    );
                }
                Err(error)
            }
        }
    }

    /// Returns the folder whose changes a new worktree gets.
    async fn source(&self, threads: &Arc<Threads>, of: Option<&ThreadId>) -> Result<PathBuf, RpcError> {
        let Some(thread) = of else {
            return Ok(self.workspace.clone());
        };
        let state = self.stored(threads, thread).await?;
        let state = state.ok_or_else(|| RpcError::thread_not_found(thread.as_str()))?;
        let config = state.header.config.as_ref();
        let root = threads
            .settings()
            .environment_of(config, &TurnFeatures::default())
            .root;
        if root.starts_with(&self.workspace) {
            Ok(self.workspace.clone())
        } else if root.starts_with(&self.records.0) {
            Ok(root)
        } else {
            let why = format!(
                "The thread works in {}, outside of the workspace.",
                root.display()
            );
            Err(RpcError::invalid_request(why))
        }
    }

    async fn listed(
        &self,
        client: &Client,
        params: WorktreeListParams,
    ) -> Result<Vec<WorktreeStatus>, CoreError> {
        let threads = client.threads();
        let visible = match params.identity {
            None => None,
            Some(identity) => {
                let origin_channel = Some(identity.channel_name.clone());
                let filter = ListFilter {
                    origin_channel,
                    include_archived: true,
                    ..bobbin_native::groups::thread::read::visible_to(client, identity)
                };
                let filter = bobbin_native::groups::thread::read::as_stored(threads, filter).await;
                Some(threads.list(filter).await?)
            }
        };
        let mut data = Vec::new();
        for record in self.all().await {
            let id = ThreadId::new(record.thread_id.as_str());
            let is_orphan = threads.stored(&id).await?.is_none();
            let is_visible = visible
                .as_ref()
                .is_none_or(|visible| visible.iter().any(|thread| thread.header.id == id));
            if (is_orphan && params.include_orphans == Some(true)) || (!is_orphan && is_visible) {
                data.push(self.status(record).await);
            }
        }
        Ok(data)
    }

    /// Returns the worktree that a Thread works in, or that was made for a Thread which is deleted.
    async fn of_thread(&self, threads: &Arc<Threads>, thread: &str) -> Result<WorktreeRecord, RpcError> {
        let id = ThreadId::new(thread);
        let state = self.stored(threads, &id).await?;
        let all = self.all().await;
        let config = state.as_ref().and_then(|state| state.header.config.as_ref());
        let worktree = config.and_then(|config| config.worktree.as_ref());
        let is_it = |record: &WorktreeRecord| match worktree {
            Some(worktree) => record.worktree.id == worktree.id,
            None => record.thread_id == thread,
        };
        match (all.into_iter().find(is_it), state) {
            (Some(record), _) => Ok(record),
            (None, None) => Err(RpcError::thread_not_found(thread)),
            (None, Some(_)) => Err(RpcError::invalid_params("The thread has no worktree.")),
        }
    }

    /// Looks at a worktree.
    async fn status(&self, record: WorktreeRecord) -> WorktreeStatus {
        let WorktreeRecord { thread_id, worktree } = record;
        let path = PathBuf::from(&worktree.path);
        let _look = self.looks.acquire().await;
        let exists = tokio::fs::metadata(&path).await.is_ok_and(|found| found.is_dir());
        let found = if exists {
            found(&self.git, &path, &worktree.base_head).await
        } else {
            None
        };
        let is_git_worktree = found.is_some();
        let found = found.unwrap_or_default();
        WorktreeStatus {
            thread_id,
            path: worktree.path.clone(),
            branch_name: Some(found.branch)
                .filter(|branch| !branch.is_empty())
                .unwrap_or_else(|| worktree.branch_name.clone()),
            worktree,
            exists,
            is_git_worktree,
            has_uncommitted_changes: found.is_changed,
            has_commits_ahead_of_base: found.ahead > 0,
            ahead_count: found.ahead,
            head: Some(found.head).filter(|head| !head.is_empty()),
        }
    }

    /// Makes the changes of a worktree in the workspace.
    async fn applied(
        &self,
        threads: &Arc<Threads>,
        params: WorktreeApplyParams,
    ) -> Result<WorktreeApplyResult, RpcError> {
        let repository = self.usable_repository()?;
        let _changing = self.changes.lock().await;
        let WorktreeRecord { worktree, .. } = self.of_thread(threads, &params.thread_id).await?;
        self.check_idle(threads, &worktree.id).await?;
        let path = Path::new(&worktree.path);
        let taken = repository.take(&self.git, &self.workspace, path, &worktree.base_head);
        let files = taken.await.map_err(|why| {
            RpcError::invalid_request(format!(
                "Nothing has changed in the workspace. Its files have other changes in the same places, or git cannot write them: {why}"
            ))
        })?;
        Ok(WorktreeApplyResult { files })
    }

    /// Removes a worktree.
    async fn removed(
        &self,
        threads: &Arc<Threads>,
        params: WorktreeRemoveParams,
    ) -> Result<WorktreeRemoveResult, RpcError> {
        let repository = self.usable_repository()?;
        let _changing = self.changes.lock().await;
        let record = self.of_thread(threads, &params.thread_id).await?;
        self.check_idle(threads, &record.worktree.id).await?;
        if params.force != Some(true) {
            let status = self.status(record.clone()).await;
            let why = match (status.exists, status.is_git_worktree) {
                (true, false) => Some("git cannot say what has changed in it"),
                _ if status.has_uncommitted_changes => Some("it has uncommitted changes"),
                _ if status.has_commits_ahead_of_base => Some("it has commits that its base does not have"),
                _ => None,
            };
            if let Some(why) = why {
                let why = format!("The worktree is not removed: {why}. Use 'force' to remove it.");
                return Err(RpcError::invalid_request(why).with_reason("worktreeHasChanges"));
            }
        }
        let removed = self.discard(&repository, &record.worktree).await;
        let branch_remains = removed.map_err(RpcError::invalid_request)?;
        Ok(WorktreeRemoveResult { branch_remains })
    }

    /// Checks that no Turn runs in a worktree: of its Thread, of a subagent or of a copy.
    async fn check_idle(&self, threads: &Arc<Threads>, id: &str) -> Result<(), RpcError> {
        for thread in threads.with_turn() {
            let Some(state) = self.stored(threads, thread.id()).await? else {
                continue;
            };
            let config = state.header.config.as_ref();
            let worktree = config.and_then(|config| config.worktree.as_ref());
            if let Some(turn) = state.live_turn()
                && worktree.is_some_and(|worktree| worktree.id == id)
            {
                let thread = thread.id().clone();
                return Err(errors::of(&Refusal::TurnInProgress { thread, turn }.into()));
            }
        }
        Ok(())
    }

    /// Removes a worktree with its record. Returns whether its branch remains.
    async fn discard(&self, repository: &Repository, worktree: &Worktree) -> Result<bool, String> {
        let (path, branch) = (Path::new(&worktree.path), &worktree.branch_name);
        let remains = repository
            .remove(&self.git, path, branch, &worktree.base_head)
            .await?;
        let (records, id) = (self.records.clone(), worktree.id.clone());
        drop(tokio::task::spawn_blocking(move || records.remove(&id)).await);
        Ok(remains)
    }

    fn usable_repository(&self) -> Result<Repository, RpcError> {
        self.repository().ok_or_else(|| {
            RpcError::invalid_request("The workspace is not in a git repository whose '.git' is a directory.")
        })
    }

    async fn stored(
        &self,
        threads: &Arc<Threads>,
        id: &ThreadId,
    ) -> Result<Option<bobbin_model::ThreadState>, RpcError> {
        threads.stored(id).await.map_err(|error| errors::of(&error))
    }

    async fn all(&self) -> Vec<WorktreeRecord> {
        let records = self.records.clone();
        let all = tokio::task::spawn_blocking(move || records.all()).await;
        all.unwrap_or_default()
    }

    async fn write(&self, record: &WorktreeRecord) -> Result<(), RpcError> {
        let (records, record) = (self.records.clone(), record.clone());
        match tokio::task::spawn_blocking(move || records.write(&record)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(RpcError::internal_error(why)),
            Err(error) => Err(RpcError::internal_error(error.to_string())),
        }
    }
}

/// Returns the folder of a worktree, without a slash at its end.
fn folder_in(path: &Path, prefix: &Path) -> PathBuf {
    if prefix.as_os_str().is_empty() {
        path.to_owned()
    } else {
        path.join(prefix)
    }
}
