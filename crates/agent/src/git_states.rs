//! The state of the repository, as each Thread's model first got it in this run of the server.
//!
//! It stays the same for a Thread: with another text in the instructions, a provider would have to read the whole
//! conversation again. Later states the model asks of git. Bounded by [`MAX_THREADS`]; the least recently used goes.
//!
//! A run of git starts several programs, so only repositories are asked, one run at a time. Threads that wait for a
//! run share the next one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_model::ThreadId;
use hashlink::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use bobbin_tools::Git;

use super::git::state_of;

/// Most Threads whose state is cached.
const MAX_THREADS: usize = 256;

/// Asks git, once for each Thread.
pub(super) struct GitStates {
    git: Git,
    known: Mutex<LruCache<ThreadId, Option<Arc<str>>>>,
    newest: tokio::sync::Mutex<Option<Answer>>,
}

/// The outcome of one run of git.
struct Answer {
    started_at: Instant,
    root: PathBuf,
    state: Option<Arc<str>>,
}

impl GitStates {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            known: Mutex::new(LruCache::new(MAX_THREADS)),
            newest: tokio::sync::Mutex::new(None),
        }
    }

    /// Returns the state for a Thread, as text for a model.
    pub(super) async fn of(&self, thread: &ThreadId, root: &Path) -> Option<Arc<str>> {
        if let Some(known) = self.known.lock().get(thread) {
            return known.clone();
        }
        let called_at = Instant::now();
        let state = if is_in_repository(root).await {
            self.since(called_at, root).await
        } else {
            None
        };
        self.known.lock().insert(thread.clone(), state.clone());
        state
    }

    /// Returns the state as a run of git shows it that started at `earliest` or later.
    async fn since(&self, earliest: Instant, root: &Path) -> Option<Arc<str>> {
        let mut newest = self.newest.lock().await;
        if let Some(answer) = &*newest
            && answer.started_at >= earliest
            && answer.root == root
        {
            return answer.state.clone();
        }
        let started_at = Instant::now();
        let state: Option<Arc<str>> = state_of(&self.git, root).await.map(Arc::from);
        *newest = Some(Answer {
            started_at,
            root: root.to_owned(),
            state: state.clone(),
        });
        state
    }
}

/// Whether git would find a repository: `.git` lies in the folder or in one of its parents.
async fn is_in_repository(root: &Path) -> bool {
    let root = root.to_owned();
    let looked = tokio::task::spawn_blocking(move || {
        root.ancestors()
            .any(|folder| folder.join(".git").symlink_metadata().is_ok())
    });
    looked.await.unwrap_or(false)
}

#[cfg(test)]
#[path = "git_states_tests.rs"]
mod tests;
