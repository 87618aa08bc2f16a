//! What a Turn has changed in files so far (AppServer protocol 03 §9), and reading that again.

use bobbin_model::{FileChange, TurnId};
use bobbin_peer::Responder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::client::{Client, fail, handle, refuse};
use crate::wire::{self, RpcError};

/// Params of `turn/diff/updated`: cumulative over the Turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffUpdatedNotification {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
    /// Unified diff of all changes, git style, paths relative to the workspace; empty when all was undone.
    pub diff: String,
    /// The changed files; complete even when `diff` was cut.
    pub files: Option<Vec<FileChange>>,
    /// `true` when `diff` was cut.
    pub truncated: Option<bool>,
    /// Extension: the number of the event, for clients that declared `eventCursors`.
    pub seq: Option<u64>,
}

/// Params of `turn/diff/read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffReadParams {
    /// The Thread.
    pub thread_id: String,
    /// The Turn.
    pub turn_id: String,
}

/// Result of `turn/diff/read`: what the last `turn/diff/updated` of the Turn said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnDiffReadResult {
    /// Unified diff of all changes, git style, paths relative to the workspace; empty when nothing changed.
    pub diff: String,
    /// The changed files; complete even when `diff` was cut.
    pub files: Vec<FileChange>,
    /// Whether `diff` was cut.
    pub truncated: bool,
}

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
    let (hub, client) = (client.hub().clone(), client.clone());
    let reads = client.reads.clone();
    reads.spawn(async move {
        let _permit = match client.large_answer().await {
            Ok(permit) => permit,
            Err(error) => return refuse(responder, error),
        };
        match hub.diff(thread.id(), turn).await {
            Ok(diff) => {
                let diff = diff.unwrap_or_default();
                responder.ok(wire::TurnDiffReadResult {
                    diff: diff.diff,
                    files: diff.files,
                    truncated: diff.truncated,
                });
            }
            Err(error) => fail(responder, &error),
        }
    });
}
