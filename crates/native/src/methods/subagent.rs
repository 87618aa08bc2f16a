//! Subagents: listed, closed, opened again (AppServer protocol 05 §10.2).

use bobbin_core::{Closed, Command, CoreError, Edged, Reply};
use bobbin_model::{EdgeStatus, ThreadId};
use bobbin_peer::{CallContext, Responder};
use bobbin_wire as wire;

use super::{Client, fail, handle, params};
use crate::convert::{self, subagent};

pub(super) fn children(client: &Client, request: &CallContext, responder: Responder) {
    let Some((params, responder)) = params::<wire::SubagentChildrenListParams>(request, responder) else {
        return;
    };
    let hub = client.hub.clone();
    client.reads.spawn(async move {
        let answer = async {
            let parent = ThreadId::new(params.parent_thread_id.as_str());
            let closed = if params.include_closed {
                Closed::Included
            } else {
                Closed::LeftOut
            };
            let mut data = Vec::new();
            for child in hub.children(&parent, closed).await? {
                let Some(edge) = subagent::edge(&child.header, child.edge) else {
                    continue;
                };
                let thread = if params.include_threads {
                    hub.stored(&child.header.id).await?
                } else {
                    None
                };
                let thread = thread.as_ref().map(convert::thread);
                data.push(wire::SubagentChild { edge, thread });
            }
            Ok::<_, CoreError>(wire::SubagentChildrenListResult { data })
        };
        match answer.await {
            Ok(result) => responder.ok(result),
            Err(error) => fail(responder, &error),
        }
    });
}

pub(super) async fn close(client: &Client, request: &CallContext, responder: Responder) {
    change(client, request, responder, EdgeStatus::Closed).await;
}

pub(super) async fn resume(client: &Client, request: &CallContext, responder: Responder) {
    change(client, request, responder, EdgeStatus::Open).await;
}

async fn change(client: &Client, request: &CallContext, responder: Responder, status: EdgeStatus) {
    let Some((params, responder)) = params::<wire::SubagentTargetParams>(request, responder) else {
        return;
    };
    let Some((child, responder)) = handle(client, &params.child_thread_id, responder).await else {
        return;
    };
    let id = child.id().clone();
    let reply: Reply<Edged> = Box::new(move |done| match done {
        Ok(edged) => responder.ok(subagent::edged(&id, &edged)),
        Err(error) => fail(responder, &error),
    });
    let parent = ThreadId::new(params.parent_thread_id.as_str());
    let command = Command::Edge {
        parent,
        status,
        reply,
    };
    client.command(&child, command).await;
}
