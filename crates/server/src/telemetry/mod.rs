//! What an administrator sees of a server: its log, its counters, and, with the feature `otel`, its traces.
//!
//! None of it has a text of a conversation, an argument of a call or a key in it.

mod logging;
mod metrics;
#[cfg(feature = "otel")]
mod traces;

pub use logging::{LogOptions, finish, start};
pub(crate) use metrics::{Metrics, memory_bytes};
