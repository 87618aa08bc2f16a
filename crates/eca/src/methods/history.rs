//! `chat/history` (21.3): a part of a chat's history, without opening the chat.
//!
//! A cursor is a Turn, for older or newer ones, so it stays valid as long as the chat exists.

use bobbin_peer::{CallContext, Responder};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::{Client, Found, fail, params};
use crate::replay::{self, Meta, Window};
use crate::wire::ChatId;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryParams {
    chat_id: ChatId,
    #[serde(flatten)]
    window: Window,
}

#[derive(Serialize)]
struct History {
    contents: Vec<Box<RawValue>>,
    meta: Meta,
}

pub(super) async fn history(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<HistoryParams>(request, responder) else {
        return;
    };
    let refused = |code: &str, message: &str| json!({ "error": { "code": code, "message": message } });
    if !params.window.is_readable() {
        return responder.ok(refused("cursor_expired", "the cursor is none of this chat"));
    }
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => {
            return responder.ok(refused("chat_not_found", "there is no such chat"));
        }
        Err(error) => return fail(responder, &error),
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        match replay::past(&of, &handle, &params.window).await {
            Ok((contents, meta)) => {
                let told = of.eca.notifications(handle.id(), &contents).into_iter();
                let contents = told.map(|told| told.params).collect();
                responder.ok(History { contents, meta });
            }
            Err(error) => fail(responder, &error),
        }
    });
}
