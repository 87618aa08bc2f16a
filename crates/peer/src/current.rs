//! What this thread is polling: which handler, so that one who asks for the end of its own connection is not waited for, and
//! which reader, so that what comes of its messages does not wake the task it is part of.

use std::cell::Cell;
use std::sync::Arc;

use crate::job::Slot;
use crate::shared::Shared;

thread_local! {
    /// A connection, by address, and a slot; no connection has the address 0.
    static CURRENT: Cell<(usize, Slot)> = const { Cell::new((0, 0)) };
    /// The connection whose reader has its turn on this thread, by address.
    static READING: Cell<usize> = const { Cell::new(0) };
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

/// The reader of a connection has its turn for as long as this exists.
pub(crate) struct Reading {
    before: usize,
}

impl Reading {
    pub(crate) fn begin(shared: &Shared) -> Self {
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
    /// Whether this is called from the turn of the connection's own reader.
    pub(crate) fn is_reading(&self) -> bool {
        READING.get() == address(self)
    }

    /// The slot of the handler that is calling, if one of this connection is.
    pub(crate) fn current_slot(self: &Arc<Self>) -> Option<Slot> {
        let (connection, slot) = CURRENT.get();
        (connection == address(self)).then_some(slot)
    }
}
