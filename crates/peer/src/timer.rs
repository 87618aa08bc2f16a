//! The one timer of a connection's outgoing calls.
//!
//! The first call with a deadline starts it, and the shutdown ends it. It sleeps until the earliest deadline and
//! fails every call that is past its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::calls::Pending;
use crate::error::CallError;
use crate::log::Note;
use crate::shared::Shared;
use crate::state::{After, State};
use crate::stats::Phase;

/// Longest single sleep; later deadlines are checked again.
const LONGEST_SLEEP: Duration = Duration::from_hours(24);

/// Enforces the deadlines of one connection.
pub(crate) async fn run(shared: Arc<Shared>) {
    while !shared.stop.is_cancelled() {
        let next = shared.with(|state, after| {
            expire(state, &shared, after);
            state.calls.earliest()
        });
        let soon = Instant::now() + LONGEST_SLEEP;
        tokio::select! {
            () = shared.stop.cancelled() => {}
            () = shared.timer.notified() => {}
            () = sleep_until(next.map_or(soon, |next| next.min(soon))), if next.is_some() => {}
        }
    }
}

fn expire(state: &mut State, shared: &Shared, after: &mut After) {
    if state.phase != Phase::Active {
        return;
    }
    while let Some((id, pending)) = state.calls.expire(Instant::now()) {
        let Pending {
            method,
            caller,
            timeout,
            ..
        } = pending;
        let limit = timeout.map_or(Duration::ZERO, |timeout| timeout.after);
        state.counters.calls_timed_out += 1;
        after.notes.push(Note::Warn(format!(
            "call {method} id {id} timed out after {limit:?}"
        )));
        state.calls.store_result(id, Err(CallError::TimedOut(limit)));
        after.wake(caller);
        shared.cancel_remote(state, id, after);
    }
}
