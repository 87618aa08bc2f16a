//! How long some work takes, without what it waits in between for somebody else.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// The work has taken longer than it may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Late;

/// The time of one work.
#[derive(Debug)]
pub(super) struct Clock {
    /// When it is late; `None` while it waits.
    end: Mutex<Option<Instant>>,
}

impl Clock {
    /// Lets work take so long from now on.
    pub(super) fn new(most: Duration) -> Self {
        Self {
            end: Mutex::new(Some(Instant::now() + most)),
        }
    }

    /// Waits for something that does not count. A part of the work.
    pub(super) async fn pause<T>(&self, other: impl Future<Output = T>) -> T {
        let end = self.end.lock().take();
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        let done = other.await;
        *self.end.lock() = left.map(|left| Instant::now() + left);
        done
    }

    /// Does the work.
    ///
    /// # Errors
    /// [`Late`]
    pub(super) async fn time<T>(&self, work: impl Future<Output = T>) -> Result<T, Late> {
        let (mut work, mut bell) = (pin!(work), pin!(sleep_until(Instant::now())));
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            // The work alone changes this.
            let Some(end) = *self.end.lock() else {
                return Poll::Pending;
            };
            if bell.deadline() != end {
                bell.as_mut().reset(end);
            }
            bell.as_mut().poll(context).map(|()| Err(Late))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_the_work_waits_for_does_not_count_and_the_rest_does() {
        for (first, waits, second, expected) in [
            (4, 100, 5, Ok(())),
            (4, 100, 7, Err(Late)),
            (4, 0, 5, Ok(())),
            (11, 0, 0, Err(Late)),
        ] {
            let clock = Clock::new(Duration::from_secs(10));
            let work = async {
                sleep(Duration::from_secs(first)).await;
                clock.pause(sleep(Duration::from_secs(waits))).await;
                sleep(Duration::from_secs(second)).await;
            };
            assert_eq!(clock.time(work).await, expected, "{first} {waits} {second}");
        }
    }
}
