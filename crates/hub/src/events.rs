//! Events of the Hub, for clients that follow it as server-sent events.
//!
//! A subscriber has a queue of [`QUEUE`] events. A subscriber that does not read them loses its connection, and
//! nothing waits for it.
//! At most [`MAX_SUBSCRIBERS`] are there; one more takes the place of the oldest.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Subscribers at once (guess: several times the clients of a user).
const MAX_SUBSCRIBERS: usize = 64;
/// Events that wait for one subscriber (guess: hundreds of starts).
const QUEUE: usize = 256;
/// Silence after which a subscriber gets a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    HubStarted,
    HubStopping,
    PortAllocated,
    ServerStarting,
    ServerRunning,
    ServerExited,
    ServerUnhealthy,
    ProxyRunning,
    ProxyExited,
    NotificationRequested,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::HubStarted => "hub.started",
            Self::HubStopping => "hub.stopping",
            Self::PortAllocated => "port.allocated",
            Self::ServerStarting => "appserver.starting",
            Self::ServerRunning => "appserver.running",
            Self::ServerExited => "appserver.exited",
            Self::ServerUnhealthy => "appserver.unhealthy",
            Self::ProxyRunning => "apiProxy.running",
            Self::ProxyExited => "apiProxy.exited",
            Self::NotificationRequested => "notification.requested",
        }
    }
}

/// Sends events to every subscriber. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Bus(Arc<Mutex<VecDeque<Subscriber>>>);

struct Subscriber {
    queue: mpsc::Sender<Bytes>,
    connection: CancellationToken,
}

impl Bus {
    /// Sends an event. Never waits.
    pub(crate) fn publish(&self, kind: Kind, workspace: Option<&Path>, data: &Value) {
        let name = kind.name();
        let at = jiff::Timestamp::now().to_string();
        let event = json!({ "kind": name, "at": at, "workspacePath": workspace, "data": data });
        let record = Bytes::from(format!("event: {name}\ndata: {event}\n\n"));
        self.0.lock().retain(|subscriber| {
            let sent = subscriber.queue.try_send(record.clone());
            if let Err(mpsc::error::TrySendError::Full(_)) = &sent {
                tracing::warn!("a subscriber of events does not read; its connection is closed");
                subscriber.connection.cancel();
            }
            sent.is_ok()
        });
    }

    /// Adds a subscriber and returns its records. `connection` is cancelled when the subscriber has to go.
    pub(crate) fn subscribe(
        &self,
        connection: CancellationToken,
    ) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + use<> {
        let (queue, records) = mpsc::channel(QUEUE);
        // The first record of each stream; a new channel has room for it.
        drop(queue.try_send(Bytes::from_static(b": connected\n\n")));
        let mut all = self.0.lock();
        all.retain(|subscriber| !subscriber.queue.is_closed());
        if all.len() == MAX_SUBSCRIBERS
            && let Some(oldest) = all.pop_front()
        {
            oldest.connection.cancel();
        }
        all.push_back(Subscriber { queue, connection });
        drop(all);
        futures_util::stream::unfold(records, |mut records| async {
            let record = match timeout(KEEP_ALIVE, records.recv()).await {
                Ok(record) => record?,
                Err(_) => Bytes::from_static(b": keep-alive\n\n"),
            };
            Some((Ok(record), records))
        })
    }

    /// Ends every stream once it has sent what waits.
    pub(crate) fn close(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_subscriber_gets_the_comment_then_events_then_comments_in_silence() {
        let bus = Bus::default();
        let stream = bus.subscribe(CancellationToken::new());
        tokio::pin!(stream);
        bus.publish(
            Kind::ServerExited,
            Some(Path::new("/srv/tea")),
            &json!({ "reason": "stopped" }),
        );
        let mut next = async || String::from_utf8(stream.next().await.unwrap().unwrap().to_vec()).unwrap();
        assert_eq!(next().await, ": connected\n\n");
        let event = next().await;
        let data = event.strip_prefix("event: appserver.exited\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data.strip_suffix("\n\n").unwrap()).unwrap();
        assert_eq!(data["workspacePath"], "/srv/tea");
        assert_eq!(data["data"]["reason"], "stopped");
        assert_eq!(next().await, ": keep-alive\n\n");
        bus.close();
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn a_subscriber_that_does_not_read_and_one_too_many_lose_their_connections() {
        let bus = Bus::default();
        let deaf = CancellationToken::new();
        let _unread = bus.subscribe(deaf.clone());
        for _ in 0..QUEUE {
            bus.publish(Kind::HubStarted, None, &Value::Null);
        }
        assert!(deaf.is_cancelled());
        let tokens: Vec<_> = (0..=MAX_SUBSCRIBERS).map(|_| CancellationToken::new()).collect();
        let _streams: Vec<_> = tokens.iter().map(|token| bus.subscribe(token.clone())).collect();
        let gone: Vec<bool> = tokens.iter().map(CancellationToken::is_cancelled).collect();
        assert!(gone[0] && !gone[1..].contains(&true));
    }
}
