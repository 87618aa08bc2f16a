//! The user's selection of mode and model in the editor (sections 14 and 20.5).

use std::sync::atomic::Ordering;

use bobbin_core::Command;
use bobbin_model::Effort;
use bobbin_peer::NotificationContext;

use super::{Client, Ignored};
use crate::chats::Said;
use crate::wire::chat::{SelectedModeParams, SelectedModelParams};
use crate::wire::config::{ChatConfig, ConfigUpdated, NativeServer, Variants};
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
        let handle = client.threads().thread(&thread).await?;
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
    let Some(model) = client.offer.models.find(&params.model) else {
        return Err(Ignored::new("there is no such model"));
    };
    let known = params.chat_id.as_ref().and_then(|id| client.eca.chats.thread(id));
    let effort;
    if let Some(thread) = known {
        let now = client.eca.chosen.lock().tick();
        let said = Said {
            mode: false,
            model: true,
        };
        client.eca.chats.with(&thread, |chat| chat.says(said, now));
        client.limit(&thread, Some(&model));
        let handle = client.threads().thread(&thread).await?;
        let snapshot = client.threads().snapshot(&handle).await?;
        let mut config = snapshot.state.header.config.clone().unwrap_or_default();
        config.model = Some(model.clone());
        config.reasoning_effort = variant(params.variant.as_deref()).or(config.reasoning_effort);
        effort = config.reasoning_effort;
        let reply = Box::new(|_| {});
        handle.send(Command::Configure { config, reply }).await;
    } else {
        let mut chosen = client.eca.chosen.lock();
        chosen.model = Some(model.clone());
        chosen.effort = variant(params.variant.as_deref()).or(chosen.effort);
        effort = chosen.effort;
        chosen.model_at = chosen.tick();
    }
    let config = ConfigUpdated {
        chat_id: params.chat_id,
        chat: ChatConfig::variants(client.variants(&model, effort)),
    };
    client.notify("config/updated", &config).await;
    Ok(())
}

/// Returns the effort of a variant's name; `None` for an unknown name.
pub(super) fn variant(name: Option<&str>) -> Option<Effort> {
    name.and_then(Effort::of_name)
}

impl Client {
    /// Returns the variants of a model and the selected one, if the model has it.
    pub(super) fn variants(&self, model: &str, selected: Option<Effort>) -> Variants {
        let efforts = self.offer.models.efforts(model);
        let selected = selected.filter(|effort| efforts.contains(effort));
        Variants {
            all: efforts.into_iter().map(Effort::name).collect(),
            selected: selected.map(Effort::name),
        }
    }
}

/// Starts a task that asks providers for their models and sends the client a changed list. One such task runs at a
/// time.
pub(super) fn refresh_models(client: &Client) {
    if client.eca.refreshing.swap(true, Ordering::AcqRel) {
        return;
    }
    let of = client.clone();
    client.tasks.spawn(async move {
        update_models(&of).await;
        of.eca.refreshing.store(false, Ordering::Release);
    });
}

/// Asks providers for their models and sends the client a changed list.
pub(super) async fn update_models(client: &Client) {
    tokio::select! {
        () = client.peer.closed() => return,
        () = client.offer.models.refresh() => {}
    }
    let models = client.offer.models.known();
    let is_new = std::mem::replace(&mut *client.eca.known_models.lock(), models.clone()) != models;
    if is_new {
        let chat = ChatConfig {
            models: Some(&models),
            ..ChatConfig::default()
        };
        client
            .notify("config/updated", &ConfigUpdated { chat_id: None, chat })
            .await;
    }
}
