//! Waiting until a client has its answers, for what must not reach it before them.
//!
//! Clients in use drop an Approval that comes before the answer to the `thread/read` they sent with their subscription, and take
//! the first answer after a request for the request's own. The wait is bounded by [`AT_LEAST`] and [`AT_MOST`].

use std::time::Duration;

use bobbin_peer::PeerHandle;

/// For the requests that the client sends meanwhile (a guess: it has read what it was answered, and has sent the next).
const AT_LEAST: Duration = Duration::from_millis(100);
/// After that the other answers are those that are slow.
const AT_MOST: Duration = Duration::from_secs(2);
/// How often it looks whether there are some.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until no more than `but` requests of a client have no answer.
pub async fn until_answered(peer: &PeerHandle, but: impl Fn() -> usize) {
    until(peer, but, 0).await;
}

/// Waits until a client has sent something more, and no request of it has no answer: it has handled what it was answered.
pub(crate) async fn until_next_answered(peer: &PeerHandle) {
    until(peer, || 0, peer.stats().messages_read + 1).await;
}

/// Waits until a client has sent so many messages, and no more than `but` of its requests have no answer.
async fn until(peer: &PeerHandle, but: impl Fn() -> usize, messages: u64) {
    let is_answered = || {
        let stats = peer.stats();
        stats.messages_read >= messages && stats.requests_without_answer() <= but()
    };
    let answered = async {
        tokio::time::sleep(AT_LEAST).await;
        while !is_answered() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let _waited = tokio::time::timeout(AT_MOST, answered).await;
}

#[cfg(test)]
mod tests {
    use bobbin_framing::Transport;
    use bobbin_peer::{Handlers, Peer, PeerOptions};
    use tokio::time::Instant;

    use super::*;

    /// Returns how long it waits for a client that sends a notification after a time.
    async fn waited_for(after: Duration) -> Duration {
        let (near, mut far) = Transport::memory_pair();
        let peer = Peer::start(near, PeerOptions::default(), |_| Handlers::new()).expect("it starts");
        let (handle, started) = (peer.handle(), Instant::now());
        let sends = async {
            tokio::time::sleep(after).await;
            let message = r#"{"jsonrpc":"2.0","method":"busy/over"}"#;
            far.send(message.into()).await.expect("it takes a message");
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = sends => {}
            () = until_next_answered(&handle) => {}
        }
        started.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_busy_is_waited_for_until_it_sends_its_next_message() {
        let waited = waited_for(Duration::from_millis(700)).await;
        assert!(
            waited >= Duration::from_millis(700) && waited < Duration::from_millis(800),
            "{waited:?}"
        );
        assert_eq!(waited_for(Duration::from_millis(10)).await, AT_LEAST);
        assert_eq!(waited_for(AT_MOST * 2).await, AT_MOST);
    }
}
