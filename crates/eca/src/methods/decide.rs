//! The user's decisions about a running prompt: approve, reject, stop (sections 9 and 10). An invalid message is
//! ignored with a log line; it is never an error.

use std::sync::Arc;

use bobbin_core::engine::Answer;
use bobbin_core::{Command, ThreadHandle};
use bobbin_model::{ApprovalId, Decision, TurnId};
use bobbin_peer::NotificationContext;

use super::{Client, Ignored};
use crate::view::{question_id, wire_id};
use crate::wire;
use crate::wire::ChatId;
use crate::wire::chat::{ChatParams, ToolCallParams};

pub(super) async fn approve(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: ToolCallParams = wire::params(notification.params.as_deref())?;
    let decision = match params.save.as_deref() {
        Some("session") => Decision::AcceptForSession,
        _ => Decision::Accept,
    };
    settle(client, &params.chat_id, &params.tool_call_id, decision).await
}

pub(super) async fn reject(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: ToolCallParams = wire::params(notification.params.as_deref())?;
    settle(client, &params.chat_id, &params.tool_call_id, Decision::Decline).await
}

async fn settle(client: &Client, chat: &ChatId, call: &str, decision: Decision) -> Result<(), Ignored> {
    let handle = client.existing(chat).await?;
    let snapshot = client.threads().snapshot(&handle).await?;
    let open = snapshot.state.approvals().iter();
    let asked = open
        .filter(|open| wire_id(open.turn, &open.call_id) == call)
        .map(|open| open.id.clone())
        .next();
    let (asks, approval) = match asked {
        Some(approval) => (handle.clone(), approval),
        None => asked_below(client, &handle, call)
            .await
            .ok_or_else(|| Ignored::new("the call does not wait for a word"))?,
    };
    let answer = Answer {
        approval,
        decision,
        client: bobbin_session::Dialect::client_name(&*client.eca),
        actor: bobbin_session::Dialect::actor(&*client.eca),
    };
    // The first answer counts. A late one is accepted silently.
    let reply = Box::new(|_| {});
    asks.send(Command::Answer { answer, reply }).await;
    // A client that decides about a chat follows it (section 22, rule 8).
    client.follow_on(handle, &snapshot).await?;
    Ok(())
}

/// Returns the subagent's question that a call of the chat represents.
async fn asked_below(
    client: &Client,
    handle: &ThreadHandle,
    call: &str,
) -> Option<(Arc<ThreadHandle>, ApprovalId)> {
    let open = client.threads().questions_of_descendants(handle.id()).await;
    let mut asked = open.into_iter();
    asked
        .find(|(_, open)| question_id(open.turn, &open.id) == call)
        .map(|(child, open)| (child, open.id))
}

pub(super) async fn stop(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: ChatParams = wire::params(notification.params.as_deref())?;
    let id = params.chat_id.ok_or_else(|| Ignored::new("no chat is named"))?;
    let handle = client.existing(&id).await?;
    let turn = match running(client, &handle).await? {
        Some(turn) => Some(turn),
        // A prompt without a Turn never gets one, or its Turn ends at once. If it has just got one, it is no longer
        // pending, but running.
        None if stop_pending(client, &handle) => return Ok(()),
        None => running(client, &handle).await?,
    };
    let turn = turn.ok_or_else(|| Ignored::new("nothing runs"))?;
    interrupt(&handle, turn).await;
    Ok(())
}

async fn running(client: &Client, handle: &Arc<ThreadHandle>) -> Result<Option<TurnId>, Ignored> {
    Ok(client.threads().snapshot(handle).await?.state.live_turn())
}

/// Stops the first prompt that is neither recorded nor stopped. Returns whether there was one.
fn stop_pending(client: &Client, handle: &ThreadHandle) -> bool {
    let chats = &client.eca.chats;
    let stopped = chats.with(handle.id(), |chat| {
        let waits = chat.pending.iter().find(|pending| !pending.stop.is_cancelled());
        waits.map(|pending| pending.stop.cancel())
    });
    stopped.flatten().is_some()
}

/// Stops a Turn, unless it has ended meanwhile.
pub(super) async fn interrupt(handle: &ThreadHandle, turn: TurnId) {
    let reply = Box::new(|_| {});
    let turn = turn.to_string();
    handle.send(Command::Interrupt { turn, reply }).await;
}
