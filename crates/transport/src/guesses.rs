//! Wrong secrets: counted, logged without what was sent, and answered late.
//!
//! At most [`LATE`] answers wait at once, so that wrong secrets never take all places of the listener. One more is answered
//! at once: its connection ends, and nobody waits behind it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::Denied;

/// How late the first wrong secret is answered; twice as late with each more (guess).
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// How late a wrong secret is answered at most: within the time that a connection has for its upgrade.
const LAST_DELAY: Duration = Duration::from_secs(5);
/// How long wrong secrets count.
const FORGIVEN_AFTER: Duration = Duration::from_mins(1);
/// Late answers at once: half of the listener's places for connections before their upgrade.
const LATE: usize = 128;
/// Time in which at most [`LINES`] refusals are logged. The counters count all.
const WINDOW: Duration = Duration::from_secs(10);
/// Lines of the log in a window (guess: enough to see what goes on).
const LINES: u32 = 10;

/// The refusals of one listener. Clones share the counts.
#[derive(Debug, Clone)]
pub struct Guesses(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    late: Semaphore,
    wrong: Mutex<Wrong>,
    logged: Mutex<Logged>,
}

#[derive(Debug, Default)]
struct Wrong {
    count: u32,
    last: Option<Instant>,
}

#[derive(Debug, Default)]
struct Logged {
    since: Option<Instant>,
    lines: u32,
    unlogged: u64,
}

impl Default for Guesses {
    fn default() -> Self {
        Self(Arc::new(Inner {
            late: Semaphore::new(LATE),
            wrong: Mutex::default(),
            logged: Mutex::default(),
        }))
    }
}

impl Guesses {
    /// Counts a refusal. Waits as long as the answer has to, if the client guesses.
    pub async fn denied(&self, denied: Denied) {
        match denied {
            Denied::WrongToken | Denied::WrongTicket => self.wrong(denied.word()).await,
            Denied::Host | Denied::Origin | Denied::PageHost | Denied::NoToken | Denied::NoRole => {
                self.refused(denied.word());
            }
        }
    }

    /// Counts a wrong secret of this kind and waits as long as its answer has to. Clients with a right one never wait.
    pub async fn wrong(&self, kind: &'static str) {
        self.refused(kind);
        let delay = self.delay();
        if let Ok(_place) = self.0.late.try_acquire() {
            tokio::time::sleep(delay).await;
        }
    }

    /// Counts a wrong secret; returns how late to answer it.
    fn delay(&self) -> Duration {
        let mut wrong = self.0.wrong.lock();
        let now = Instant::now();
        if wrong.last.is_none_or(|last| now - last > FORGIVEN_AFTER) {
            wrong.count = 0;
        }
        let delay = FIRST_DELAY * (1 << wrong.count.min(6));
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = Some(now);
        delay.min(LAST_DELAY)
    }

    /// Notes that a client was refused. Logs neither the address nor a header: both can have a secret in them.
    fn refused(&self, reason: &'static str) {
        metrics::counter!("bobbin_refused_clients_total", "reason" => reason).increment(1);
        if let Some(unlogged) = self.line() {
            let unlogged = (unlogged > 0).then_some(unlogged);
            tracing::warn!(reason, unlogged, "a client was refused");
        }
    }

    /// Returns how many refusals have no line in the log, if this one may have one.
    fn line(&self) -> Option<u64> {
        let mut logged = self.0.logged.lock();
        let now = Instant::now();
        if logged.since.is_none_or(|since| now - since >= WINDOW) {
            (logged.since, logged.lines) = (Some(now), 0);
        }
        if logged.lines >= LINES {
            logged.unlogged += 1;
            return None;
        }
        logged.lines += 1;
        Some(std::mem::take(&mut logged.unlogged))
    }
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

    #[tokio::test(start_paused = true)]
    async fn a_crowd_of_wrong_secrets_is_answered_at_once_and_logged_ten_times() {
        let guesses = Guesses::default();
        let late: Vec<_> = (0..LATE)
            .map(|_| {
                let guesses = guesses.clone();
                tokio::spawn(async move { guesses.wrong("wrong_token").await })
            })
            .collect();
        while guesses.0.late.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let start = Instant::now();
        guesses.wrong("wrong_token").await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(guesses.line(), None);
        for late in late {
            late.await.unwrap();
        }
        assert_eq!(start.elapsed(), LAST_DELAY);
        tokio::time::advance(WINDOW).await;
        assert_eq!(
            guesses.line(),
            Some(u64::try_from(LATE).unwrap() + 2 - u64::from(LINES))
        );
        assert_eq!(guesses.line(), Some(0));
    }
}
