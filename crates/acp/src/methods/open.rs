//! `session/new`, `session/load` and `session/resume`.
//!
//! No update of a session comes before the answer that names it, except for the replay of a load.

use std::path::Path;
use std::sync::Arc;

use bobbin_acp_wire::{
    LoadSessionParams, McpServer, NewSessionParams, NewSessionResult, OpenedSession, SessionUpdate, Severity,
};
use bobbin_core::{CoreError, Snapshot, ThreadHandle};
use bobbin_editor_kit::NoticeKind;
use bobbin_model::state::NewThread;
use bobbin_model::{HistoryMode, Identity, Refusal, Spent, ThreadId};
use bobbin_peer::{CallContext, ErrorObject, Responder};
use bobbin_session::{Lifetime, Start, SubscribeOptions};
use tokio::sync::oneshot;

use super::{CHANNEL, Client, commands, decoded, select};
use crate::errors;
use crate::replay;
use crate::servers;
use crate::sessions::MAX_OPEN;

/// Whether the history is sent before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum History {
    Sent,
    Left,
}

pub(super) async fn new(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = decoded::<NewSessionParams>(request, responder) else {
        return;
    };
    match start(client, &params).await {
        Ok((handle, snapshot)) => {
            let opened = know(client, &handle, &snapshot, Spent::default());
            responder.ok(NewSessionResult {
                session_id: handle.id().to_string(),
                opened,
            });
            follow(client, handle, &snapshot, params.mcp_servers);
        }
        Err(error) => responder.err(error),
    }
}

pub(super) async fn load(client: &Client, request: &CallContext, responder: Responder) {
    open(client, request, responder, History::Sent).await;
}

pub(super) async fn resume(client: &Client, request: &CallContext, responder: Responder) {
    open(client, request, responder, History::Left).await;
}

async fn start(
    client: &Client,
    params: &NewSessionParams,
) -> Result<(Arc<ThreadHandle>, Snapshot), ErrorObject> {
    check_cwd(client, &params.cwd)?;
    if !client.acp.sessions.has_room() {
        return Err(too_many());
    }
    let thread = client.threads().fresh_thread_id();
    let request = NewThread {
        id: thread.clone(),
        identity: Identity {
            channel_name: CHANNEL.to_owned(),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: None,
    };
    let (done, started) = oneshot::channel();
    // If the connection has ended, nothing waits for the result.
    let reply = Box::new(move |result| drop(done.send(result)));
    client.threads().start_thread(request, reply);
    let started = started.await.unwrap_or(Err(CoreError::Stopping));
    started.map_err(|error| errors::of(&error))?;
    let found = found(client, &thread).await;
    found.map_err(|error| errors::of(&error))
}

async fn found(client: &Client, thread: &ThreadId) -> Result<(Arc<ThreadHandle>, Snapshot), CoreError> {
    let handle = client.threads().thread(thread).await?;
    let snapshot = client.threads().snapshot(&handle).await?;
    Ok((handle, snapshot))
}

async fn open(client: &Client, request: &CallContext, responder: Responder, history: History) {
    let Some((params, responder)) = decoded::<LoadSessionParams>(request, responder) else {
        return;
    };
    match opened(client, &params, history).await {
        Ok((handle, snapshot, opened)) => {
            responder.ok(opened);
            follow(client, handle, &snapshot, params.mcp_servers);
        }
        Err(error) => responder.err(error),
    }
}

async fn opened(
    client: &Client,
    params: &LoadSessionParams,
    history: History,
) -> Result<(Arc<ThreadHandle>, Snapshot, OpenedSession), ErrorObject> {
    check_cwd(client, &params.cwd)?;
    let thread = ThreadId::new(params.session_id.as_str());
    let is_open = client.acp.sessions.is_open(&thread);
    if !is_open && !client.acp.sessions.has_room() {
        return Err(too_many());
    }
    // Frames that were queued when the cursor ended are in the snapshot, which is taken later.
    client.session.unsubscribe(&thread);
    let (handle, snapshot) = found(client, &thread).await.map_err(|error| match error {
        CoreError::Refused(Refusal::ThreadNotFound(_)) => {
            errors::unknown_session(&params.session_id, client.root())
        }
        error => errors::of(&error),
    })?;
    let spent = client.threads().spent(&snapshot).await;
    let spent = spent.map_err(|error| errors::of(&error))?;
    let opened = know(client, &handle, &snapshot, spent);
    if history == History::Sent {
        let replayed = replay::all(client, &handle, &snapshot).await;
        if let Err(error) = replayed {
            // A session that was open goes on.
            if is_open {
                subscribe(client, handle, &snapshot);
            } else {
                client.acp.sessions.close(&thread);
            }
            return Err(errors::of(&error));
        }
    } else {
        replay::skip(client, &handle, &snapshot);
    }
    Ok((handle, snapshot, opened))
}

/// Opens a session on this connection. Returns what its user can choose.
fn know(client: &Client, handle: &ThreadHandle, snapshot: &Snapshot, spent: Spent) -> OpenedSession {
    let state = &snapshot.state;
    let (mut view, choices) = client.view(state.header.config.as_ref());
    view.restart(snapshot.at, spent, state.context.tokens);
    let opened = choices.opened();
    client.acp.sessions.open(handle.id(), view, choices);
    opened
}

/// Serves a session from a snapshot on, after the answer that names it.
fn follow(client: &Client, handle: Arc<ThreadHandle>, snapshot: &Snapshot, servers: Vec<McpServer>) {
    let thread = handle.id().clone();
    client.files.serve(client.threads().clients(), &thread);
    let started = servers::start(client, &thread, servers);
    let before = client
        .acp
        .sessions
        .with(&thread, |open| std::mem::replace(&mut open.servers, started));
    // Their end takes locks of its own.
    drop(before);
    subscribe(client, handle, snapshot);
    let client = client.clone();
    client.tasks.clone().spawn(async move {
        tokio::select! {
            () = client.peer.closed() => {}
            () = greet(&client, &thread) => {}
        }
    });
}

/// Follows a session from a snapshot on.
fn subscribe(client: &Client, handle: Arc<ThreadHandle>, snapshot: &Snapshot) {
    let thread = handle.id().clone();
    client.session.subscribe(&SubscribeOptions {
        handle,
        start: Start::At(snapshot.at.next()),
        lifetime: Lifetime::Unsubscribed,
    });
    // Questions of subagents are no part of the history.
    client.session.ask_again(&thread);
}

/// Sends what a client needs of a session that it has just opened.
async fn greet(client: &Client, thread: &ThreadId) {
    // Clients without notices would show them as messages of the agent, in every session.
    if client.acp.shows().notices {
        let notices = client.offer.notices.iter().map(|notice| SessionUpdate::Notice {
            severity: match notice.kind {
                NoticeKind::Error => Severity::Error,
                NoticeKind::Warning => Severity::Warning,
                NoticeKind::Info => Severity::Info,
            },
            title: notice.message.clone(),
            description: None,
        });
        client.send(thread, notices.collect()).await;
    }
    commands::offer(client, thread).await;
    select::refresh_models(client, thread).await;
}

/// Checks that a session's directory is the folder of this server.
fn check_cwd(client: &Client, cwd: &str) -> Result<(), ErrorObject> {
    let path = Path::new(cwd);
    if !path.is_absolute() {
        return Err(errors::invalid(format!(
            "cwd is {cwd}; it must be an absolute path."
        )));
    }
    let root = client.root();
    let is_ours = path == root || std::fs::canonicalize(path).is_ok_and(|path| path == root);
    if is_ours {
        return Ok(());
    }
    Err(errors::invalid(format!(
        "This server serves {}, not {cwd}; name an existing folder, and connect through `bobbin acp`.",
        root.display()
    )))
}

fn too_many() -> ErrorObject {
    errors::failed(format!("{MAX_OPEN} sessions are open; close one first."))
}
