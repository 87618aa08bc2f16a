//! Extension: `turn/diff/read`, the changes of a Turn in files.

use crate::client::{Client, fail, handle, refuse};
use bobbin_model::TurnId;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::history::types::{TurnDiffReadParams, TurnDiffReadResult};
use bobbin_peer::Responder;

pub(super) async fn read(client: &Client, params: TurnDiffReadParams, responder: Responder) {
    let Ok(turn) = params.turn_id.parse::<TurnId>() else {
        return refuse(
            responder,
            RpcError::invalid_params("'turnId' is no id of a Turn."),
        );
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let threads = client.threads().clone();
    client.answer_large(responder, async move |responder| {
        match threads.diff(thread.id(), turn).await {
            Ok(diff) => {
                let diff = diff.unwrap_or_default();
                responder.ok(TurnDiffReadResult {
                    diff: diff.diff,
                    files: diff.files,
                    truncated: diff.truncated,
                });
            }
            Err(error) => fail(responder, &error),
        }
    });
}
