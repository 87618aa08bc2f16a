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
struct Changes {
    identity: Option<Identity>,
    config: Option<ThreadConfig>,
    display_name: Option<String>,
    tools: Arc<[DynamicTool]>,
}

pub(super) async fn fork(client: &Client, params: ThreadForkParams, responder: Responder) {
    let thread_id = params.thread_id.clone();
    let (point, changes) = match read(params) {
        Ok(read) => read,
        Err(error) => return refuse(responder, error),
    };
    let Some((from, responder)) = handle(client, &thread_id, responder).await else {
        return;
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    match copied(client, &from, point, changes).await {
        Ok(snapshot) => {
            client
                .serving
                .serve(client.threads().clients(), &snapshot.state, Tools::Brought);
            let header = &snapshot.state.header;
            client.started(header.id.clone(), header.origin_channel.clone());
            let thread = client.shown(&snapshot.state);
            let instruction_sources = instructions::sources(client, convert::cwd(header).into()).await;
            first.ok(&ThreadResult {
                thread,
                instruction_sources,
            });
        }
        Err(error) => first.err(errors::of(&error)),
    }
}

fn read(params: ThreadForkParams) -> Result<(ForkPoint, Changes), RpcError> {
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
        identity: params.identity.map(lifecycle::identity),
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

/// Copies the conversation for the same user and with the same configuration, but for the changes.
async fn copied(
    client: &Client,
    from: &ThreadHandle,
    point: ForkPoint,
    changes: Changes,
) -> Result<Snapshot, CoreError> {
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
    threads.fork_thread(from, point, request, changes.tools).await
}
