//! The handle of a client: requests and answers.

use std::time::Duration;

use bobbin_framing::Transport;
use bobbin_native_wire::handshake::capabilities::ClientCapabilities;
use bobbin_native_wire::handshake::types::ClientInfo;
use bobbin_native_wire::lenient;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::driver::Driver;
use crate::error::RequestError;
use crate::event::Event;
use crate::question::Answer;

/// Jobs for the driver that wait; who makes more of them waits too.
const MAX_JOBS: usize = 64;
/// Events that wait to be read; the connection waits beyond.
const MAX_EVENTS: usize = 1024;
/// How long a request waits for its answer, through lost connections. Some are answered when a model is done.
const REQUEST: Duration = Duration::from_mins(10);

/// Makes connections to a server: a joined socket, a WebSocket.
pub trait Connect: Send + 'static {
    /// Makes one.
    ///
    /// # Errors
    /// The reason why there is none, as a sentence. It is tried again.
    fn connect(&mut self) -> BoxFuture<'_, Result<Transport, String>>;
}

/// The client's word about itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// The client.
    pub info: ClientInfo,
    /// Its capabilities. `eventCursors` is always on.
    pub capabilities: ClientCapabilities,
    /// Longest pause between two attempts to connect; the first ones are short.
    pub max_delay: Duration,
    /// Whether a connection is made again when there is none any more. Otherwise the client ends with it.
    pub reconnects: bool,
}

impl Options {
    /// Returns options for a client of this name that answers questions.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            info: ClientInfo {
                name: name.to_owned(),
                title: Some(name.replace('-', " ")),
                version: version.to_owned(),
            },
            capabilities: ClientCapabilities {
                user_input_support: true,
                ..ClientCapabilities::default()
            },
            max_delay: Duration::from_secs(5),
            reconnects: true,
        }
    }
}

/// A client of one server, over any number of connections. Clones are the same client.
#[derive(Debug, Clone)]
pub struct Client {
    jobs: mpsc::Sender<Job>,
}

/// The events of a client, in order. They must be read: a client whose events nobody reads stands still.
#[derive(Debug)]
pub struct Events {
    events: mpsc::Receiver<Event>,
    task: JoinHandle<()>,
}

/// A job for the driver.
#[derive(Debug)]
pub(crate) enum Job {
    Request(Pending),
    Follow { thread: String, turn_limit: u32 },
    Unfollow { thread: String },
    Answer { request_id: String, answer: Answer },
    Close,
}

/// A request without an answer.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) method: &'static str,
    pub(crate) params: Box<RawValue>,
    /// Whether it is sent again when its connection is lost.
    pub(crate) repeats: bool,
    pub(crate) attempts: u32,
    pub(crate) reply: oneshot::Sender<Result<Box<RawValue>, RequestError>>,
}

impl Client {
    /// Starts to connect. Failed attempts are repeated until the client is closed or the server refuses it.
    pub fn start(connect: impl Connect, options: Options) -> (Self, Events) {
        let (jobs, wanted) = mpsc::channel(MAX_JOBS);
        let (sender, events) = mpsc::channel(MAX_EVENTS);
        let driver = Driver::new(options, wanted, sender);
        let task = tokio::spawn(driver.run(connect));
        (Self { jobs }, Events { events, task })
    }

    /// Makes a request that changes nothing. It is sent again after a lost connection.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn read<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<R, RequestError> {
        self.request(method, value(method, params)?, true).await
    }

    /// Makes a request that takes a `clientRequestId`: it gets one, is sent again after a lost connection, and counts
    /// once.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn once<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<R, RequestError> {
        let mut params = value(method, params)?;
        if let Some(members) = params.as_object_mut() {
            members.insert("clientRequestId".to_owned(), Uuid::new_v4().to_string().into());
        }
        self.request(method, params, true).await
    }

    /// Makes a request that is sent on one connection only.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn send<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &(impl Serialize + Sync),
    ) -> Result<R, RequestError> {
        self.request(method, value(method, params)?, false).await
    }

    /// Has a Thread followed, with at most `turn_limit` of its newest Turns at first: [`Event::Read`], then its notifications.
    pub async fn follow(&self, thread: &str, turn_limit: u32) {
        let thread = thread.to_owned();
        drop(self.jobs.send(Job::Follow { thread, turn_limit }).await);
    }

    /// Ends the following of a Thread.
    pub async fn unfollow(&self, thread: &str) {
        let thread = thread.to_owned();
        drop(self.jobs.send(Job::Unfollow { thread }).await);
    }

    /// Answers a question. Without a connection the answer waits for the next one.
    pub async fn answer(&self, request_id: &str, answer: Answer) {
        let request_id = request_id.to_owned();
        drop(self.jobs.send(Job::Answer { request_id, answer }).await);
    }

    async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
        repeats: bool,
    ) -> Result<R, RequestError> {
        let (reply, answer) = oneshot::channel();
        let pending = Pending {
            method,
            params: raw(method, &params)?,
            repeats,
            attempts: 0,
            reply,
        };
        let sent = self.jobs.send(Job::Request(pending)).await;
        sent.map_err(|_| RequestError::Closed)?;
        let result = tokio::time::timeout(REQUEST, answer).await;
        let result = result.map_err(|_| RequestError::TimedOut { method })?;
        let result = result.map_err(|_| RequestError::Closed)??;
        lenient::result(&result).map_err(|error| RequestError::Unreadable {
            method,
            detail: error.to_string(),
        })
    }

    /// Ends the client.
    pub async fn close(&self) {
        drop(self.jobs.send(Job::Close).await);
    }
}

impl Events {
    /// Returns the next event; `None` after the client has ended.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Returns the next event if it is there.
    pub fn next_now(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }

    /// Waits until a closed client has left its server.
    pub async fn ended(mut self) {
        while self.events.recv().await.is_some() {}
        drop((&mut self.task).await);
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn value(method: &'static str, params: &impl Serialize) -> Result<Value, RequestError> {
    serde_json::to_value(params).map_err(|error| unsent(method, &error))
}

fn raw(method: &'static str, params: &Value) -> Result<Box<RawValue>, RequestError> {
    serde_json::value::to_raw_value(params).map_err(|error| unsent(method, &error))
}

fn unsent(method: &'static str, error: &serde_json::Error) -> RequestError {
    RequestError::Unsent {
        method,
        detail: error.to_string(),
    }
}
