//! What a user selects in the editor: mode and model (sections 14 and 20.5).

use bobbin_core::Command;
use bobbin_peer::NotificationContext;

use super::{Client, Ignored};
use crate::wire::chat::{SelectedModeParams, SelectedModelParams};
use crate::wire::config::{ChatConfig, ConfigUpdated, NativeServer};
use crate::wire::{self, mode_of};

pub(super) async fn mode(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: SelectedModeParams = wire::params(notification.params.as_deref())?;
    let mode = mode_of(&params.behavior);
    let known = params.chat_id.and_then(|id| client.eca.chats.thread(&id));
    match known {
        Some(thread) => {
            client.eca.chats.with(&thread, |chat| chat.mode = Some(mode));
            let handle = client.hub().thread(&thread).await?;
            let reply = Box::new(|_| {});
            handle.send(Command::SetMode { mode, reply }).await;
        }
        None => client.eca.chosen.lock().mode = Some(mode),
    }
    let tools = NativeServer::new(client.tools(), mode);
    client.notify("tool/serverUpdated", &tools).await;
    Ok(())
}

pub(super) async fn model(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: SelectedModelParams = wire::params(notification.params.as_deref())?;
    let known = params.chat_id.as_ref().and_then(|id| client.eca.chats.thread(id));
    match known {
        Some(thread) => {
            let handle = client.hub().thread(&thread).await?;
            let snapshot = client.hub().snapshot(&handle).await?;
            let mut config = snapshot.state.header.config.clone().unwrap_or_default();
            config.model = Some(params.model);
            let reply = Box::new(|_| {});
            handle.send(Command::Configure { config, reply }).await;
        }
        None => client.eca.chosen.lock().model = Some(params.model),
    }
    let config = ConfigUpdated {
        chat_id: params.chat_id,
        chat: ChatConfig::no_variants(),
    };
    client.notify("config/updated", &config).await;
    Ok(())
}
