//! The data of one incoming request or notification that its record, its handler and its responder share. Made
//! once; only its cancellation changes.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::id::WireId;
use crate::job::Slot;

#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) slot: Slot,
    pub(crate) ordinal: i64,
    pub(crate) method: Arc<str>,
    /// The null id for notifications.
    pub(crate) id: WireId,
    cancelled: AtomicBool,
    /// Made on first use: most handlers end before it is needed.
    token: OnceLock<CancellationToken>,
}

impl Ticket {
    pub(crate) fn new(slot: Slot, ordinal: i64, method: Arc<str>, id: WireId) -> Self {
        Self {
            slot,
            ordinal,
            method,
            id,
            cancelled: AtomicBool::new(false),
            token: OnceLock::new(),
        }
    }

    /// Returns the token that is cancelled with this ticket.
    pub(crate) fn token(&self) -> &CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        // A concurrent cancel either sees the token or is seen here; the other fence is in `cancel`.
        fence(Ordering::SeqCst);
        if self.cancelled.load(Ordering::Relaxed) {
            token.cancel();
        }
        token
    }

    /// Cancels the ticket. Must not be called with the state locked, since it wakes the token's waiters.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if let Some(token) = self.token.get() {
            token.cancel();
        }
    }

    /// Whether it was cancelled, by this connection or through the token.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
            || self.token.get().is_some_and(CancellationToken::is_cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::Ticket;
    use crate::id::WireId;

    fn ticket() -> Ticket {
        Ticket::new(1, 0, "a".into(), WireId::NULL)
    }

    #[test]
    fn a_token_is_told_whether_it_was_asked_for_before_or_after_the_cancel() {
        let before = ticket();
        let token = before.token().clone();
        assert!(!token.is_cancelled());
        before.cancel();
        assert!(token.is_cancelled());

        let after = ticket();
        after.cancel();
        assert!(after.token().is_cancelled());
    }

    #[test]
    fn whoever_has_the_token_may_cancel_too() {
        let ticket = ticket();
        ticket.token().cancel();
        assert!(ticket.is_cancelled());
    }
}
