//! `session/close` and `session/delete`.

use bobbin_acp_wire::{Empty, SessionParams, StopReason};
use bobbin_core::{Command, CoreError};
use bobbin_model::{Refusal, ThreadId};
use bobbin_peer::{CallContext, ErrorObject, Responder};

use super::{Client, cancel, decoded};
use crate::errors;
use crate::sessions::Open;

/// Forgets a session on this connection. Its Thread stays. A Turn of this client's ends if nobody else follows it.
pub(super) async fn close(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<SessionParams>(request, responder) else {
        return;
    };
    let handle = match client.open_session(&params.session_id).await {
        Ok(handle) => handle,
        Err(error) => return responder.err(error),
    };
    let thread = handle.id();
    let live = client.threads().snapshot(&handle).await;
    let live = live.ok().and_then(|snapshot| snapshot.state.live_turn());
    let is_own = |turn| client.acp.sessions.with(thread, |open| open.runs(turn)) == Some(true);
    let own = live.filter(|turn| is_own(*turn));
    client.session.unsubscribe(thread);
    client.files.close(client.threads().clients(), thread);
    let queued = client.acp.sessions.with(thread, Open::stop);
    cancel::remove(&handle, queued.unwrap_or_default()).await;
    for prompt in client.acp.sessions.close(thread).unwrap_or_default() {
        prompt.answer(Ok(StopReason::Cancelled));
    }
    if let Some(turn) = own.filter(|_| handle.approvers() == 0) {
        cancel::interrupt(&handle, turn).await;
    }
    responder.ok(Empty {});
}

/// Deletes a session for all clients. One that is not there is deleted already.
pub(super) async fn delete(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<SessionParams>(request, responder) else {
        return;
    };
    match deleted(client, &ThreadId::new(params.session_id)).await {
        Ok(()) => responder.ok(Empty {}),
        Err(error) => responder.err(error),
    }
}

async fn deleted(client: &Client, thread: &ThreadId) -> Result<(), ErrorObject> {
    let is_gone = |error: &CoreError| matches!(error, CoreError::Refused(Refusal::ThreadNotFound(_)));
    let done = match client.threads().thread(thread).await {
        Ok(handle) => handle.ask(|reply| Command::Delete { reply }).await,
        Err(error) => Err(error),
    };
    match done {
        Err(error) if !is_gone(&error) => Err(errors::of(&error)),
        _ => Ok(()),
    }
}
