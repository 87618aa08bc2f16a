//! The log callback: receives every message and incident as it happens.
//!
//! Library tasks call it with the state unlocked, in order for each direction. It must be quick and must not wait;
//! otherwise it may use the connection. A panic in it is caught. Entries: peer spec 13.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogEntry<'a> {
    /// An incoming message, raw JSON text: everything that parses, whether valid or not.
    Read(&'a str),
    /// A message that was written and flushed, raw JSON text.
    Write(&'a str),
    /// A protocol violation, handler failure, unknown response id, read or write error.
    Error(&'a str),
    /// A late response, timeout, send dropped or call failed by shutdown, overload.
    Warn(&'a str),
    /// Anything else worth a line.
    Debug(&'a str),
}

impl LogEntry<'_> {
    /// Returns the entry's kind by its traditional name, such as `RpcRead`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Read(_) => "RpcRead",
            Self::Write(_) => "RpcWrite",
            Self::Error(_) => "RpcError",
            Self::Warn(_) => "RpcWarn",
            Self::Debug(_) => "RpcDebug",
        }
    }

    /// Returns the message or description.
    pub fn text(&self) -> &str {
        match self {
            Self::Read(text)
            | Self::Write(text)
            | Self::Error(text)
            | Self::Warn(text)
            | Self::Debug(text) => text,
        }
    }
}

/// A log callback.
pub type LogFn = Arc<dyn Fn(LogEntry<'_>) + Send + Sync>;

/// Combines two callbacks into one that calls both, in order.
pub fn tee(first: LogFn, second: LogFn) -> LogFn {
    Arc::new(move |entry| {
        first(entry);
        second(entry);
    })
}

/// The destination of the library's entries.
#[derive(Clone)]
pub(crate) struct Log {
    callback: Option<LogFn>,
}

impl Log {
    pub(crate) fn new(callback: Option<LogFn>) -> Self {
        Self { callback }
    }

    /// Whether a log callback is set, so that entries are worth making.
    pub(crate) fn is_on(&self) -> bool {
        self.callback.is_some()
    }

    /// Hands an entry to the callback; returns whether the callback panicked.
    pub(crate) fn emit(&self, entry: LogEntry<'_>) -> bool {
        let Some(callback) = &self.callback else {
            return false;
        };
        catch_unwind(AssertUnwindSafe(|| callback(entry))).is_err()
    }
}

/// An entry about an incident, made under the lock and emitted afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    Error(String),
    Warn(String),
    Debug(String),
}

impl Note {
    pub(crate) fn entry(&self) -> LogEntry<'_> {
        match self {
            Self::Error(text) => LogEntry::Error(text),
            Self::Warn(text) => LogEntry::Warn(text),
            Self::Debug(text) => LogEntry::Debug(text),
        }
    }
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").field("is_on", &self.is_on()).finish()
    }
}
