//! Secrets that count once and for a short time.

use std::collections::VecDeque;
use std::time::Duration;

use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

/// Secrets that were given and not used, each with what it stands for. A bounded number: one more replaces the oldest.
#[derive(Debug)]
pub(crate) struct OneTime<T> {
    given: VecDeque<(Vec<u8>, Instant, T)>,
    lifetime: Duration,
    most: usize,
}

impl<T> OneTime<T> {
    pub(crate) fn new(lifetime: Duration, most: usize) -> Self {
        Self {
            given: VecDeque::new(),
            lifetime,
            most,
        }
    }

    /// Makes a secret count from now on.
    pub(crate) fn add(&mut self, secret: &str, stands_for: T) {
        self.drop_old();
        if self.given.len() >= self.most {
            self.given.pop_front();
        }
        let until = Instant::now() + self.lifetime;
        self.given
            .push_back((secret.as_bytes().to_vec(), until, stands_for));
    }

    /// Returns what a secret stands for, if it counts. It does not count again.
    pub(crate) fn take(&mut self, secret: &[u8]) -> Option<T> {
        self.drop_old();
        // All are compared, so that the time does not say which came near.
        let mut found = None;
        for (index, (given, ..)) in self.given.iter().enumerate() {
            if given.ct_eq(secret).into() {
                found = Some(index);
            }
        }
        self.given.remove(found?).map(|(.., stands_for)| stands_for)
    }

    /// Forgets those whose time is over. They are in the order of their ends.
    fn drop_old(&mut self) {
        let now = Instant::now();
        while self.given.front().is_some_and(|(_, until, _)| *until <= now) {
            self.given.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(30);
    const NEARLY: Duration = Duration::from_millis(29_999);

    #[tokio::test(start_paused = true)]
    async fn a_secret_counts_once_and_for_its_time() {
        let mut secrets = OneTime::new(LIFETIME, 2);
        secrets.add("a", 1);
        assert_eq!(secrets.take(b"b"), None);
        assert_eq!(secrets.take(b""), None);
        assert_eq!(secrets.take(b"a"), Some(1));
        assert_eq!(secrets.take(b"a"), None);
        secrets.add("c", 2);
        tokio::time::advance(NEARLY).await;
        secrets.add("d", 3);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(secrets.take(b"c"), None);
        assert_eq!(secrets.take(b"d"), Some(3));
    }

    #[tokio::test(start_paused = true)]
    async fn one_too_many_replaces_the_oldest() {
        let mut secrets = OneTime::new(LIFETIME, 2);
        for (secret, number) in [("a", 1), ("b", 2), ("c", 3)] {
            secrets.add(secret, number);
        }
        let taken = ["a", "b", "c"].map(|secret| secrets.take(secret.as_bytes()));
        assert_eq!(taken, [None, Some(2), Some(3)]);
    }
}
