//! What a user selects in the editor: mode and model (sections 14 and 20.5).

use bobbin_core::Command;
use bobbin_peer::NotificationContext;

use super::prompt::is_known;
use super::{Client, Ignored};
use crate::chats::Said;
use crate::wire::chat::{SelectedModeParams, SelectedModelParams};
use crate::wire::config::{ChatConfig, ConfigUpdated, NativeServer};
use crate::wire::{self, mode_of};

pub(super) async fn mode(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: SelectedModeParams = wire::params(notification.params.as_deref())?;
    let mode = mode_of(&params.behavior);
    let known = params.chat_id.and_then(|id| client.eca.chats.thread(&id));
    if let Some(thread) = known {
        let now = client.eca.chosen.lock().tick();
        let said = Said {
            mode: true,
            model: false,
        };
        client.eca.chats.with(&thread, |chat| chat.says(said, now));
        let handle = client.hub().thread(&thread).await?;
        let reply = Box::new(|_| {});
        handle.send(Command::SetMode { mode, reply }).await;
    } else {
        let mut chosen = client.eca.chosen.lock();
        chosen.mode = Some(mode);
        chosen.mode_at = chosen.tick();
    }
    let tools = NativeServer::new(client.tools(), mode);
    client.notify("tool/serverUpdated", &tools).await;
    Ok(())
}

pub(super) async fn model(client: &Client, notification: &NotificationContext) -> Result<(), Ignored> {
    let params: SelectedModelParams = wire::params(notification.params.as_deref())?;
    if !is_known(client, &params.model) {
        return Err(Ignored::new("there is no such model"));
    }
    let known = params.chat_id.as_ref().and_then(|id| client.eca.chats.thread(id));
    if let Some(thread) = known {
        let now = client.eca.chosen.lock().tick();
        let said = Said {
            mode: false,
            model: true,
        };
        client.eca.chats.with(&thread, |chat| chat.says(said, now));
        client.limit(&thread, Some(&params.model));
        let handle = client.hub().thread(&thread).await?;
        let snapshot = client.hub().snapshot(&handle).await?;
        let mut config = snapshot.state.header.config.clone().unwrap_or_default();
        config.model = Some(params.model);
        let reply = Box::new(|_| {});
        handle.send(Command::Configure { config, reply }).await;
    } else {
        let mut chosen = client.eca.chosen.lock();
        chosen.model = Some(params.model);
        chosen.model_at = chosen.tick();
    }
    let config = ConfigUpdated {
        chat_id: params.chat_id,
        chat: ChatConfig::no_variants(),
    };
    client.notify("config/updated", &config).await;
    Ok(())
}
