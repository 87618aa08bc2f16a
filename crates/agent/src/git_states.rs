//! The state of the repository, as each Thread's model first got it in this run of the server.
//!
//! It stays the same for a Thread: with another text in the instructions, a provider would have to read the whole
//! conversation again. Later states the model asks of git. Bounded by [`MAX_THREADS`]; the least recently used goes.

use std::path::Path;
use std::sync::Arc;

use bobbin_model::ThreadId;
use hashlink::LruCache;
use parking_lot::Mutex;

use super::git::Git;

/// Most Threads whose state is cached.
const MAX_THREADS: usize = 256;

/// Asks git, once for each Thread.
pub(super) struct GitStates {
    git: Git,
    known: Mutex<LruCache<ThreadId, Option<Arc<str>>>>,
}

impl GitStates {
    pub(super) fn new(git: Git) -> Self {
        Self {
            git,
            known: Mutex::new(LruCache::new(MAX_THREADS)),
        }
    }

    /// Returns the state for a Thread, as text for a model.
    pub(super) async fn of(&self, thread: &ThreadId, root: &Path) -> Option<Arc<str>> {
        if let Some(known) = self.known.lock().get(thread) {
            return known.clone();
        }
        let state = self.git.state(root).await.map(Arc::from);
        self.known.lock().insert(thread.clone(), state.clone());
        state
    }
}
