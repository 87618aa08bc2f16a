//! Lists and reads. They wait for the disk in tasks of their own.

use bobbin_core::{CoreError, ListFilter, Snapshot};
use bobbin_peer::{CallContext, Responder};
use bobbin_wire as wire;
use bobbin_wire::{Nullable, RpcError};

use super::{Client, fail, handle, params, refuse};
use crate::convert;
use crate::cursor;

pub(super) fn list(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<wire::ThreadListParams>(request, responder) else {
        return;
    };
    if params.identity.channel_name.trim().is_empty() {
        return refuse(
            responder,
            RpcError::invalid_params("'identity.channelName' must not be blank."),
        );
    }
    let workspace = client.hub.settings().workspace.to_string_lossy().into_owned();
    let filter = ListFilter {
        workspace_path: params
            .identity
            .workspace_path
            .filter(|path| !path.trim().is_empty())
            .map_or(workspace, |path| client.hub.normal_path(&path)),
        user_id: params.identity.user_id,
        channel_context: params.identity.channel_context,
        include_archived: params.include_archived,
        cross_channel_origins: params.cross_channel_origins.unwrap_or_default(),
        origin_channel: params.channel_name,
    };
    let hub = client.hub.clone();
    client.reads.spawn(async move {
        match hub.list(filter).await {
            Ok(threads) => {
                let data = threads.into_iter().map(convert::summary).collect();
                responder.ok(wire::ThreadListResult {
                    data,
                    next_cursor: None,
                });
            }
            Err(error) => fail(responder, &error),
        }
    });
}

pub(super) async fn read(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<wire::ThreadReadParams>(request, responder) else {
        return;
    };
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let client = client.clone();
    let reads = client.reads.clone();
    reads.spawn(async move {
        let answer = async {
            let snapshot = client.hub.snapshot(&thread).await?;
            let at = snapshot.at;
            let turns = if params.include_turns {
                Some(turns(&client, &snapshot).await?)
            } else {
                None
            };
            let plan = snapshot.state.plan.as_ref().map(convert::plan);
            let thread = wire::Thread {
                turns,
                plan: Some(Nullable(plan)),
                ..convert::thread(&snapshot.state)
            };
            Ok::<_, CoreError>(wire::ThreadReadResult {
                thread,
                turn_page: None,
                seq: client.native.numbers().then(|| cursor::behind(at)),
            })
        };
        match answer.await {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

async fn turns(client: &Client, snapshot: &Snapshot) -> Result<Vec<wire::Turn>, CoreError> {
    let (id, shown) = (&snapshot.state.header.id, client.native.tool_executions());
    let finished = client.hub.turns_of(snapshot).await?;
    let live = snapshot.state.live.as_ref().map(|live| &live.turn);
    Ok(finished
        .iter()
        .chain(live)
        .map(|turn| convert::turn(id, turn, shown))
        .collect())
}
