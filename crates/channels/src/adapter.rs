//! A connected adapter: its abilities, and the server's requests to it.
//!
//! Every request has a time limit. An adapter that does not answer its heartbeat is closed. Requests to an adapter that
//! leaves fail at once.

use std::sync::Arc;
use std::time::Duration;

use bobbin_native::client::Client;
use bobbin_peer::{CallError, PeerHandle, Phase, SendError};
use bobbin_session::Session;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::descriptor::Abilities;
use crate::group::EXT_CHANNEL_HEARTBEAT;

/// Time between two heartbeats (06 §B6).
const HEARTBEAT: Duration = Duration::from_secs(30);
/// Time limit for the answer to a heartbeat.
const HEARTBEAT_LIMIT: Duration = Duration::from_secs(5);
/// WebSocket close code for an adapter that is refused.
const POLICY: u16 = 1008;

/// An adapter that was accepted.
pub(crate) struct Adapter {
    /// The channel's name, as configured.
    pub(crate) channel: Arc<str>,
    pub(crate) can: Abilities,
    /// Identifies the start of its process, if the server started it and serves it on its pipes.
    pub(crate) start: Option<Arc<str>>,
    peer: PeerHandle,
    session: Arc<Session>,
}

/// Reason why an adapter did not answer a request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It is no longer connected.
    Gone,
    /// It answered with an error; the text is its own.
    Refused(String),
    /// Its answer cannot be read.
    Unusable(String),
    /// It has not answered in time.
    Late(Duration),
}

impl Adapter {
    pub(crate) fn new(channel: Arc<str>, can: Abilities, start: Option<Arc<str>>, client: &Client) -> Self {
        Self {
            channel,
            can,
            start,
            peer: client.peer().clone(),
            session: client.session().clone(),
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        self.peer.phase() == Phase::Active
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize + Send,
        limit: Duration,
    ) -> Result<T, Failure> {
        let answer = self.peer.call_raw(method, params, Some(limit)).await;
        let answer = answer.map_err(|error| match error {
            CallError::Remote(error) => Failure::Refused(error.message.to_string()),
            CallError::TimedOut(limit) => Failure::Late(limit),
            CallError::ShutDown | CallError::Send(SendError::Closed) => Failure::Gone,
            CallError::Send(error) => Failure::Refused(format!("it was not sent: {error}")),
            CallError::Decode(error) => Failure::Unusable(error.to_string()),
        })?;
        bobbin_native_wire::lenient::result(&answer).map_err(|error| Failure::Unusable(error.to_string()))
    }

    /// Sends heartbeats until the adapter is gone, and closes it if it does not answer one.
    pub(crate) async fn watch(&self) {
        let beats = async {
            loop {
                tokio::time::sleep(HEARTBEAT).await;
                let limit = Some(HEARTBEAT_LIMIT);
                let beat = self.peer.call_raw(EXT_CHANNEL_HEARTBEAT, json!({}), limit).await;
                if matches!(beat, Err(CallError::TimedOut(_))) {
                    break;
                }
            }
        };
        tokio::select! {
            () = self.peer.closed() => return,
            () = beats => {}
        }
        tracing::warn!(
            channel = &*self.channel,
            "an adapter does not answer its heartbeat; it is closed"
        );
        self.peer.close_with(POLICY, "no answer to ext/channel/heartbeat");
        self.peer.closed().await;
    }

    /// Notifies the adapter that it is no longer accepted, with the reason, and closes it.
    pub(crate) fn reject(&self, why: &str) {
        reject(&self.peer, &self.channel, why);
    }

    /// Closes it without a reason.
    pub(crate) fn close(&self) {
        self.peer.close_with(1000, "the channel's adapter ends");
    }

    /// Waits until its connection has ended.
    pub(crate) async fn closed(&self) {
        self.peer.closed().await;
    }
}

/// Notifies a client that it is not accepted as the adapter of a channel, and closes it. A client that does not want
/// `system/event` gets it too, since it has no other way to know.
pub(crate) fn reject(peer: &PeerHandle, channel: &str, why: &str) {
    let event = json!({ "kind": "channelRejected", "channelName": channel, "message": why });
    // A client that has left needs no notification.
    drop(peer.try_notify("system/event", event));
    peer.close_with(POLICY, "the channel adapter is rejected");
}
