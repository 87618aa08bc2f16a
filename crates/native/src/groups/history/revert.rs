//! `turn/revert`: undoes a Turn's changes of files. The core has their earlier contents.

use crate::client::{Client, fail, handle};
use bobbin_agent_api::undo::ChangedSince;
use bobbin_core::{Command, Reply, Reverted};
use bobbin_native_wire::history::types::{TurnRevertParams, TurnRevertResult};
use bobbin_peer::Responder;

pub(super) async fn revert(client: &Client, params: TurnRevertParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let reply: Reply<Reverted> = Box::new(move |reverted| match reverted {
        Ok(Reverted { turn, undone }) => responder.ok(TurnRevertResult {
            turn_id: turn.to_string(),
            files: undone.files.clone(),
            notes: undone.notes,
        }),
        Err(error) => fail(responder, &error),
    });
    let command = Command::Revert {
        turn: params.turn_id,
        redo: params.redo.unwrap_or_default(),
        changed_since: if params.force.unwrap_or_default() {
            ChangedSince::Overwrite
        } else {
            ChangedSince::Refuse
        },
        reply,
    };
    client.command(&thread, command).await;
}
