//! Which steps somebody still works at: a call that runs, or the task that closes one that was dropped.
//!
//! An undoing waits for those of its Turn. In memory only, bounded by the calls there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The names of steps that are worked at. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Alive(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    names: Mutex<BTreeSet<String>>,
    fewer: Notify,
}

/// A step that is worked at, as long as the value lives.
#[derive(Debug)]
pub(super) struct Worked {
    alive: Alive,
    name: String,
}

impl Alive {
    /// Notes that a step is worked at.
    pub(super) fn work_at(&self, name: &str) -> Worked {
        self.0.names.lock().insert(name.to_owned());
        Worked {
            alive: self.clone(),
            name: name.to_owned(),
        }
    }

    /// Whether somebody works at a step.
    pub(super) fn is_worked_at(&self, name: &str) -> bool {
        self.0.names.lock().contains(name)
    }

    /// Waits until nobody works at a step whose name begins so.
    ///
    /// # Cancel safety
    /// Waiting changes nothing.
    pub(super) async fn until_nobody_works_at(&self, beginning: &str) {
        loop {
            let fewer = self.0.fewer.notified();
            if !self.0.names.lock().iter().any(|name| name.starts_with(beginning)) {
                return;
            }
            fewer.await;
        }
    }
}

impl Drop for Worked {
    fn drop(&mut self) {
        self.alive.0.names.lock().remove(&self.name);
        self.alive.0.fewer.notify_waiters();
    }
}
