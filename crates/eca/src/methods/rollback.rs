//! Taking a message of the user, and all that came after it, out of a chat (21.3).

use bobbin_core::{Command, CoreError, Newest, RolledBack, ThreadHandle};
use bobbin_model::TurnId;
use bobbin_peer::{CallContext, ErrorObject, Responder};
use tokio::sync::oneshot;

use super::{Client, Found, fail, params};
use crate::view::turn_of_content;
use crate::wire::chat::{Empty, RollbackParams};
use crate::wire::content::Told;
use crate::{errors, replay};

pub(super) async fn rollback(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<RollbackParams>(request, responder) else {
        return;
    };
    let include = params.include.unwrap_or_else(|| vec!["messages".to_owned()]);
    if !include.iter().any(|what| what == "messages") {
        return responder.err(ErrorObject::invalid_params(
            "'include' must have \"messages\": file changes cannot be undone by themselves",
        ));
    }
    let Some(turn) = turn_of_content(&params.content_id) else {
        return responder.err(ErrorObject::invalid_params(
            "'contentId' names no message that began a prompt of this chat",
        ));
    };
    let handle = match client.find(&params.chat_id).await {
        Ok(Found::Chat(handle)) => handle,
        Ok(Found::Free | Found::Bad) => return responder.ok(Empty {}),
        Err(error) => return fail(responder, &error),
    };
    if let Err(error) = take_out(&handle, turn).await {
        return fail(responder, &error);
    }
    if let Err(error) = replay::show(client, &handle, None).await {
        // It is done; only the picture is missing.
        let text = format!("\nWhat is left cannot be shown: {}\n", errors::sentence(&error));
        client.tell(handle.id(), &[Told::system(text)]).await;
    }
    if include.iter().any(|what| what == "tools") {
        let told = Told::system("\nFiles are as they were left: their changes are not undone.\n");
        client.tell(handle.id(), &[told]).await;
    }
    responder.ok(Empty {});
}

async fn take_out(handle: &ThreadHandle, first: TurnId) -> Result<RolledBack, CoreError> {
    let (done, taken_out) = oneshot::channel();
    let command = Command::RollBack {
        which: Newest::From(first),
        max_bytes: 0,
        reply: Box::new(move |result| drop(done.send(result))),
    };
    handle.send(command).await;
    taken_out.await.unwrap_or(Err(CoreError::Stopping))
}
