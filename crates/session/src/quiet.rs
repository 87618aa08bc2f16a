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
    let answered = async {
        tokio::time::sleep(AT_LEAST).await;
        while peer.stats().requests_without_answer() > but() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let _waited = tokio::time::timeout(AT_MOST, answered).await;
}
