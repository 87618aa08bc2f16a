//! Lists: Threads, tool servers, profiles.

use std::collections::BTreeMap;

use bobbin_model::{OfferedTool, ThreadId, ThreadStatus, UnixMillis};
use bobbin_peer::ErrorObject;
use bobbin_store::{ListFilter, ThreadSummary};
use serde_json::{Value, json};

use super::{Answer, Client};
use crate::{errors, turns};

/// Threads of a page where the client names no number, and at most.
const PAGE: u32 = 25;
const MAX_PAGE: u32 = 100;
/// Threads that are looked through for those that run.
const MAX_LOADED: u32 = 200;

fn filter(client: &Client) -> ListFilter {
    ListFilter {
        workspace_path: client.codex.root().to_owned(),
        every_user: true,
        ..ListFilter::default()
    }
}

/// `thread/list`. The client's filters of sources and providers say "those of users", which ours are.
pub(super) async fn threads(client: &Client, params: &Value) -> Answer {
    if params["sectionId"].is_string() {
        return Ok(json!({ "data": [], "nextCursor": null }));
    }
    if let Some(parent) = params["parentThreadId"].as_str() {
        let parent = client
            .codex
            .ids
            .thread(parent)
            .ok_or_else(|| errors::no_thread(parent))?;
        let children = client
            .threads()
            .children(&parent, bobbin_core::Closed::Included)
            .await;
        let children = children.map_err(|error| errors::of(&error))?;
        return Ok(json!({ "data": shown(client, &children), "nextCursor": null }));
    }
    let wanted = params["limit"]
        .as_u64()
        .and_then(|limit| u32::try_from(limit).ok());
    let limit = wanted.unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let is_archived = params["archived"] == true;
    let after = match params["cursor"].as_str() {
        Some(cursor) => Some(place(cursor).ok_or_else(|| errors::invalid("the cursor is not one of ours"))?),
        None => None,
    };
    let filter = ListFilter {
        include_archived: is_archived,
        title: params["searchTerm"]
            .as_str()
            .filter(|term| !term.is_empty())
            .map(str::to_owned),
        after,
        limit: Some(limit + 1),
        ..filter(client)
    };
    let found = client.threads().list(filter).await;
    let mut found = found.map_err(|error| errors::of(&error))?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let next = found.last().filter(|_| has_more).map(cursor);
    found.retain(|summary| {
        let status = summary.header.status;
        summary.turn_count > 0 && (status == ThreadStatus::Archived) == is_archived
    });
    Ok(json!({ "data": shown(client, &found), "nextCursor": next }))
}

fn shown(client: &Client, found: &[ThreadSummary]) -> Vec<Value> {
    let model = client.codex.models.usual();
    found
        .iter()
        .map(|summary| turns::listed(&client.codex.ids, summary, &model))
        .collect()
}

fn cursor(last: &ThreadSummary) -> String {
    format!("{}_{}", last.header.last_active_at.0, last.header.id)
}

fn place(cursor: &str) -> Option<(UnixMillis, ThreadId)> {
    let (at, id) = cursor.split_once('_')?;
    Some((UnixMillis(at.parse().ok()?), ThreadId::new(id)))
}

/// `thread/loaded/list`: the Threads that run or wait, and those that this client follows.
pub(super) async fn loaded(client: &Client) -> Answer {
    let filter = ListFilter {
        limit: Some(MAX_LOADED),
        ..filter(client)
    };
    let found = client
        .threads()
        .list(filter)
        .await
        .map_err(|error| errors::of(&error))?;
    let live = found
        .iter()
        .filter(|summary| summary.runtime.running || client.session.is_subscribed(&summary.header.id));
    let ids: Vec<String> = live
        .map(|summary| client.codex.ids.uuid(&summary.header.id))
        .collect();
    Ok(json!({ "data": ids, "nextCursor": null }))
}

/// `collaborationMode/list`.
pub(super) fn modes() -> Value {
    json!({ "data": [{ "name": "Plan", "mode": "plan" }, { "name": "Default", "mode": "default" }] })
}

/// `permissionProfile/list`.
pub(super) fn profiles() -> Value {
    let profile = |id: &str, allowed: bool, description: &str| json!({ "id": id, "allowed": allowed, "description": description });
    json!({ "data": [
        profile(":read-only", true, "Plan mode: the agent changes nothing"),
        profile(":workspace", true, "As the server is configured"),
        profile(":danger-full-access", false, "Only the server's own configuration gives it"),
    ] })
}

/// `mcpServerStatus/list`.
pub(super) fn servers(client: &Client) -> Value {
    let servers = client.offer.services.tool_servers.as_ref();
    let servers = servers.map_or_else(Vec::new, |servers| servers.servers());
    let data: Vec<Value> = servers
        .iter()
        .map(|server| {
            let tool = |tool: &OfferedTool| {
                let schema: Value = serde_json::from_str(tool.input_schema.get()).unwrap_or_default();
                (
                    tool.name.clone(),
                    json!({ "name": tool.name, "inputSchema": schema }),
                )
            };
            let tools: BTreeMap<String, Value> = server.tools.iter().map(tool).collect();
            json!({
                "name": server.name,
                "authStatus": "unknown",
                "tools": tools,
                "resources": [],
                "resourceTemplates": [],
            })
        })
        .collect();
    json!({ "data": data })
}

/// `config/batchWrite`: the client remembers its own choice of a model; the server's settings are its own.
pub(super) fn write_config(params: &Value) -> Answer {
    let edits = params["edits"].as_array();
    let is_own = |edit: &Value| matches!(edit["keyPath"].as_str(), Some("model" | "model_reasoning_effort"));
    if edits.is_some_and(|edits| edits.iter().all(is_own)) {
        return Ok(json!({ "status": "ok", "version": "0", "filePath": "/" }));
    }
    let error: ErrorObject = errors::invalid("settings of this server are made in its config.json");
    Err(error)
}
