//! Remembers the handler and the reader that the current thread polls. A handler that ends its own connection must not
//! wait for itself. The reader's messages must not wake the task that the reader is part of.

use std::cell::Cell;
use std::sync::Arc;

use crate::job::Slot;
use crate::shared::Shared;

thread_local! {
    /// A connection, by address, and a slot; the address 0 means none.
    static CURRENT: Cell<(usize, Slot)> = const { Cell::new((0, 0)) };
    /// The connection whose reader is being polled on this thread, by address.
    static READING: Cell<usize> = const { Cell::new(0) };
}

/// Marks that a handler is being polled, for as long as it exists.
pub(crate) struct Polling {
    before: (usize, Slot),
}

impl Polling {
    pub(crate) fn start(shared: &Arc<Shared>, slot: Slot) -> Self {
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

/// Marks that a connection's reader is being polled, for as long as it exists.
pub(crate) struct Reading {
    before: usize,
}

impl Reading {
    pub(crate) fn start(shared: &Shared) -> Self {
        Self {
            before: READING.replace(address(shared)),
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        READING.set(self.before);
    }
}

fn address(shared: &Shared) -> usize {
    std::ptr::from_ref(shared).addr()
}

impl Shared {
    /// Whether the connection's own reader is being polled on this thread.
    pub(crate) fn is_reading(&self) -> bool {
        READING.get() == address(self)
    }

    /// Returns the slot of the calling handler, if it belongs to this connection.
    pub(crate) fn current_slot(self: &Arc<Self>) -> Option<Slot> {
        let (connection, slot) = CURRENT.get();
        (connection == address(self)).then_some(slot)
    }
}
