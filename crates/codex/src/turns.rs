//! Threads and Turns as the client reads them.

use bobbin_model::state::ThreadState;
use bobbin_model::{Runtime, ThreadHeader, TokenUsage, Turn, TurnId, TurnStatus, UnixMillis};
use bobbin_store::ThreadSummary;
use serde_json::{Value, json};

use crate::ids::Ids;

/// The provider that the client shows beside a model's full name.
pub(crate) const PROVIDER: &str = "bobbin";

/// Returns a moment in seconds.
fn seconds(at: UnixMillis) -> i64 {
    at.0.div_euclid(1000)
}

/// Returns what a Thread does.
pub(crate) fn status(runtime: Runtime) -> Value {
    if !runtime.running {
        return json!({ "type": "idle" });
    }
    let flags: Vec<&str> = [
        (runtime.waiting_on_approval, "waitingOnApproval"),
        (runtime.waiting_on_input, "waitingOnUserInput"),
    ]
    .into_iter()
    .filter_map(|(is_set, flag)| is_set.then_some(flag))
    .collect();
    json!({ "type": "active", "activeFlags": flags })
}

/// Returns a Thread of a list.
pub(crate) fn listed(ids: &Ids, summary: &ThreadSummary, model: &str) -> Value {
    thread(ids, &summary.header, summary.runtime, model)
}

/// Returns a Thread.
pub(crate) fn of_state(ids: &Ids, state: &ThreadState, model: &str) -> Value {
    thread(ids, &state.header, state.runtime(), model)
}

fn thread(ids: &Ids, header: &ThreadHeader, runtime: Runtime, model: &str) -> Value {
    let id = ids.uuid(&header.id);
    let config = header.config.as_ref();
    let parent = header.source.sub_agent().map(|source| ids.uuid(&source.parent));
    let forked_from = header
        .metadata
        .get(bobbin_core::FORKED_FROM)
        .map(|from| ids.uuid(&bobbin_model::ThreadId::new(from.as_str())));
    json!({
        "id": id,
        "sessionId": id,
        "preview": header.display_name.as_deref().unwrap_or_default(),
        "ephemeral": false,
        "modelProvider": PROVIDER,
        "projectId": null,
        "createdAt": seconds(header.created_at),
        "updatedAt": seconds(header.last_active_at),
        "recencyAt": seconds(header.last_active_at),
        "status": status(runtime),
        "cwd": header.workspace_path,
        "cliVersion": "0",
        "source": "appServer",
        "turns": [],
        "name": header.display_name,
        "model": config.and_then(|config| config.model.as_deref()).unwrap_or(model),
        "historyMode": "paginated",
        "parentThreadId": parent,
        "forkedFromId": forked_from,
        "canAcceptDirectInput": parent.is_none(),
    })
}

/// Returns a Turn without its items.
pub(crate) fn turn(turn: &Turn) -> Value {
    let error = match turn.status {
        TurnStatus::Failed => turn.error.as_deref(),
        _ => None,
    };
    let duration = turn.completed_at.map(|end| end.0 - turn.started_at.0);
    json!({
        "id": turn.id.to_string(),
        "items": [],
        "itemsView": "notLoaded",
        "status": word(turn.status),
        "error": error.map(|message| json!({ "message": message })),
        "startedAt": seconds(turn.started_at),
        "completedAt": turn.completed_at.map(seconds),
        "durationMs": duration,
    })
}

/// Returns a Turn that has just started.
pub(crate) fn started(turn: TurnId, at: UnixMillis) -> Value {
    json!({
        "id": turn.to_string(),
        "items": [],
        "itemsView": "notLoaded",
        "status": "inProgress",
        "error": null,
        "startedAt": seconds(at),
    })
}

/// Returns a Turn that has just ended.
pub(crate) fn ended(turn: TurnId, status: TurnStatus, error: Option<&str>, at: UnixMillis) -> Value {
    json!({
        "id": turn.to_string(),
        "items": [],
        "itemsView": "notLoaded",
        "status": word(status),
        "error": error.map(|message| json!({ "message": message })),
        "completedAt": seconds(at),
    })
}

fn word(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Running | TurnStatus::WaitingApproval | TurnStatus::WaitingInput => "inProgress",
        TurnStatus::Completed => "completed",
        TurnStatus::Failed => "failed",
        TurnStatus::Cancelled => "interrupted",
    }
}

/// Returns counted tokens.
pub(crate) fn tokens(usage: TokenUsage) -> Value {
    json!({
        "totalTokens": usage.input_tokens + usage.output_tokens,
        "inputTokens": usage.input_tokens,
        "cachedInputTokens": usage.cached_input_tokens,
        "outputTokens": usage.output_tokens,
        "reasoningOutputTokens": usage.reasoning_output_tokens,
    })
}
