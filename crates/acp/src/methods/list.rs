//! `session/list`: the sessions of the workspace, newest first, a page at a time.

use bobbin_acp_wire::{ListSessionsParams, ListSessionsResult, SessionInfo};
use bobbin_core::{ListFilter, ThreadSummary};
use bobbin_model::{ThreadId, UnixMillis};
use bobbin_peer::{CallContext, ErrorObject, Responder};

use super::{CHANNEL, Client, decoded};
use crate::errors;
use crate::view::rfc3339;

/// Sessions of a page.
const PAGE: usize = 50;
/// The channels of users, whose Threads are sessions.
const CHANNELS: [&str; 4] = [CHANNEL, "cli", "eca", "exec"];

pub(super) fn list(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<ListSessionsParams>(request, responder) else {
        return;
    };
    let of = client.clone();
    client.tasks.spawn(async move {
        match page(&of, params).await {
            Ok(result) => responder.ok(result),
            Err(error) => responder.err(error),
        }
    });
}

async fn page(client: &Client, params: ListSessionsParams) -> Result<ListSessionsResult, ErrorObject> {
    let root = client.root().to_string_lossy().into_owned();
    let after = params.cursor.as_deref().map(after).transpose()?;
    let is_ours = |cwd: &String| std::fs::canonicalize(cwd).is_ok_and(|cwd| cwd == client.root());
    if params.cwd.as_ref().is_some_and(|cwd| !is_ours(cwd)) {
        return Ok(ListSessionsResult::default());
    }
    let filter = ListFilter {
        workspace_path: root.clone(),
        cross_channel_origins: CHANNELS.map(str::to_owned).to_vec(),
        after,
        limit: u32::try_from(PAGE + 1).ok(),
        ..ListFilter::default()
    };
    let found = client.threads().list(filter).await;
    let mut found = found.map_err(|error| errors::of(&error))?;
    let has_more = found.len() > PAGE;
    found.truncate(PAGE);
    let next_cursor = found.last().filter(|_| has_more).map(cursor);
    // A client compares the directory with its own spelling of it.
    let cwd = params.cwd.unwrap_or(root);
    let sessions = found.into_iter().map(|summary| SessionInfo {
        session_id: summary.header.id.to_string(),
        cwd: cwd.clone(),
        title: summary.header.display_name,
        updated_at: Some(rfc3339(summary.header.last_active_at)),
        additional_directories: None,
        meta: None,
    });
    Ok(ListSessionsResult {
        sessions: sessions.collect(),
        next_cursor,
    })
}

/// Returns the cursor after a session.
fn cursor(last: &ThreadSummary) -> String {
    format!("{}.{}", last.header.last_active_at.0, last.header.id)
}

/// Reads a cursor.
fn after(cursor: &str) -> Result<(UnixMillis, ThreadId), ErrorObject> {
    let read = cursor.split_once('.').and_then(|(at, id)| {
        let at = at.parse().ok()?;
        (!id.is_empty()).then(|| (UnixMillis(at), ThreadId::new(id)))
    });
    read.ok_or_else(|| errors::invalid("The cursor is none of this list; start the list again."))
}
