//! Waiting until a client has its answers, for messages that must not reach it earlier.
//!
//! Clients in use drop an Approval that comes before the answer to the `thread/read` they sent with their subscription.
//! They also take the first answer after a request for the request's own. [`AT_LEAST`] and [`AT_MOST`] bound the wait.

use std::time::Duration;

use bobbin_peer::PeerHandle;

/// Gives the client time to read its answers and send its next requests (a guess).
const AT_LEAST: Duration = Duration::from_millis(100);
/// Requests that have no answer by then are slow ones, and are not waited for.
const AT_MOST: Duration = Duration::from_secs(2);
/// Interval between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until at most `but` requests of a client have no answer.
pub async fn until_answered(peer: &PeerHandle, but: impl Fn() -> usize) {
    until(peer, but, 0).await;
}

/// Waits until a client has sent another message and all its requests are answered: it has handled its answers.
pub(crate) async fn until_next_answered(peer: &PeerHandle) {
    until(peer, || 0, peer.stats().messages_read + 1).await;
}

/// Waits until a client has sent `messages` messages and at most `but` of its requests have no answer.
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

    /// Returns how long a wait takes for a client that sends a notification after a time.
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
