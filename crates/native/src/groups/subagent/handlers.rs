//! Lists, closes and resumes subagents (AppServer protocol 05 §10.2).

use bobbin_core::{Closed, Command, CoreError, Edged, Reply};
use bobbin_model::{EdgeStatus, ThreadId};
use bobbin_peer::Responder;

use super::convert;
use crate::client::{Client, fail, handle};
use crate::convert as shared;
use crate::groups::subagent::types::{
    SubagentChild, SubagentChildrenListParams, SubagentChildrenListResult, SubagentTargetParams,
};
use crate::groups::thread::types::Thread;

/// Approximate limit of bytes of Threads in one answer (a guess: some hundred ordinary Threads). Further subagents have
/// only their edges, and each Thread can be read by itself.
const MAX_THREADS_BYTES: usize = 1 << 20;

/// Returns the size of a Thread on the wire, in bytes.
fn bytes(thread: &Thread) -> usize {
    serde_json::to_string(thread).map_or(0, |text| text.len())
}

pub(super) fn children(client: &Client, params: SubagentChildrenListParams, responder: Responder) {
    let threads = client.threads().clone();
    client.reads.spawn(async move {
        let answer = async {
            let parent = ThreadId::new(params.parent_thread_id.as_str());
            let closed = if params.include_closed {
                Closed::Included
            } else {
                Closed::LeftOut
            };
            let mut data = Vec::new();
            let mut room = MAX_THREADS_BYTES;
            for child in threads.children(&parent, closed).await? {
                let Some(edge) = convert::edge(&child.header, child.edge) else {
                    continue;
                };
                let thread = if params.include_threads && room > 0 {
                    threads.stored(&child.header.id).await?
                } else {
                    None
                };
                let thread = thread.as_ref().map(shared::thread);
                room = room.saturating_sub(thread.as_ref().map_or(0, bytes));
                data.push(SubagentChild { edge, thread });
            }
            Ok::<_, CoreError>(SubagentChildrenListResult { data })
        };
        match answer.await {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

pub(super) async fn close(client: &Client, params: SubagentTargetParams, responder: Responder) {
    change(client, params, responder, EdgeStatus::Closed).await;
}

pub(super) async fn resume(client: &Client, params: SubagentTargetParams, responder: Responder) {
    change(client, params, responder, EdgeStatus::Open).await;
}

async fn change(client: &Client, params: SubagentTargetParams, responder: Responder, status: EdgeStatus) {
    let Some((child, responder)) = handle(client, &params.child_thread_id, responder).await else {
        return;
    };
    let id = child.id().clone();
    let parent = ThreadId::new(params.parent_thread_id.as_str());
    if status == EdgeStatus::Open
        && let Err(error) = has_room(client, &parent, &id).await
    {
        return fail(responder, &error);
    }
    let reply: Reply<Edged> = Box::new(move |done| match done {
        Ok(edged) => responder.ok(convert::edged(&id, &edged)),
        Err(error) => fail(responder, &error),
    });
    let command = Command::Edge {
        parent,
        status,
        reply,
    };
    client.command(&child, command).await;
}

/// Checks that one more subagent may be open, or that this request has opened it before.
async fn has_room(client: &Client, parent: &ThreadId, child: &ThreadId) -> Result<(), CoreError> {
    if let Some(once) = &client.once
        && client.threads().carried_out(Some(child), once).await?.is_some()
    {
        return Ok(());
    }
    client.threads().check_room_for_child(parent, child).await
}
