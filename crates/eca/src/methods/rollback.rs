//! Removes a message of the user and all later ones from a chat (21.3).

use std::collections::BTreeSet;
use std::sync::Arc;

use bobbin_agent_api::undo::{ChangedSince, Undone};
use bobbin_core::{Command, CoreError, Newest, RolledBack, ThreadHandle};
use bobbin_editor_kit::sentence;
use bobbin_model::{Refusal, TurnId};
use bobbin_peer::{CallContext, ErrorObject, Responder};
use tokio::sync::oneshot;

use super::{Client, Found, fail, params};
use crate::replay;
use crate::view::turn_of_content;
use crate::wire::chat::{Empty, RollbackParams};
use crate::wire::content::ChatContent;

/// Most files and notes that are named to the user.
const MAX_NAMED: usize = 20;

pub(super) async fn rollback(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<RollbackParams>(request, responder) else {
        return;
    };
    let include = params.include.unwrap_or_else(|| vec!["messages".to_owned()]);
    let includes = |name: &str| include.iter().any(|what| what == name);
    let (messages, tools) = (includes("messages"), includes("tools"));
    if !messages && !tools {
        return responder.err(ErrorObject::invalid_params(
            "'include' must have \"messages\", \"tools\" or both",
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
    if !tools {
        return go_back(client, &handle, turn, None, responder).await;
    }
    // Restoring files may take long, and other messages do not wait for it (2.4).
    let (client, tasks) = (client.clone(), client.tasks.clone());
    tasks.spawn(async move {
        let undone = undo(&client, &handle, turn).await;
        if messages {
            return go_back(&client, &handle, turn, Some(undone.text()), responder).await;
        }
        // The chat has already shown the files of each Turn.
        if undone.files.is_empty() || !undone.notes.is_empty() {
            client
                .tell(handle.id(), &[ChatContent::system(undone.text())])
                .await;
        }
        responder.ok(Empty {});
    });
}

/// Removes the Turns, shows the rest of the chat and reports what was undone in files.
async fn go_back(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    first: TurnId,
    undone: Option<String>,
    responder: Responder,
) {
    let taken_out = take_out(handle, first).await;
    if taken_out.is_ok()
        && let Err(error) = replay::show(client, handle).await
    {
        // The Turns are removed; only the new view is missing.
        let text = format!("\nWhat is left cannot be shown: {}\n", sentence(&error));
        client.tell(handle.id(), &[ChatContent::system(text)]).await;
    }
    // Files may be restored although the Turns stay.
    if let Some(text) = undone {
        client.tell(handle.id(), &[ChatContent::system(text)]).await;
    }
    match taken_out {
        Ok(_) => responder.ok(Empty {}),
        Err(error) => fail(responder, &error),
    }
}

/// The result of undoing Turns in files.
#[derive(Default)]
struct Files {
    files: BTreeSet<String>,
    notes: Vec<String>,
}

impl Files {
    /// Returns the text for the user.
    fn text(&self) -> String {
        let mut text = match self.files.len() {
            0 => "\nNo file was changed back.\n".to_owned(),
            1..=MAX_NAMED => {
                let files: Vec<_> = self.files.iter().map(String::as_str).collect();
                format!("\nUndone in the files: {}.\n", files.join(", "))
            }
            count => format!("\nUndone in {count} files.\n"),
        };
        for note in self.notes.iter().take(MAX_NAMED) {
            text.push_str(note);
            text.push('\n');
        }
        text
    }
}

/// Undoes the file changes of a Turn and of those after it, the newest first.
async fn undo(client: &Client, handle: &Arc<ThreadHandle>, first: TurnId) -> Files {
    let mut undone = Files::default();
    let snapshot = match client.threads().snapshot(handle).await {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let why = sentence(&error);
            undone.notes.push(format!("File changes are not undone: {why}"));
            return undone;
        }
    };
    for number in (first.0..=snapshot.state.last_turn.0).rev() {
        match revert(handle, TurnId(number)).await {
            Ok(of_turn) => {
                let files = of_turn.files.into_iter();
                undone.files.extend(files.map(|file| file.path));
                undone.notes.extend(of_turn.notes);
            }
            // The Turn was removed before.
            Err(CoreError::Refused(Refusal::TurnNotFound(_))) => {}
            Err(error) => {
                // Earlier Turns left files that this one has changed, so they cannot be undone either.
                let (turn, why) = (TurnId(number), sentence(&error));
                undone.notes.push(format!(
                    "File changes of {turn} and of those before it are not undone: {why}"
                ));
                break;
            }
        }
    }
    undone
}

async fn revert(handle: &ThreadHandle, turn: TurnId) -> Result<Undone, CoreError> {
    let (done, reverted) = oneshot::channel();
    let command = Command::Revert {
        turn: turn.to_string(),
        redo: false,
        // A button must not discard later changes by others.
        changed_since: ChangedSince::Refuse,
        reply: Box::new(move |result| drop(done.send(result))),
    };
    handle.send(command).await;
    let reverted = reverted.await.unwrap_or(Err(CoreError::Stopping))?;
    Ok(reverted.undone)
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
