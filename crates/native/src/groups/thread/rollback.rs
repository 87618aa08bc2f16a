//! Removes the newest Turns from a conversation (AppServer protocol 02 §5.12).

use bobbin_core::{Command, Newest, Reply, RolledBack};
use bobbin_native_wire::thread::params::{ThreadRollbackParams, ThreadRollbackResult, TurnPage};
use bobbin_native_wire::thread::types::Thread;
use bobbin_peer::Responder;

use super::read;
use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::convert;

pub(super) async fn rollback(client: &Client, params: ThreadRollbackParams, responder: Responder) {
    if params.num_turns < 1 {
        return refuse_params(responder, "'numTurns' must be at least 1.");
    }
    // The Thread refuses a count that is larger than its own.
    let count = u32::try_from(params.num_turns).unwrap_or(u32::MAX);
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    // Before any change, so a refusal leaves all as it was.
    let permit = match client.large_answer().await {
        Ok(permit) => permit,
        Err(error) => return refuse(responder, error),
    };
    let shown = client.native.tool_executions();
    let reply: Reply<RolledBack> = Box::new(move |rolled_back| match rolled_back {
        Ok(rolled_back) => {
            let _until_queued = permit;
            let state = &rolled_back.snapshot.state;
            let turn = |turn| convert::turn(&state.header.id, turn, shown);
            let thread = Thread {
                turns: Some(rolled_back.turns.iter().map(turn).collect()),
                ..convert::thread(state)
            };
            let first = rolled_back.turns.first().filter(|_| rolled_back.more);
            let turn_page = first.map(|first| TurnPage {
                next_cursor: Some(first.id.to_string()),
            });
            responder.ok(ThreadRollbackResult { thread, turn_page });
        }
        Err(error) => fail(responder, &error),
    });
    let command = Command::RollBack {
        which: Newest::Count(count),
        max_bytes: read::MAX_TURN_BYTES,
        reply,
    };
    client.command(&thread, command).await;
}
