//! Steering messages to the running prompt (21.2). The Turn takes them between the results of its calls and its next
//! request to the model. A late one is dropped with a notice in the chat; most editors then send it as a prompt.

use bobbin_core::{Command, CoreError};
use bobbin_model::state::QueueChange;
use bobbin_model::{InputPart, Refusal};
use bobbin_peer::NotificationContext;
use tokio::sync::oneshot;

use super::prompt::turn_of;
use super::{Client, Ignored};
use crate::view::too_late;
use crate::wire;
use crate::wire::chat::{ChatParams, SteerParams};
use crate::wire::content::ChatContent;

pub(super) async fn steer(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: SteerParams = wire::params(notification.params.as_deref())?;
    let message = params.message.trim();
    if message.is_empty() {
        return Err(Ignored::new("the message is blank"));
    }
    let handle = client.existing(&params.chat_id).await?;
    let snapshot = client.threads().snapshot(&handle).await?;
    let late = ChatContent::system(too_late(message));
    let Some(turn) = snapshot.state.live_turn() else {
        client.tell(handle.id(), &[late]).await;
        return Ok(());
    };
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
    match guided.await.unwrap_or(Err(CoreError::Stopping)) {
        Ok(id) => {
            chats.with(handle.id(), |chat| chat.steering = Some(id));
        }
        Err(CoreError::Refused(Refusal::NotNow(_))) => client.tell(handle.id(), &[late]).await,
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

pub(super) async fn remove(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: ChatParams = wire::params(notification.params.as_deref())?;
    let id = params.chat_id.ok_or_else(|| Ignored::new("no chat is named"))?;
    let handle = client.existing(&id).await?;
    let chats = &client.eca.chats;
    let earlier = chats.with(handle.id(), |chat| {
        let id = chat.steering.take();
        chat.view.taken_back.clone_from(&id);
        id
    });
    let id = earlier.flatten().ok_or_else(|| Ignored::new("nothing waits"))?;
    // A message that the Turn has already taken cannot be removed.
    let reply = Box::new(|_| {});
    let change = QueueChange::Remove(id);
    handle.send(Command::ChangeQueue { change, reply }).await;
    Ok(())
}
