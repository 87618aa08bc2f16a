//! Whose Turns and queued inputs a client may stop, steer and take back: an author their own.
//!
//! A Turn and an entry of the queue have their actor for ever, so it does not matter what happens after the look.

use bobbin_core::ThreadHandle;
use bobbin_model::{Need, QueuedInput, ThreadState, TurnId};
use bobbin_native_wire::RpcError;

use crate::call::forbidden;
use crate::client::Client;
use crate::errors;

/// Returns the id of the Turn that a client may stop or steer: the one with this id, or the one that runs if the id is empty.
///
/// # Errors
/// It is another person's, or it does not run.
pub(super) async fn check_turn(
    client: &Client,
    thread: &ThreadHandle,
    turn: String,
    what: &str,
) -> Result<String, RpcError> {
    let is_meant = |id: &TurnId| turn.is_empty() || id.to_string() == turn;
    let mut running = turn.clone();
    let is_own = |state: &ThreadState| {
        let live = state.live.as_ref().filter(|live| is_meant(&live.turn.id));
        let live = live.ok_or_else(|| RpcError::turn_not_running(&turn))?;
        running = live.turn.id.to_string();
        Ok(client.actor().may_change_input_of(&live.features.actor))
    };
    check(client, thread, is_own, what).await?;
    Ok(running)
}

/// Checks that a client may change these entries of the queue. Unknown ones are refused later.
///
/// # Errors
/// One is another person's.
pub(super) async fn check_queued(
    client: &Client,
    thread: &ThreadHandle,
    is_changed: impl Fn(&QueuedInput) -> bool,
    what: &str,
) -> Result<(), RpcError> {
    check(
        client,
        thread,
        |state| {
            let mut changed = state.queue.iter().filter(|entry| is_changed(entry));
            Ok(changed.all(|entry| client.actor().may_change_input_of(&entry.features.actor)))
        },
        what,
    )
    .await
}

async fn check(
    client: &Client,
    thread: &ThreadHandle,
    is_own: impl FnOnce(&ThreadState) -> Result<bool, RpcError>,
    what: &str,
) -> Result<(), RpcError> {
    if client.actor().may(Need::Approve) {
        return Ok(());
    }
    let snapshot = client.threads().snapshot(thread).await;
    let snapshot = snapshot.map_err(|error| errors::of(&error))?;
    if is_own(&snapshot.state)? {
        Ok(())
    } else {
        Err(forbidden(client.actor(), what, Need::Approve))
    }
}
