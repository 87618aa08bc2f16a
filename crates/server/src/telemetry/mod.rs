//! Telemetry for administrators: the log, the counters, and, with the feature `otel`, the traces.
//!
//! It contains no text of a conversation, no argument of a call and no key.

mod logging;
mod metrics;
#[cfg(feature = "otel")]
mod traces;

pub use logging::{LogOptions, finish, start};
pub use metrics::Metrics;
pub(crate) use metrics::memory_bytes;
