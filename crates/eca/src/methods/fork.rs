//! Forks a chat: the new one has the same start, up to a message and its answer (21.3).

use std::sync::Arc;

use bobbin_editor_kit::sentence;
use bobbin_model::state::NewThread;
use bobbin_model::{HistoryMode, Identity, TurnId};
use bobbin_peer::{CallContext, ErrorObject, Responder};

use super::{CHANNEL, Client, Found, fail, params};
use crate::view::turn_of_any;
use crate::wire::ChatId;
use crate::wire::chat::{ContentParams, Empty};
use crate::wire::content::ChatContent;
use crate::{flags, replay};

pub(super) async fn fork(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<ContentParams>(request, responder) else {
        return;
    };
    let Some(turn) = turn_of_any(flags::content_of(&params.content_id)) else {
        return responder.err(ErrorObject::invalid_params(
            "'contentId' names no content of this chat",
        ));
    };
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => return responder.ok(Empty {}),
        Err(error) => return fail(responder, &error),
    };
    let old = handle.id().clone();
    match copy(client, &handle, turn).await {
        Ok((id, None)) => {
            let text = format!("\nForked: the new chat is {id}.\n");
            client.tell(&old, &[ChatContent::system(text)]).await;
            responder.ok(Empty {});
        }
        Ok((id, Some(why))) => {
            let text = format!("\nForked: the new chat is {id}. It cannot be shown: {why}\n");
            client.tell(&old, &[ChatContent::system(text)]).await;
            responder.ok(Empty {});
        }
        Err(error) => fail(responder, &error),
    }
}

/// Creates the copy and shows it. Returns its id, and the reason if it could not be shown.
async fn copy(
    client: &Client,
    from: &bobbin_core::ThreadHandle,
    last: TurnId,
) -> Result<(String, Option<String>), bobbin_core::CoreError> {
    let header = client.threads().snapshot(from).await?.state.header.clone();
    let thread = client.threads().fresh_thread_id();
    let request = NewThread {
        id: thread.clone(),
        identity: Identity {
            channel_name: CHANNEL.to_owned(),
            ..Identity::default()
        },
        config: header.config,
        history_mode: HistoryMode::Server,
        display_name: header.display_name.map(|title| bobbin_core::fork_title(&title)),
    };
    let point = bobbin_core::ForkPoint::Ended(last);
    let threads = client.threads();
    threads.fork_thread(from, point, request, Arc::default()).await?;
    client.know(&thread, ChatId::Text(thread.to_string()));
    let handle = client.threads().thread(&thread).await?;
    let shown = replay::show(client, &handle).await;
    Ok((thread.to_string(), shown.err().map(|error| sentence(&error))))
}
