//! A person's word on a running prompt: approve, reject, stop (sections 9 and 10). Whatever does not fit is
//! ignored with a log line; it is never an error.

use bobbin_core::Command;
use bobbin_core::engine::Answer;
use bobbin_model::Decision;
use bobbin_peer::NotificationContext;

use super::{Client, Ignored};
use crate::view::wire_id;
use crate::wire;
use crate::wire::ChatId;
use crate::wire::chat::{ChatParams, ToolCallParams};
use crate::wire::content::{Status, Told};

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
    let snapshot = client.hub().snapshot(&handle).await?;
    let open = snapshot.state.approvals().iter();
    let asked = open
        .filter(|open| wire_id(open.turn, &open.call_id) == call)
        .map(|open| open.id.clone())
        .next();
    let approval = asked.ok_or_else(|| Ignored::new("the call does not wait for a word"))?;
    let answer = Answer {
        approval,
        decision,
        client: bobbin_session::Dialect::client_name(&*client.eca),
    };
    // The first answer counts; one that comes too late is taken without a word.
    let reply = Box::new(|_| {});
    handle.send(Command::Answer { answer, reply }).await;
    Ok(())
}

pub(super) async fn stop(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: ChatParams = wire::params(notification.params.as_deref())?;
    let id = params.chat_id.ok_or_else(|| Ignored::new("no chat is named"))?;
    let handle = client.existing(&id).await?;
    let snapshot = client.hub().snapshot(&handle).await?;
    let Some(turn) = snapshot.state.live_turn() else {
        let chats = &client.eca.chats;
        let gathering = chats.with(handle.id(), |chat| chat.gathering.take()).flatten();
        let gathering = gathering.ok_or_else(|| Ignored::new("nothing runs"))?;
        gathering.cancel();
        return Ok(());
    };
    client
        .eca
        .chats
        .with(handle.id(), |chat| chat.view.stopping = true);
    client.tell(handle.id(), &[Told::Status(Status::Stopping)]).await;
    // A Turn that has ended meanwhile needs no stop.
    let reply = Box::new(|_| {});
    let turn = turn.to_string();
    handle.send(Command::Interrupt { turn, reply }).await;
    Ok(())
}
