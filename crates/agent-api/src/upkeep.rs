//! Work with clients that outlives its call, such as closing what an editor has open for a Turn that is over.
//!
//! Owned by the Threads' [`Clients`](crate::client::Clients). A server that stops waits [`LAST`] for it and then ends it. At
//! most [`MAX`] tasks run; further work is not started.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Most tasks (a guess: each is a command that a user sees in a terminal).
const MAX: usize = 256;
/// Time that a stopping server waits for the tasks.
const LAST: Duration = Duration::from_secs(1);

/// The tasks.
#[derive(Debug)]
pub(crate) struct Upkeep {
    tasks: TaskTracker,
    room: Arc<Semaphore>,
    end: CancellationToken,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            tasks: TaskTracker::new(),
            room: Arc::new(Semaphore::new(MAX)),
            end: CancellationToken::new(),
        }
    }
}

impl Upkeep {
    /// Starts a task that runs to its end. Returns whether there was room for it.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let Ok(room) = self.room.clone().try_acquire_owned() else {
            return false;
        };
        let end = self.end.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = end.cancelled() => {}
                () = work => {}
            }
            drop(room);
        });
        true
    }

    /// Waits a short time for the tasks, and then ends them.
    pub(crate) async fn stop(&self) {
        self.tasks.close();
        if tokio::time::timeout(LAST, self.tasks.wait()).await.is_err() {
            self.end.cancel();
            self.tasks.wait().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn there_is_room_for_so_much_and_a_server_that_stops_ends_it() {
        let upkeep = Upkeep::default();
        let (ended, mut rest) = tokio::sync::mpsc::channel::<()>(1);
        for _ in 0..MAX {
            let ended = ended.clone();
            assert!(upkeep.spawn(async move {
                let _ended = ended;
                pending::<()>().await;
            }));
        }
        assert!(!upkeep.spawn(async {}));
        drop(ended);
        upkeep.stop().await;
        assert!(rest.recv().await.is_none());
        assert!(upkeep.spawn(async {}), "what has ended leaves its room");
    }
}
