//! Threads: start, resume, read, change.

use std::sync::Arc;

use bobbin_core::{Command, CoreError, ForkPoint, Newest, Snapshot, ThreadHandle};
use bobbin_model::state::{NewThread, StatusChange};
use bobbin_model::{HistoryMode, Identity, ThreadConfig};
use bobbin_peer::{ErrorObject, Responder};
use bobbin_session::{Lifetime, Start, SubscribeOptions};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{Answer, CHANNEL, Client, turn_id};
use crate::history::{self, Direction};
use crate::{errors, settings, turns};

/// Turns of an answer to clients that read no pages.
const MAX_TURNS: usize = 200;

/// `thread/start`.
pub(super) async fn start(client: &Client, params: &Value, responder: Responder) {
    if params["ephemeral"] == true {
        // The client asks for titles so; ours come by themselves.
        return responder.err(errors::invalid("this server stores each thread"));
    }
    match started(client, params).await {
        Ok((handle, snapshot)) => open(client, &handle, &snapshot, None, true, responder),
        Err(error) => responder.err(error),
    }
}

async fn started(client: &Client, params: &Value) -> Result<(Arc<ThreadHandle>, Snapshot), ErrorObject> {
    check_cwd(client, params)?;
    let mut config = ThreadConfig::default();
    let wanted = settings::apply(params, &mut config, &*client.codex.models);
    let id = client.threads().fresh_thread_id();
    let request = NewThread {
        id: id.clone(),
        identity: identity(),
        config: wanted.then_some(config),
        history_mode: HistoryMode::Server,
        display_name: None,
    };
    let (done, started) = oneshot::channel();
    // If the connection has ended, nothing waits for the result.
    let reply = Box::new(move |result| drop(done.send(result)));
    client.threads().start_thread(request, reply);
    let started = started.await.unwrap_or(Err(CoreError::Stopping));
    started.map_err(|error| errors::of(&error))?;
    let handle = client
        .threads()
        .thread(&id)
        .await
        .map_err(|error| errors::of(&error))?;
    let snapshot = client.snapshot(&handle).await?;
    Ok((handle, snapshot))
}

fn identity() -> Identity {
    Identity {
        channel_name: CHANNEL.to_owned(),
        ..Identity::default()
    }
}

/// Checks that a client's folder is in the folder of this server.
fn check_cwd(client: &Client, params: &Value) -> Result<(), ErrorObject> {
    let Some(cwd) = params["cwd"].as_str() else {
        return Ok(());
    };
    let root = &client.threads().settings().workspace;
    let is_ours = |path: &std::path::Path| path.starts_with(root);
    let path = std::path::Path::new(cwd);
    if is_ours(path) || std::fs::canonicalize(path).is_ok_and(|path| is_ours(&path)) {
        return Ok(());
    }
    Err(errors::invalid(format!(
        "this server serves {}, not {cwd}",
        root.display()
    )))
}

/// `thread/resume`.
pub(super) async fn resume(client: &Client, params: &Value, responder: Responder) {
    let opened = async {
        let handle = client.handle(params).await?;
        // Frames that were queued when the cursor ended are in the snapshot, which is taken later.
        client.session.unsubscribe(handle.id());
        let snapshot = client.snapshot(&handle).await?;
        let history = if params["excludeTurns"] == true {
            None
        } else {
            Some(whole(client, &snapshot).await?)
        };
        Ok::<_, ErrorObject>((handle, snapshot, history))
    };
    match opened.await {
        Ok((handle, snapshot, history)) => open(client, &handle, &snapshot, history, false, responder),
        Err(error) => responder.err(error),
    }
}

/// Returns the newest Turns with their items, oldest first, for clients that read no pages.
async fn whole(client: &Client, snapshot: &Snapshot) -> Result<Vec<Value>, ErrorObject> {
    let read = client
        .threads()
        .turns_of(snapshot, None, MAX_TURNS, 4 << 20)
        .await;
    let (read, _) = read.map_err(|error| errors::of(&error))?;
    let live = snapshot.state.live.as_ref();
    let all = read
        .iter()
        .map(|turn| (turn, None))
        .chain(live.map(|live| (&live.turn, Some(live))));
    let root = client.codex.root();
    let shown = all.map(|(turn, live)| {
        let mut shown = turns::turn(turn);
        let items = history::of_turn_items(turn, live, root).into_iter();
        shown["items"] = items.map(|mut entry| entry["item"].take()).collect();
        shown["itemsView"] = "full".into();
        shown
    });
    Ok(shown.collect())
}

/// Answers with a Thread, and serves it from there on.
fn open(
    client: &Client,
    handle: &Arc<ThreadHandle>,
    snapshot: &Snapshot,
    history: Option<Vec<Value>>,
    is_new: bool,
    responder: Responder,
) {
    let codex = &client.codex;
    let state = &snapshot.state;
    let mut thread = turns::of_state(&codex.ids, state, &codex.models.usual());
    if is_new {
        thread["turns"] = json!([]);
    } else if let Some(history) = history {
        thread["turns"] = history.into();
    }
    let opened = settings::opened(
        &thread,
        state.header.config.as_ref(),
        codex.root(),
        &*codex.models,
    );
    codex.follow(handle.id(), state, snapshot.at);
    responder.ok(opened);
    if is_new {
        let frames = vec![crate::dialect::message(
            "thread/started",
            &json!({ "thread": thread }),
        )];
        let peer = client.peer.clone();
        client
            .tasks
            .spawn(async move { drop(peer.send_batch(frames).await) });
    }
    client.session.subscribe(&SubscribeOptions {
        handle: handle.clone(),
        start: Start::At(snapshot.at.next()),
        lifetime: Lifetime::Unsubscribed,
    });
    client.session.ask_again(handle.id());
}

/// `thread/fork`.
pub(super) async fn fork(client: &Client, params: &Value, responder: Responder) {
    if params["ephemeral"] == true {
        return responder.err(errors::invalid(
            "this server stores each thread; a side thread would stay in all lists",
        ));
    }
    match forked(client, params).await {
        Ok((handle, snapshot)) => open(client, &handle, &snapshot, None, true, responder),
        Err(error) => responder.err(error),
    }
}

async fn forked(client: &Client, params: &Value) -> Result<(Arc<ThreadHandle>, Snapshot), ErrorObject> {
    let from = client.handle(params).await?;
    let point = if params["lastTurnId"].is_string() {
        ForkPoint::Ended(turn_id(&params["lastTurnId"])?)
    } else if params["beforeTurnId"].is_string() {
        ForkPoint::At {
            turn: turn_id(&params["beforeTurnId"])?,
            item: None,
            before: true,
        }
    } else {
        ForkPoint::End
    };
    let header = client.snapshot(&from).await?.state.header.clone();
    let id = client.threads().fresh_thread_id();
    let request = NewThread {
        id: id.clone(),
        identity: identity(),
        config: header.config,
        history_mode: HistoryMode::Server,
        display_name: header.display_name.map(|title| bobbin_core::fork_title(&title)),
    };
    let forked = client
        .threads()
        .fork_thread(&from, point, request, Arc::default())
        .await;
    forked.map_err(|error| errors::of(&error))?;
    let handle = client
        .threads()
        .thread(&id)
        .await
        .map_err(|error| errors::of(&error))?;
    let snapshot = client.snapshot(&handle).await?;
    Ok((handle, snapshot))
}

/// `thread/read`.
pub(super) async fn read(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let snapshot = client.snapshot(&handle).await?;
    let codex = &client.codex;
    let mut thread = turns::of_state(&codex.ids, &snapshot.state, &codex.models.usual());
    if params["includeTurns"] == true {
        thread["turns"] = whole(client, &snapshot).await?.into();
    }
    Ok(json!({ "thread": thread }))
}

fn direction(params: &Value) -> Direction {
    match params["sortDirection"].as_str() {
        Some("asc") => Direction::OldestFirst,
        _ => Direction::NewestFirst,
    }
}

/// `thread/turns/list`.
pub(super) async fn turns(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let snapshot = client.snapshot(&handle).await?;
    let limit = history::limit(params["limit"].as_u64());
    let cursor = params["cursor"].as_str();
    let page = history::turns(client.threads(), &snapshot, cursor, limit, direction(params)).await;
    let page = page.map_err(|error| errors::of(&error))?;
    Ok(json!({ "data": page.data, "nextCursor": page.next }))
}

/// `thread/items/list`.
pub(super) async fn items(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    let snapshot = client.snapshot(&handle).await?;
    let limit = history::limit(params["limit"].as_u64());
    let cursor = params["cursor"].as_str();
    let of_turn = match &params["turnId"] {
        Value::Null => None,
        turn => Some(turn_id(turn)?),
    };
    let page = history::items(
        client.threads(),
        &snapshot,
        of_turn,
        cursor,
        limit,
        direction(params),
    )
    .await;
    let page = page.map_err(|error| errors::of(&error))?;
    Ok(json!({ "data": page.data, "nextCursor": page.next }))
}

/// `thread/unsubscribe`.
pub(super) fn unsubscribe(client: &Client, params: &Value) -> Value {
    let Ok(id) = client.thread_id(params) else {
        return json!({ "status": "notLoaded" });
    };
    let was_followed = client.session.is_subscribed(&id);
    client.session.unsubscribe(&id);
    client.codex.leave(&id);
    json!({ "status": if was_followed { "unsubscribed" } else { "notSubscribed" } })
}

/// Carries out a command that answers nothing.
async fn done(
    client: &Client,
    params: &Value,
    command: impl FnOnce(bobbin_core::Reply<()>) -> Command,
) -> Answer {
    let handle = client.handle(params).await?;
    handle.ask(command).await.map_err(|error| errors::of(&error))?;
    Ok(json!({}))
}

/// `thread/name/set`.
pub(super) async fn rename(client: &Client, params: &Value) -> Answer {
    let display_name = params["name"].as_str().unwrap_or_default().trim().to_owned();
    if display_name.is_empty() {
        return Err(errors::invalid("the name is empty"));
    }
    done(client, params, |reply| Command::Rename { display_name, reply }).await
}

/// `thread/archive`.
pub(super) async fn archive(client: &Client, params: &Value) -> Answer {
    let change = StatusChange::Archive;
    done(client, params, |reply| Command::Status { change, reply }).await
}

/// `thread/unarchive`.
pub(super) async fn unarchive(client: &Client, params: &Value) -> Answer {
    let change = StatusChange::Unarchive;
    done(client, params, |reply| Command::Status { change, reply }).await?;
    read(client, params).await
}

/// `thread/delete`.
pub(super) async fn delete(client: &Client, params: &Value) -> Answer {
    done(client, params, |reply| Command::Delete { reply }).await
}

/// `thread/revert`.
pub(super) async fn revert(client: &Client, params: &Value) -> Answer {
    let first = turn_id(&params["beforeTurnId"])?;
    let handle = client.handle(params).await?;
    let reverted = handle
        .ask(|reply| Command::RollBack {
            which: Newest::From(first),
            max_bytes: 0,
            reply,
        })
        .await;
    reverted.map_err(|error| errors::of(&error))?;
    read(client, params).await
}

/// `thread/settings/update`.
pub(super) async fn settings(client: &Client, params: &Value) -> Answer {
    let handle = client.handle(params).await?;
    configure(client, &handle, params).await?;
    Ok(json!({}))
}

/// Applies what a client says of a Thread's settings; what is as it was is ignored.
pub(super) async fn configure(
    client: &Client,
    handle: &ThreadHandle,
    wanted: &Value,
) -> Result<(), ErrorObject> {
    let snapshot = client.snapshot(handle).await?;
    let mut config = snapshot.state.header.config.clone().unwrap_or_default();
    if !settings::apply(wanted, &mut config, &*client.codex.models) {
        return Ok(());
    }
    let configured = handle.ask(|reply| Command::Configure { config, reply }).await;
    configured.map_err(|error| errors::of(&error))
}
