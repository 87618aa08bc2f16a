//! A word to the prompt that runs (21.2): taken between the results of its calls and the next request to the
//! model. One that comes too late is dropped; the editor sends it as a prompt of its own.

use bobbin_core::{Command, CoreError};
use bobbin_model::InputPart;
use bobbin_peer::NotificationContext;
use tokio::sync::oneshot;

use super::prompt::turn_of;
use super::{Client, Ignored};
use crate::wire;
use crate::wire::chat::{ChatParams, SteerParams};

pub(super) async fn steer(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: SteerParams = wire::params(notification.params.as_deref())?;
    let message = params.message.trim();
    if message.is_empty() {
        return Err(Ignored::new("the message is blank"));
    }
    let handle = client.existing(&params.chat_id).await?;
    let snapshot = client.hub().snapshot(&handle).await?;
    let turn = snapshot.state.live_turn();
    let turn = turn.ok_or_else(|| Ignored::new("nothing runs"))?;
    let chats = &client.eca.chats;
    let earlier = chats.with(handle.id(), |chat| chat.steering.clone()).flatten();
    let (done, guided) = oneshot::channel();
    let text = message.to_owned();
    let command = Command::Guide {
        request: turn_of(vec![InputPart::Text { text }], client.offer.keys.clone()),
        turn,
        replaces: earlier,
        reply: Box::new(move |result| drop(done.send(result))),
    };
    handle.send(command).await;
    let id = guided.await.unwrap_or(Err(CoreError::Stopping))?;
    chats.with(handle.id(), |chat| chat.steering = Some(id));
    Ok(())
}

pub(super) async fn remove(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: ChatParams = wire::params(notification.params.as_deref())?;
    let id = params.chat_id.ok_or_else(|| Ignored::new("no chat is named"))?;
    let handle = client.existing(&id).await?;
    let chats = &client.eca.chats;
    let earlier = chats.with(handle.id(), |chat| chat.steering.take()).flatten();
    let id = earlier.ok_or_else(|| Ignored::new("nothing waits"))?;
    // One that was taken meanwhile cannot be had back.
    let reply = Box::new(|_| {});
    handle.send(Command::Unqueue { id, reply }).await;
    Ok(())
}
