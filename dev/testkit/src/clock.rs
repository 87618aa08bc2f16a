//! A wall clock that stands still until it is told to move.

use std::sync::atomic::{AtomicI64, Ordering};

use bobbin_agent_api::Clock;
use bobbin_model::UnixMillis;

/// A clock in a test's hand.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl Default for ManualClock {
    /// Starts on 4 January 2027, 10:15 UTC.
    fn default() -> Self {
        Self(AtomicI64::new(1_799_057_700_000))
    }
}

impl ManualClock {
    /// Moves on.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::SeqCst))
    }
}
