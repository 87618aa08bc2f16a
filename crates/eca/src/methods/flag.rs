//! Adding and removing bookmarks of messages (21.3).

use bobbin_editor_kit::sentence;
use bobbin_peer::{CallContext, ErrorObject, Responder};

use super::{Client, Found, fail, params};
use crate::view::turn_of_any;
use crate::wire::chat::{ContentParams, Empty, FlagParams};
use crate::{flags, replay};

pub(super) async fn add(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<FlagParams>(request, responder) else {
        return;
    };
    let text = params.text.trim().to_owned();
    if text.is_empty() || turn_of_any(flags::content_of(&params.content_id)).is_none() {
        return responder.err(ErrorObject::invalid_params(
            "'text' must not be blank, and 'contentId' must name a content of this chat",
        ));
    }
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => return responder.ok(Empty {}),
        Err(error) => return fail(responder, &error),
    };
    if let Err(error) = flags::put(&handle, &params.content_id, Some(text)).await {
        return fail(responder, &error);
    }
    if let Err(error) = replay::show(client, &handle).await {
        // The flag is stored, and is shown when the chat is opened again.
        tracing::info!(error = sentence(&error), "a flag was not shown");
    }
    responder.ok(Empty {});
}

pub(super) async fn remove(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<ContentParams>(request, responder) else {
        return;
    };
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => return responder.ok(Empty {}),
        Err(error) => return fail(responder, &error),
    };
    match flags::put(&handle, &params.content_id, None).await {
        Ok(()) => responder.ok(Empty {}),
        Err(error) => fail(responder, &error),
    }
}
