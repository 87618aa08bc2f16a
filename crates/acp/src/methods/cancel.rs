//! `session/cancel`: stops the Turn that runs, and the prompts of this client that wait.
//!
//! It is never an error. The prompts are answered once their Turns have ended.

use bobbin_acp_wire::SessionParams;
use bobbin_core::{Command, ThreadHandle};
use bobbin_model::state::QueueChange;
use bobbin_model::{QueuedInputId, TurnId};
use bobbin_peer::NotificationContext;

use super::{Client, params};
use crate::sessions::Open;

pub(super) async fn cancel(client: &Client, notification: &NotificationContext) {
    match params::<SessionParams>(notification.params.as_deref()) {
        Ok(params) => stop(client, &params.session_id).await,
        Err(error) => tracing::info!(%error, "a cancel was ignored"),
    }
}

/// Stops everything that a session does.
pub(super) async fn stop(client: &Client, session: &str) {
    let Ok(handle) = client.open_session(session).await else {
        return tracing::debug!(session, "a cancel names no open session");
    };
    // First those that wait, so that none of them starts.
    let queued = client.acp.sessions.with(handle.id(), Open::stop);
    remove(&handle, queued.unwrap_or_default()).await;
    match client.threads().snapshot(&handle).await {
        Ok(snapshot) => {
            if let Some(turn) = snapshot.state.live_turn() {
                interrupt(&handle, turn).await;
            }
        }
        Err(error) => tracing::warn!(%error, "a session that is cancelled cannot be read"),
    }
}

/// Removes inputs that wait, unless they have started meanwhile.
pub(super) async fn remove(handle: &ThreadHandle, queued: Vec<QueuedInputId>) {
    for id in queued {
        let change = QueueChange::Remove(id);
        let removed = handle.ask(|reply| Command::ChangeQueue { change, reply }).await;
        if let Err(error) = removed {
            tracing::debug!(%error, "a queued prompt was not removed");
        }
    }
}

/// Stops a Turn, unless it has ended meanwhile.
pub(super) async fn interrupt(handle: &ThreadHandle, turn: TurnId) {
    let turn = turn.to_string();
    if let Err(error) = handle.ask(|reply| Command::Interrupt { turn, reply }).await {
        tracing::debug!(%error, "a turn was not interrupted");
    }
}
