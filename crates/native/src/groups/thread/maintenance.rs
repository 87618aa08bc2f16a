//! Compacting a conversation because its user asks for it, and stopping that (07 §6.9). A compaction is a Turn.

use std::sync::Arc;

use bobbin_core::{Command, CoreError, ThreadHandle};
use bobbin_model::{HistoryMode, InputPart, ItemBody, Turn, TurnId, TurnStatus};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_native_wire::item::usage::ContextUsage;
use bobbin_native_wire::thread::params::ThreadTargetParams;
use bobbin_peer::Responder;
use bobbin_prompts::COMPACT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::client::{Client, fail, handle, refuse};
use crate::convert;
use crate::groups::command::handlers;

/// Result of `thread/compact/start`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ThreadCompactResult {
    /// How it ended.
    pub outcome: CompactOutcome,
    /// Why nothing was compacted, as a sentence.
    pub message: Option<String>,
    /// How full the model's window is now.
    pub context_usage: Option<ContextUsage>,
}

/// How a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactOutcome {
    /// The older part of the conversation was compacted.
    Partial,
    /// There was nothing to compact.
    Skipped,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

pub(super) async fn compact(client: &Client, params: ThreadTargetParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let history = client.threads().snapshot(&thread).await;
    match history.map(|snapshot| snapshot.state.header.history_mode) {
        Ok(HistoryMode::Server) => {}
        Ok(HistoryMode::Client) => {
            let detail = "The client has the conversation of this thread, and shortens it by itself.";
            return refuse(responder, RpcError::invalid_params(detail));
        }
        Err(error) => return fail(responder, &error),
    }
    let started = match handlers::compact(client, &thread, None).await {
        Ok(started) => started,
        Err(refusal) => return refusal.answer(responder),
    };
    let (waiting, peer) = (client.clone(), client.peer.clone());
    client.spawn(async move {
        tokio::select! {
            () = peer.closed() => {}
            ended = ended(&waiting, &thread, started.turn.id) => match ended {
                Ok(result) => responder.ok(result),
                Err(error) => fail(responder, &error),
            }
        }
    });
}

async fn ended(
    client: &Client,
    thread: &Arc<ThreadHandle>,
    turn: TurnId,
) -> Result<ThreadCompactResult, CoreError> {
    let threads = client.threads();
    threads.turn_over(thread, turn).await?;
    let snapshot = threads.snapshot(thread).await?;
    let mut turns = threads.turns_before(thread.id(), TurnId(turn.0 + 1), 1).await?;
    let ended = turns.pop().filter(|last| last.id == turn);
    let (outcome, message) = ended.map_or((CompactOutcome::Failed, None), outcome);
    Ok(ThreadCompactResult {
        outcome,
        message,
        context_usage: Some(convert::context(snapshot.state.context)),
    })
}

fn outcome(turn: Turn) -> (CompactOutcome, Option<String>) {
    let has = |is: fn(&ItemBody) -> bool| turn.items.iter().any(|item| is(&item.body));
    if has(|body| matches!(body, ItemBody::Compaction(_))) {
        return (CompactOutcome::Partial, None);
    }
    match turn.status {
        TurnStatus::Cancelled => (CompactOutcome::Cancelled, None),
        TurnStatus::Completed => {
            let why = turn.items.into_iter().find_map(|item| match item.body {
                ItemBody::Error { message, .. } => Some(message),
                _ => None,
            });
            (CompactOutcome::Skipped, why)
        }
        TurnStatus::Running | TurnStatus::WaitingApproval | TurnStatus::WaitingInput | TurnStatus::Failed => {
            (CompactOutcome::Failed, turn.error)
        }
    }
}

pub(super) async fn interrupt(client: &Client, params: ThreadTargetParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let state = match client.threads().snapshot(&thread).await {
        Ok(snapshot) => snapshot.state,
        Err(error) => return fail(responder, &error),
    };
    let running = state.live.as_ref().map(|live| &live.turn);
    let Some(turn) = running.filter(|turn| is_compaction(turn)) else {
        return responder.ok(EmptyResult {});
    };
    let turn = turn.id.to_string();
    // It may have ended by itself meanwhile.
    let reply = Box::new(|_| responder.ok(EmptyResult {}));
    client.command(&thread, Command::Interrupt { turn, reply }).await;
}

/// Whether a Turn does nothing but compact the conversation.
fn is_compaction(turn: &Turn) -> bool {
    turn.items.first().is_some_and(|item| match &item.body {
        ItemBody::UserMessage(said) => {
            matches!(&said.native[..], [InputPart::CommandRef { name, .. }] if name == COMPACT)
        }
        _ => false,
    })
}
