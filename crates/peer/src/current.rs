//! Which handler this thread is polling, so that a handler who asks for the end of its own connection is not waited for.

use std::cell::Cell;
use std::sync::Arc;

use crate::job::Slot;
use crate::shared::Shared;

thread_local! {
    /// A connection, by address, and a slot; no connection has the address 0.
    static CURRENT: Cell<(usize, Slot)> = const { Cell::new((0, 0)) };
}

/// A handler is being polled for as long as this exists.
pub(crate) struct Polling {
    before: (usize, Slot),
}

impl Polling {
    pub(crate) fn begin(shared: &Arc<Shared>, slot: Slot) -> Self {
        Self {
            before: CURRENT.replace((address(shared), slot)),
        }
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

fn address(shared: &Arc<Shared>) -> usize {
    Arc::as_ptr(shared).addr()
}

impl Shared {
    /// The slot of the handler that is calling, if one of this connection is.
    pub(crate) fn current_slot(self: &Arc<Self>) -> Option<Slot> {
        let (connection, slot) = CURRENT.get();
        (connection == address(self)).then_some(slot)
    }
}
