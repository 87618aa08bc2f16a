//! What a bridge keeps in mind of the messages that it passes on. Reads methods and ids, nothing else.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::watch;

/// What is known of the conversation: whether the end was asked for, and how much is unanswered.
#[derive(Default)]
pub(crate) struct Ledger {
    open: watch::Sender<usize>,
    shutdown: AtomicBool,
}

/// The little that is looked at.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    id: Option<IgnoredAny>,
}

impl Ledger {
    /// Takes down a message of the editor; returns whether it leaves with it.
    pub(crate) fn asked(&self, message: &[u8]) -> bool {
        match serde_json::from_slice(message) {
            Ok(Head {
                method: Some(method),
                id: Some(_),
            }) => {
                if method == "shutdown" {
                    self.shutdown.store(true, Ordering::Release);
                }
                self.open.send_modify(|open| *open += 1);
                false
            }
            Ok(Head {
                method: Some(method),
                id: None,
            }) => method == "exit",
            Ok(Head { method: None, .. }) | Err(_) => false,
        }
    }

    /// Takes down a message of the server.
    pub(crate) fn told(&self, message: &[u8]) {
        if let Ok(Head {
            method: None,
            id: Some(_),
        }) = serde_json::from_slice(message)
        {
            self.open.send_modify(|open| *open = open.saturating_sub(1));
        }
    }

    /// Whether `shutdown` was asked for.
    pub(crate) fn shutdown(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }

    /// Waits until everything is answered, but no longer than that.
    pub(crate) async fn settled(&self, patience: Duration) {
        let mut open = self.open.subscribe();
        let settled = open.wait_for(|open| *open == 0);
        if tokio::time::timeout(patience, settled).await.is_err() {
            tracing::debug!("left with requests unanswered");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ledger_counts_what_is_unanswered_and_knows_the_end() {
        let ledger = Ledger::default();
        let open = || *ledger.open.borrow();
        assert!(!ledger.asked(br#"{"id":0,"method":"initialize","params":{"id":7,"method":"exit"}}"#));
        assert!(!ledger.asked(br#"{"method":"initialized"}"#));
        assert!(!ledger.asked(br#"{"id":4,"result":null}"#), "an answer");
        assert_eq!(open(), 1);
        ledger.told(br#"{"method":"chat/contentReceived","params":{"id":0}}"#);
        ledger.told(br#"{"id":1,"method":"editor/getDiagnostics"}"#);
        ledger.told(br#"{"id":null,"error":{"code":-32700,"message":"Parse error"}}"#);
        assert_eq!(open(), 1);
        ledger.told(br#"{"id":0,"result":{}}"#);
        ledger.told(br#"{"id":9,"result":{}}"#);
        assert_eq!(open(), 0);
        assert!(!ledger.shutdown());
        assert!(!ledger.asked(br#"{"id":"a","method":"shutdown","params":null}"#));
        assert!(ledger.shutdown());
        assert!(ledger.asked(br#"{"method":"\u0065xit"}"#));
    }
}
