//! The lease of a workspace: whether this process may still write, show and start anything for it.

use std::future::pending;

use tokio::sync::watch;
use tokio::time::Instant;

/// Whether a store's process is the holder of its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holding {
    /// It is. No other process can become the holder before this time, which each renewal moves.
    Until(Instant),
    /// Not for certain: the lease was not renewed in time. Writes fail, nothing may be shown or started. Once the lease
    /// is renewed, all goes on.
    Unsure,
    /// It is no longer: another process is. The process has to end.
    Lost,
}

/// A view of a workspace's lease. Clones see the same lease.
#[derive(Debug, Clone)]
pub struct Lease(watch::Receiver<Holding>);

impl Lease {
    /// Makes a view of the lease that the sender describes. After the sender is dropped, nothing changes any more.
    pub fn new(states: watch::Receiver<Holding>) -> Self {
        Self(states)
    }

    /// Returns the present state.
    pub fn now(&self) -> Holding {
        *self.0.borrow()
    }

    /// Waits for the next state that this clone has not seen, and returns it.
    ///
    /// # Cancel safety
    /// Cancel safe: the next call sees the change.
    pub async fn changed(&mut self) -> Holding {
        if self.0.changed().await.is_err() {
            return pending().await;
        }
        *self.0.borrow_and_update()
    }

    /// Waits until it is not certain that the process is the holder.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn lapsed(&mut self) {
        let lapsed = |holding: &Holding| !matches!(holding, Holding::Until(_));
        if self.0.wait_for(lapsed).await.is_err() {
            pending::<()>().await;
        }
    }
}
