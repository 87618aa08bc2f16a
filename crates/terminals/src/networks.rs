//! The networks of Threads: a command reaches the loopback servers of other commands of its Thread.
//!
//! The Thread's first command with a network apart from the machine's makes it. The network stays for later commands, also
//! while none runs; then it costs a descriptor. A network beyond [`MOST`] replaces one in which nothing runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bobbin_children::{Children, Network, ProcessSpec};
use bobbin_model::ThreadId;
use parking_lot::Mutex;
use tokio::sync::OnceCell;

/// Most networks that stay although nothing runs in them (guess: more Threads than work at a time).
const MOST: usize = 64;

/// A Thread's network, once it is made.
pub(crate) type Shared = Arc<OnceCell<Network>>;

/// The networks of a workspace's Threads.
#[derive(Debug, Default)]
pub(crate) struct Networks(Mutex<BTreeMap<ThreadId, Shared>>);

impl Networks {
    /// Puts a command into its Thread's network, if its plan gives it one apart from the machine's. The second value
    /// marks the network as used and lives as long as the command. If commands cannot share a network, each has its
    /// own.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind; the next command makes the network.
    pub(crate) async fn join(
        &self,
        children: &Children,
        thread: &ThreadId,
        spec: ProcessSpec,
    ) -> (ProcessSpec, Option<Shared>) {
        let apart = spec
            .confinement
            .as_ref()
            .filter(|confinement| confinement.plan.is_apart());
        let Some(confinement) = apart else {
            return (spec, None);
        };
        let shared = self.of(thread);
        let made = shared.get_or_try_init(|| children.network(confinement)).await;
        let spec = match made.cloned() {
            Ok(network) => spec.in_network(network),
            Err(error) => {
                tracing::debug!(%error, "commands of a thread cannot share a network");
                spec
            }
        };
        (spec, Some(shared))
    }

    fn of(&self, thread: &ThreadId) -> Shared {
        let mut networks = self.0.lock();
        if let Some(shared) = networks.get(thread) {
            return shared.clone();
        }
        if networks.len() >= MOST {
            networks.retain(|_, shared| Arc::strong_count(shared) > 1);
        }
        networks.entry(thread.clone()).or_default().clone()
    }

    /// Returns the network of a Thread, if a command has made it. It stays at least as long as the value.
    pub(crate) fn existing(&self, thread: &ThreadId) -> Option<Shared> {
        let shared = self.0.lock().get(thread).cloned();
        shared.filter(|shared| shared.initialized())
    }

    /// Forgets a Thread's network, which ends with the last process in it.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        self.0.lock().remove(thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_in_which_nothing_runs_make_room() {
        let networks = Networks::default();
        let thread = |number: usize| ThreadId::new(format!("thread_{number}"));
        let used = networks.of(&thread(0));
        for number in 1..MOST {
            networks.of(&thread(number));
        }
        assert_eq!(networks.0.lock().len(), MOST);
        networks.of(&thread(MOST));
        assert_eq!(networks.0.lock().len(), 2);
        assert!(Arc::ptr_eq(&used, &networks.of(&thread(0))));
        networks.forget(&thread(0));
        assert!(!Arc::ptr_eq(&used, &networks.of(&thread(0))));
    }
}
