//! Events: the news that a client gets of its server.

use std::sync::Arc;
use std::time::Duration;

use bobbin_native_wire::handshake::types::InitializeResult;
use bobbin_native_wire::thread::params::ThreadReadResult;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::question::Question;

/// News of the connection, of followed Threads, and questions.
#[derive(Debug)]
pub enum Event {
    /// There is a connection, the first one or a further one.
    Connected(Box<InitializeResult>),
    /// There is none. The next attempt follows after `retry_in`.
    Disconnected {
        /// The reason, as a sentence.
        why: String,
        /// The time until the next attempt.
        retry_in: Duration,
    },
    /// A followed Thread as a whole, with its newest Turns: the state before it no longer counts.
    Read(Box<ThreadReadResult>),
    /// A Thread cannot be followed.
    NotFollowed {
        /// The Thread.
        thread: String,
        /// The reason, as a sentence.
        why: String,
    },
    /// A notification. Those of a followed Thread come once and in order, over all connections.
    Notification(Notification),
    /// The server asks this user.
    Asked(Question),
    /// A question needs no answer any more.
    Settled {
        /// The question.
        request_id: String,
    },
    /// There will be no further connection.
    Closed {
        /// The reason, as a sentence.
        why: String,
    },
}

/// A notification of the server.
#[derive(Debug, Clone)]
pub struct Notification {
    /// Its method.
    pub method: Arc<str>,
    /// The Thread that it is about.
    pub thread: Option<String>,
    /// Its number in that Thread.
    pub seq: Option<u64>,
    params: Box<RawValue>,
}

/// The members of a notification by which it is sorted.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    thread_id: Option<String>,
    thread: Option<Named>,
    seq: Option<u64>,
}

#[derive(Deserialize)]
struct Named {
    id: Option<String>,
}

impl Notification {
    pub(crate) fn new(method: Arc<str>, params: Option<Box<RawValue>>) -> Self {
        let params = params.unwrap_or_else(|| RawValue::NULL.to_owned());
        let head: Head = serde_json::from_str(params.get()).unwrap_or_default();
        let thread = head.thread.and_then(|thread| thread.id);
        Self {
            method,
            thread: head.thread_id.or(thread),
            seq: head.seq,
            params,
        }
    }

    /// Makes a notification, for tests and for clients that replay a record.
    pub fn of(method: &str, params: &Value) -> Self {
        Self::new(method.into(), to_raw_value(params).ok())
    }

    /// Reads the params; `None` if they have another shape.
    pub fn params<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.params.get()).ok()
    }

    /// Returns the params as JSON text.
    pub fn json(&self) -> &str {
        self.params.get()
    }
}

impl PartialEq for Notification {
    fn eq(&self, other: &Self) -> bool {
        self.method == other.method && self.params.get() == other.params.get()
    }
}
