//! The requests of a client that a model writes for outside of any chat (21.7).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Most that run at once for one client.
const MAX_RUNNING: usize = 4;

/// The request that runs under a name. A client has one completion at a time, and one rewrite for each id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum WritingName {
    Completion,
    Rewrite(String),
}

/// The running requests of a client, by name.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<HashMap<WritingName, Arc<CancellationToken>>>);

/// A running request. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Writing {
    running: Arc<Running>,
    name: WritingName,
    token: Arc<CancellationToken>,
}

impl Running {
    /// Starts a request and cancels the one with its name. Returns `None` if too many others run.
    pub(crate) fn start(self: &Arc<Self>, name: WritingName) -> Option<Writing> {
        let mut all = self.0.lock();
        if let Some(before) = all.remove(&name) {
            before.cancel();
        }
        if all.len() >= MAX_RUNNING {
            return None;
        }
        let token = Arc::<CancellationToken>::default();
        all.insert(name.clone(), token.clone());
        let running = self.clone();
        Some(Writing { running, name, token })
    }
}

impl Writing {
    /// Returns once a newer request with the same name has started.
    pub(crate) async fn replaced(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut all = self.running.0.lock();
        // A newer request of the same name goes on.
        if all
            .get(&self.name)
            .is_some_and(|token| Arc::ptr_eq(token, &self.token))
        {
            all.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_newer_request_ends_the_one_of_its_name_and_others_are_bounded() {
        let running = Arc::<Running>::default();
        let rewrite = |id: u32| WritingName::Rewrite(id.to_string());
        let first = running.start(WritingName::Completion).unwrap();
        let second = running.start(WritingName::Completion).unwrap();
        assert!(first.replaced().now_or_never().is_some() && second.replaced().now_or_never().is_none());
        // The end of the first one is not that of the second one.
        drop(first);
        let rewrites: Vec<_> = (0..3).map(|id| running.start(rewrite(id)).unwrap()).collect();
        assert!(running.start(rewrite(3)).is_none());
        let again = running.start(rewrite(2)).unwrap();
        assert!(rewrites[2].replaced().now_or_never().is_some());
        drop((rewrites, again, second));
        assert!(running.0.lock().is_empty());
    }
}
