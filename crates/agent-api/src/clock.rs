//! The clock contract.

use bobbin_model::UnixMillis;
use jiff::Timestamp;

/// A source of wall-clock time.
pub trait Clock: Send + Sync + 'static {
    /// Returns the present time.
    fn now(&self) -> UnixMillis;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(Timestamp::now().as_millisecond())
    }
}
