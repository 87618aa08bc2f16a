//! Wrong secrets: counted, logged without what was sent, and answered late.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How late the first wrong secret is answered; twice as late with each more (guess).
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// How late a wrong secret is answered at most: within the time that a connection has for its upgrade.
const LAST_DELAY: Duration = Duration::from_secs(5);
/// How long wrong secrets count.
const FORGIVEN_AFTER: Duration = Duration::from_mins(1);

/// The wrong secrets that one listener was sent. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Guesses(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    wrong: u32,
    last: Option<Instant>,
}

impl Guesses {
    /// Counts a wrong secret of this kind and waits as long as its answer has to. Clients with a right one never wait.
    pub async fn wrong(&self, kind: &'static str) {
        refused(kind);
        tokio::time::sleep(self.delay()).await;
    }

    /// Counts a wrong secret; returns how late to answer it.
    pub fn delay(&self) -> Duration {
        let mut guesses = self.0.lock();
        let now = Instant::now();
        if guesses.last.is_none_or(|last| now - last > FORGIVEN_AFTER) {
            guesses.wrong = 0;
        }
        let delay = FIRST_DELAY * (1 << guesses.wrong.min(6));
        guesses.wrong = guesses.wrong.saturating_add(1);
        guesses.last = Some(now);
        delay.min(LAST_DELAY)
    }
}

/// Notes that a client was refused. Logs neither the address nor a header: both can have a secret in them.
pub(crate) fn refused(reason: &'static str) {
    tracing::warn!(reason, "a client was refused");
    metrics::counter!("bobbin_refused_clients_total", "reason" => reason).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn wrong_secrets_are_answered_later_and_later_until_they_are_forgiven() {
        let guesses = Guesses::default();
        let delays: Vec<u128> = (0..8).map(|_| guesses.delay().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        tokio::time::advance(FORGIVEN_AFTER + Duration::from_secs(1)).await;
        assert_eq!(guesses.delay(), FIRST_DELAY);
    }
}
