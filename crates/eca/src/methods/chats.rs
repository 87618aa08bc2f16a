//! Chats as a whole: delete, list, open, rename (sections 11 and 20.4).

use bobbin_core::Beforehand;
use bobbin_core::{Command, CoreError, ListFilter, Reply, ThreadHandle, ThreadSummary};
use bobbin_model::{ApprovalPolicy, Mode, ThreadConfig};
use bobbin_peer::{CallContext, ErrorObject, Responder};
use tokio::sync::oneshot;

use super::prompt::apply_trust;
use super::{CHANNEL, Client, Found, fail, params};
use crate::replay;
use crate::wire::chat::{
    ChatParams, ClearParams, Empty, ListParams, ListResult, ListedChat, OpenParams, OpenResult, Selection,
    UpdateParams,
};
use crate::wire::config::{ChatConfig, ConfigUpdated};
use crate::wire::content::{ChatContent, Status};
use crate::wire::{ChatId, agent};

/// Most chats in a list.
const MAX_LISTED: usize = 1000;
/// Channels whose Threads are listed, besides Threads without a channel: our own endpoints.
const CHANNELS: [&str; 4] = [CHANNEL, "cli", "acp", "exec"];

pub(super) async fn delete(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<ChatParams>(request, responder) else {
        return;
    };
    let found = match &params.chat_id {
        Some(id) => client.find(id).await,
        None => Ok(Found::Free),
    };
    match found {
        Ok(Found::Chat(handle)) => {
            // A running Turn is shown to its end first; then `chat/deleted` comes with the event.
            let is_over = !client.is_busy(handle.id()).await;
            let (of, thread) = (client.clone(), handle.id().clone());
            let reply: Reply<()> = Box::new(move |deleted| match deleted {
                Ok(()) => {
                    // Emacs drops messages after the answer to a request that it waits for.
                    if is_over && of.tell_now(&thread, &[ChatContent::Deleted]) {
                        of.eca.chats.with(&thread, |chat| chat.gone = true);
                    }
                    responder.ok(Empty {});
                }
                Err(error) => fail(responder, &error),
            });
            let delete = |reply| Command::Delete { reply };
            if !client.threads().has_descendants(handle.id()).await {
                return handle.send(delete(reply)).await;
            }
            // Its subagents are deleted first. Later messages do not wait for that.
            let of = client.clone();
            client.tasks.spawn(async move {
                match of
                    .threads()
                    .for_descendants(handle.id(), Beforehand::Stop, delete)
                    .await
                {
                    Ok(()) => handle.send(delete(reply)).await,
                    Err(error) => reply(Err(error)),
                }
            });
        }
        Ok(Found::Free | Found::Bad) => responder.ok(Empty {}),
        Err(error) => fail(responder, &error),
    }
}

/// Empties a chat: a new Thread with the same id for clients, title and configuration replaces the old one. A running
/// Turn is ended first.
pub(super) async fn clear(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<ClearParams>(request, responder) else {
        return;
    };
    if params.messages == Some(false) {
        return responder.ok(Empty {});
    }
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => return responder.ok(Empty {}),
        Err(error) => return fail(responder, &error),
    };
    if let Err(error) = replace(client, &handle, params.chat_id).await {
        return fail(responder, &error);
    }
    // Deleting the old Thread takes as long as its prompt and its subagents. Other messages do not wait.
    let of = client.clone();
    client.tasks.spawn(async move {
        let delete = |reply| Command::Delete { reply };
        let gone = async {
            of.threads()
                .for_descendants(handle.id(), Beforehand::Stop, delete)
                .await?;
            done(&handle, delete).await
        };
        match gone.await {
            Ok(()) => responder.ok(Empty {}),
            Err(error) => fail(responder, &error),
        }
    });
}

/// Replaces a chat by an empty one. The old Thread is no chat of this client from then on.
async fn replace(client: &Client, old: &ThreadHandle, id: ChatId) -> Result<(), CoreError> {
    let snapshot = client.threads().snapshot(old).await?;
    let header = &snapshot.state.header;
    let (config, title) = (header.config.clone(), header.display_name.clone());
    // The new Thread comes first, so that a crash in between leaves one chat too many, not one too few.
    let new = client.new_thread(Some(&id), config, title).await?;
    let running = snapshot.state.live.is_some();
    if running {
        // The client must see the end of the old Turn before the chat is empty.
        client
            .tell(
                old.id(),
                &[ChatContent::Status(Status::Idle), ChatContent::finished()],
            )
            .await;
    }
    client.eca.chats.forget(old.id());
    client.know(new.id(), id);
    client.follow(new.clone(), new.log().visible().next());
    client.tell(new.id(), &[ChatContent::Cleared]).await;
    Ok(())
}

pub(super) fn list(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<ListParams>(request, responder) else {
        return;
    };
    let filter = listed_chats(client);
    let client = client.clone();
    let tasks = client.tasks.clone();
    tasks.spawn(async move {
        let mut threads = match client.threads().list(filter).await {
            Ok(threads) => threads,
            Err(error) => return fail(responder, &error),
        };
        if params.sort_by.as_deref() == Some("createdAt") {
            threads.sort_by_key(|thread| std::cmp::Reverse(thread.header.created_at));
        }
        let limit = params.limit.unwrap_or(MAX_LISTED).min(MAX_LISTED);
        let chats = threads
            .into_iter()
            .take(limit)
            .map(|thread| listed(&client, thread));
        responder.ok(ListResult {
            chats: chats.collect(),
        });
    });
}

/// Returns the filter for Threads that are listed as chats.
pub(crate) fn listed_chats(client: &Client) -> ListFilter {
    ListFilter {
        workspace_path: client.root().to_string_lossy().into_owned(),
        cross_channel_origins: CHANNELS.map(str::to_owned).to_vec(),
        ..ListFilter::default()
    }
}

fn listed(client: &Client, thread: ThreadSummary) -> ListedChat {
    ListedChat {
        id: client.id_of(&thread.header),
        title: thread.header.display_name,
        status: if thread.runtime.running { "running" } else { "idle" },
        created_at: thread.header.created_at.0,
        updated_at: thread.header.last_active_at.0,
        model: thread
            .header
            .config
            .and_then(|config| config.model)
            .unwrap_or_else(|| client.offer.models.usual()),
        message_count: thread.turn_count,
    }
}

pub(super) async fn open(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<OpenParams>(request, responder) else {
        return;
    };
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => {
            return responder.ok(OpenResult {
                found: false,
                chat_id: None,
                title: None,
                selection: None,
                meta: None,
            });
        }
        Err(error) => return fail(responder, &error),
    };
    if !params.window.is_readable() {
        return responder.err(ErrorObject::invalid_params(
            "'before' and 'after' are cursors of this chat",
        ));
    }
    let (header, meta) = match replay::show_part(client, &handle, &params.window).await {
        Ok(shown) => shown,
        Err(error) => return fail(responder, &error),
    };
    let config = header.config.unwrap_or_default();
    let (mode, model) = (config.mode(), model_of(client, &config));
    let told = ConfigUpdated {
        chat_id: Some(params.chat_id.clone()),
        chat: ChatConfig::selected(&model, mode, client.variants(&model, config.reasoning_effort)),
    };
    client.notify("config/updated", &told).await;
    responder.ok(OpenResult {
        found: true,
        chat_id: Some(params.chat_id),
        title: header.display_name,
        selection: Some(selection(client, model, mode, &config)),
        meta: Some(meta),
    });
}

fn model_of(client: &Client, config: &ThreadConfig) -> String {
    let own = config.model.clone();
    own.unwrap_or_else(|| client.offer.models.usual())
}

fn selection(client: &Client, model: String, mode: Mode, config: &ThreadConfig) -> Selection {
    // A policy from the options is not a user's trust in one chat.
    let by_options = client.eca.chosen.lock().policy == Some(ApprovalPolicy::AutoApprove);
    let variants = client.variants(&model, config.reasoning_effort);
    Selection {
        model,
        agent: agent(mode),
        variant: variants.selected,
        variants: variants.all,
        trust: !by_options && config.approval_policy == Some(ApprovalPolicy::AutoApprove),
    }
}

pub(super) async fn update(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<UpdateParams>(request, responder) else {
        return;
    };
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => return responder.ok(Empty {}),
        Err(error) => return fail(responder, &error),
    };
    match change(client, &handle, params).await {
        Ok(()) => responder.ok(Empty {}),
        Err(error) => fail(responder, &error),
    }
}

async fn change(client: &Client, handle: &ThreadHandle, params: UpdateParams) -> Result<(), CoreError> {
    if let Some(display_name) = params.title {
        done(handle, |reply| Command::Rename { display_name, reply }).await?;
    }
    if let Some(trust) = params.trust {
        let snapshot = client.threads().snapshot(handle).await?;
        let mut config = snapshot.state.header.config.clone().unwrap_or_default();
        apply_trust(&mut config, trust);
        done(handle, |reply| Command::Configure { config, reply }).await?;
    }
    Ok(())
}

async fn done(handle: &ThreadHandle, command: impl FnOnce(Reply<()>) -> Command) -> Result<(), CoreError> {
    let (tell, told) = oneshot::channel();
    let reply = Box::new(move |result| drop(tell.send(result)));
    handle.send(command(reply)).await;
    told.await.unwrap_or(Err(CoreError::Stopping))
}
