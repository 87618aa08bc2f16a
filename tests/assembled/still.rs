//! Time that stands still while real work goes on.
//!
//! A paused clock moves on by itself as soon as the runtime has nothing to do, and a runtime that waits for a disk, a
//! socket or a process has nothing to do. Here it does not: it moves when the test says so.

use std::sync::mpsc;
use std::time::Duration;

use tokio::time::Instant;

/// How long, in real time, anything may take. Behind it the clock runs on by itself, so that what waits is seen to be late.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often others are let run before time moves on.
const YIELDS: usize = 200;

/// Holds the clock of this runtime, of one thread, still as long as it lives.
pub(crate) struct Still {
    since: Instant,
    /// Its end lets go of the clock.
    _held: mpsc::SyncSender<()>,
}

impl Still {
    /// Stops the clock.
    pub(crate) fn begin() -> Self {
        let (held, let_go) = mpsc::sync_channel::<()>(1);
        // The clock does not move on by itself while blocking work is under way.
        drop(tokio::task::spawn_blocking(move || {
            // Either way it is over.
            let _ended = let_go.recv_timeout(PATIENCE);
        }));
        tokio::time::pause();
        Self {
            since: Instant::now(),
            _held: held,
        }
    }

    /// Lets time pass, in small steps between which everybody who can do something does it.
    pub(crate) async fn pass(&self, time: Duration) {
        const STEPS: u32 = 10;
        for _ in 0..STEPS {
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(time / STEPS).await;
        }
    }

    /// Returns how much time has passed.
    pub(crate) fn passed(&self) -> Duration {
        self.since.elapsed()
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}
