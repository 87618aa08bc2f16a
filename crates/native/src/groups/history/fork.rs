//! `thread/fork`, a Thread that starts with a copy of another's conversation (07 §6.5). Files stay as they are.

use std::sync::Arc;

use bobbin_core::{CoreError, ForkPoint, Snapshot, ThreadHandle, fork_title};
use bobbin_model::state::NewThread;
use bobbin_model::{DynamicTool, HistoryMode, Identity, ItemId, ThreadConfig, TurnId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::history::types::{ForkPosition, ThreadForkParams};
use bobbin_native_wire::thread::params::ThreadResult;
use bobbin_peer::Responder;

use crate::client::{Client, handle, refuse};
use crate::convert;
use crate::errors;
use crate::groups::serving::connection::Tools;
use crate::groups::serving::dynamic;
use crate::groups::thread::{instructions, lifecycle};

/// The parts that a copy does not take from the original.
pub(crate) struct Changes {
    identity: Option<Identity>,
    config: Option<ThreadConfig>,
    display_name: Option<String>,
    tools: Arc<[DynamicTool]>,
}

pub(super) async fn fork(client: &Client, params: ThreadForkParams, responder: Responder) {
    let thread_id = params.thread_id.clone();
    let (point, changes) = match read(client, params) {
        Ok(read) => read,
        Err(error) => return refuse(responder, error),
    };
    let Some((from, responder)) = handle(client, &thread_id, responder).await else {
        return;
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let request = match requested(client, &from, changes).await {
        Ok(request) => request,
        Err(error) => return first.err(errors::of(&error)),
    };
    match fork_as(client, &from, point, request).await {
        Ok(forked) => first.ok(&forked),
        Err(error) => first.err(error),
    }
}

/// A new Thread with the tools that its client declares.
pub(crate) type RequestedThread = (NewThread, Arc<[DynamicTool]>);

/// Copies a conversation to a new Thread that this connection serves.
pub(crate) async fn fork_as(
    client: &Client,
    from: &ThreadHandle,
    point: ForkPoint,
    (request, tools): RequestedThread,
) -> Result<ThreadResult, RpcError> {
    let forked = client.threads().fork_thread(from, point, request, tools).await;
    let snapshot = forked.map_err(|error| errors::of(&error))?;
    Ok(served(client, &snapshot).await)
}

/// Serves a new Thread by this connection, and returns it as its client is shown it.
pub(crate) async fn served(client: &Client, snapshot: &Snapshot) -> ThreadResult {
    client
        .serving
        .serve(client.threads().clients(), &snapshot.state, Tools::Brought);
    let header = &snapshot.state.header;
    client.started(header.id.clone(), header.origin_channel.clone());
    ThreadResult {
        thread: client.shown(&snapshot.state),
        instruction_sources: instructions::sources(client, convert::cwd(header).into()).await,
    }
}

pub(crate) fn read(client: &Client, params: ThreadForkParams) -> Result<(ForkPoint, Changes), RpcError> {
    if params.ephemeral == Some(true) {
        return Err(RpcError::invalid_params(
            "Every thread is stored: 'ephemeral' must not be true.",
        ));
    }
    let point = match (params.turn_id, params.fork_point) {
        (Some(_), Some(_)) => {
            return Err(RpcError::invalid_params(
                "'turnId' and 'forkPoint' exclude each other.",
            ));
        }
        (Some(turn), None) => ForkPoint::Ended(turn.parse().map_err(|_| no_turn(&turn))?),
        (None, None) => ForkPoint::End,
        (None, Some(point)) => ForkPoint::At {
            turn: point
                .turn_id
                .parse::<TurnId>()
                .map_err(|_| no_turn(&point.turn_id))?,
            item: point
                .item_id
                .map(|id| id.parse::<ItemId>().map_err(|_| no_item(&id)))
                .transpose()?,
            before: point.position == Some(ForkPosition::Before),
        },
    };
    let changes = Changes {
        identity: params
            .identity
            .map(|identity| lifecycle::identity(client, identity)),
        config: params.config.as_ref().map(lifecycle::config_of).transpose()?,
        display_name: params.display_name.filter(|name| !name.trim().is_empty()),
        tools: dynamic::declared_in(params.dynamic_tools.unwrap_or_default())?,
    };
    Ok((point, changes))
}

fn no_turn(id: &str) -> RpcError {
    RpcError::turn_not_found(id)
}

fn no_item(id: &str) -> RpcError {
    RpcError::invalid_params(format!("'{id}' is no id of an Item."))
}

/// Returns the new Thread: for the same user and with the same configuration, but for the changes.
pub(crate) async fn requested(
    client: &Client,
    from: &ThreadHandle,
    changes: Changes,
) -> Result<RequestedThread, CoreError> {
    let threads = client.threads();
    let header = threads.snapshot(from).await?.state.header.clone();
    let title = || header.display_name.as_deref().map(fork_title);
    let request = NewThread {
        id: threads.fresh_thread_id(),
        display_name: changes.display_name.or_else(title),
        identity: changes.identity.unwrap_or(Identity {
            channel_name: header.origin_channel,
            user_id: header.user_id,
            channel_context: header.channel_context,
            workspace_path: Some(header.workspace_path),
        }),
        config: changes.config.or(header.config),
        history_mode: HistoryMode::Server,
    };
    Ok((request, changes.tools))
}
