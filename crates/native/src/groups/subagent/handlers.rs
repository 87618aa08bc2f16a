//! Lists, closes and resumes subagents, and gives them messages and tasks (AppServer protocol 05 §10.2, 07 §6.10).

use std::sync::Arc;

use bobbin_core::{Closed, Command, CoreError, Edged, Enqueued, Guidance, Reply, ThreadHandle};
use bobbin_model::state::StartTurn;
use bobbin_model::{EdgeStatus, InputPart, ThreadId, Trigger, TriggerKind};
use bobbin_native_wire::subagent::types::{
    FollowupDelivery, SubagentChild, SubagentChildrenListParams, SubagentChildrenListResult,
    SubagentCloseParams, SubagentEdge, SubagentFollowupParams, SubagentMessageParams, SubagentTargetParams,
    SubagentTargetResult, SubagentTargetStatus,
};
use bobbin_native_wire::thread::types::Thread;
use bobbin_peer::Responder;
use bobbin_session::{Lifetime, Start, SubscribeOptions};
use tokio::sync::oneshot;

use super::{convert, paths};
use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::convert as shared;

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
            let children = threads.children(&parent, closed).await?;
            // A name follows from all subagents.
            let named = params.include_closed && !children.is_empty();
            let names = named.then(|| paths::names(children.iter().map(|child| &child.header)));
            let path = if named {
                Some(paths::of(&threads, &parent).await?)
            } else {
                None
            };
            let mut names = names.into_iter().flatten();
            for child in children {
                let task_name = names.next();
                let Some(edge) = convert::edge(&child.header, child.edge) else {
                    continue;
                };
                let agent_path = path.as_ref().zip(task_name.as_ref());
                let edge = SubagentEdge {
                    agent_path: agent_path.map(|(path, name)| format!("{path}/{name}")),
                    task_name,
                    ..edge
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

pub(super) async fn close(client: &Client, params: SubagentCloseParams, responder: Responder) {
    let parent_thread_id = params.parent_thread_id;
    let (target, responder) = match (params.child_thread_id, params.target) {
        (Some(child_thread_id), None) => {
            let params = SubagentTargetParams {
                parent_thread_id,
                child_thread_id,
                client_request_id: None,
            };
            return change(client, params, responder, EdgeStatus::Closed).await;
        }
        (None, Some(target)) => (target, responder),
        _ => return refuse_params(responder, "One of 'childThreadId' and 'target' is needed."),
    };
    let Some((found, child, responder)) = named(client, &parent_thread_id, &target, responder).await else {
        return;
    };
    let source = found.child.header.source.sub_agent();
    let parent = source.map_or_else(|| ThreadId::new(parent_thread_id), |source| source.parent.clone());
    let id = child.id().clone();
    let reply: Reply<Edged> = Box::new(move |done| match done {
        Ok(edged) => responder.ok(found.result(convert::edged(&id, &edged))),
        Err(error) => fail(responder, &error),
    });
    let command = Command::Edge {
        parent,
        status: EdgeStatus::Closed,
        reply,
    };
    client.command(&child, command).await;
}

impl paths::Found {
    /// Adds the name and the path.
    fn result(self, result: SubagentTargetResult) -> SubagentTargetResult {
        SubagentTargetResult {
            agent_path: Some(self.path),
            task_name: Some(self.name),
            ..result
        }
    }
}

/// Finds the subagent of a request, or answers why it cannot be used.
async fn named(
    client: &Client,
    parent: &str,
    target: &str,
    responder: Responder,
) -> Option<(paths::Found, Arc<ThreadHandle>, Responder)> {
    match paths::find(client.threads(), &ThreadId::new(parent), target).await {
        Ok(found) => {
            let (child, responder) = handle(client, found.child.header.id.as_str(), responder).await?;
            Some((found, child, responder))
        }
        Err(error) => {
            fail(responder, &error);
            None
        }
    }
}

pub(super) async fn send_message(client: &Client, params: SubagentMessageParams, responder: Responder) {
    let target = (&*params.parent_thread_id, &*params.target);
    give(
        client,
        target,
        params.message,
        responder,
        |client, child, request, reply| {
            let reply: Reply<Enqueued> =
                Box::new(move |done| reply(done.map(|_| SubagentTargetStatus::Sent)));
            let command = Command::LeaveMessage { request, reply };
            async move { client.command(&child, command).await }
        },
    )
    .await;
}

pub(super) async fn followup(client: &Client, params: SubagentFollowupParams, responder: Responder) {
    let target = (&*params.parent_thread_id, &*params.target);
    let steers = params.delivery_mode == Some(FollowupDelivery::Steer);
    give(
        client,
        target,
        params.message,
        responder,
        |client, child, mut request, reply| {
            request.trigger = Some(Box::new(Trigger {
                kind: TriggerKind::SubagentFollowupTask,
                label: None,
                ref_id: None,
            }));
            async move { reply(task(&client, &child, request, steers).await) }
        },
    )
    .await;
}

/// Gives a subagent a task: starts its Turn, lets it wait, or guides the running Turn with it.
async fn task(
    client: &Client,
    child: &Arc<ThreadHandle>,
    request: StartTurn,
    steers: bool,
) -> Result<SubagentTargetStatus, CoreError> {
    let (done, enqueued) = oneshot::channel();
    let reply: Reply<Enqueued> = Box::new(move |result| drop(done.send(result)));
    client.command(child, Command::Enqueue { request, reply }).await;
    let enqueued = enqueued.await.unwrap_or(Err(CoreError::Stopping))?;
    if let Some(turn) = enqueued.started {
        client.session.subscribe(&SubscribeOptions {
            handle: child.clone(),
            start: Start::At(enqueued.seq),
            lifetime: Lifetime::TurnEnds(turn),
        });
        return Ok(SubagentTargetStatus::Running);
    }
    if let Some(turn) = enqueued.entry.ready_after.filter(|_| steers) {
        let (id, expected) = (enqueued.entry.id, turn.to_string());
        let what = Guidance::Queued { id, sender: None };
        let steered = child.ask(|reply| Command::Steer {
            what,
            expected,
            reply,
        });
        // When that Turn has just ended, the task starts the next one.
        if steered.await.is_ok() {
            return Ok(SubagentTargetStatus::GuidancePending);
        }
    }
    Ok(SubagentTargetStatus::Queued)
}

/// Gives a text to a subagent: `deliver` sends the command, and calls the reply with the outcome.
async fn give<F: Future<Output = ()>>(
    client: &Client,
    (parent, target): (&str, &str),
    message: String,
    responder: Responder,
    deliver: impl FnOnce(Client, Arc<ThreadHandle>, StartTurn, Reply<SubagentTargetStatus>) -> F,
) {
    if message.trim().is_empty() {
        return refuse_params(responder, "'message' must not be blank.");
    }
    let Some((found, child, responder)) = named(client, parent, target, responder).await else {
        return;
    };
    let header = &found.child.header;
    let edge = found.child.edge.map_or(EdgeStatus::Closed, |edge| edge.status);
    let Some(source) = header.source.sub_agent().filter(|_| edge == EdgeStatus::Open) else {
        let detail = "The subagent is closed; 'subagent/resume' opens it again.";
        return refuse_params(responder, detail);
    };
    let source = source.clone();
    let request = match client.turn(&header.id, vec![InputPart::Text { text: message }], None, None) {
        Ok(request) => request,
        Err(error) => return refuse(responder, error),
    };
    let id = header.id.clone();
    let reply: Reply<SubagentTargetStatus> = Box::new(move |done| match done {
        Ok(status) => responder.ok(found.result(convert::target(&id, &source, edge, status))),
        Err(error) => fail(responder, &error),
    });
    deliver(client.clone(), child, request, reply).await;
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
