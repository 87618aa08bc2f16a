//! Extension: `thread/fork`, a Thread that starts with a copy of another's conversation. Files stay as they are.

use crate::client::{Client, handle, refuse};
use crate::convert;
use crate::errors;
use bobbin_core::{CoreError, Snapshot, ThreadHandle, fork_title};
use bobbin_model::state::NewThread;
use bobbin_model::{HistoryMode, Identity, TurnId};
use bobbin_peer::Responder;

use crate::groups::history::types::ThreadForkParams;
use crate::groups::thread::instructions;
use crate::groups::thread::params::ThreadResult;
use crate::wire::RpcError;

pub(super) async fn fork(client: &Client, params: ThreadForkParams, responder: Responder) {
    let Ok(last) = params.turn_id.parse::<TurnId>() else {
        return refuse(
            responder,
            RpcError::invalid_params("'turnId' is no id of a Turn."),
        );
    };
    let Some((from, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    match copied(client, &from, last).await {
        Ok(snapshot) => {
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

/// Copies the conversation for the same user, with the same configuration.
async fn copied(client: &Client, from: &ThreadHandle, last: TurnId) -> Result<Snapshot, CoreError> {
    let threads = client.threads();
    let header = threads.snapshot(from).await?.state.header.clone();
    let request = NewThread {
        id: threads.fresh_thread_id(),
        identity: Identity {
            channel_name: header.origin_channel,
            user_id: header.user_id,
            channel_context: header.channel_context,
            workspace_path: Some(header.workspace_path),
        },
        config: header.config,
        history_mode: HistoryMode::Server,
        display_name: header.display_name.map(|title| fork_title(&title)),
    };
    threads.fork_thread(from, last, request).await
}
