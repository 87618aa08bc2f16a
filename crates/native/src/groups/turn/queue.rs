//! The queue of inputs that wait until the running Turn ends.

use bobbin_core::{Command, Enqueued, Guidance, QueueChanged, Reply, Steered};
use bobbin_model::state::QueueChange;
use bobbin_model::{QueueStatus, QueuedInput, QueuedInputId};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::turn::params::{
    TurnEnqueueParams, TurnEnqueueResult, TurnQueueRemoveParams, TurnQueueReorderParams, TurnQueueResult,
    TurnQueueUpdateParams, TurnSteerParams, TurnSteerResult,
};
use bobbin_peer::Responder;
use bobbin_session::{Lifetime, Start, SubscribeOptions};

use super::{input, own};
use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::convert;

pub(super) async fn enqueue(client: &Client, params: TurnEnqueueParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let input = match input::read(params.input, thread.id(), client).await {
        Ok(input) => input,
        Err(error) => return refuse(responder, error),
    };
    let request = match client.turn(thread.id(), input, params.sender, params.client_user_message_id) {
        Ok(request) => request,
        Err(error) => return refuse(responder, error),
    };
    let (session, attached) = (client.session.clone(), thread.clone());
    let reply: Reply<Enqueued> = Box::new(move |enqueued| match enqueued {
        Ok(enqueued) => {
            let id = attached.id().as_str();
            responder.ok(TurnEnqueueResult {
                queued_input: convert::queued(id, &enqueued.entry),
                queued_inputs: convert::queue(id, &enqueued.queue),
            });
            // A repeated answer is not the queue's newest state.
            if enqueued.started.is_none() && enqueued.seq <= attached.log().visible() {
                return;
            }
            let lifetime = enqueued
                .started
                .map_or(Lifetime::Seq(enqueued.seq), Lifetime::TurnEnds);
            session.subscribe(&SubscribeOptions {
                handle: attached,
                start: Start::At(enqueued.seq),
                lifetime,
            });
        }
        Err(error) => fail(responder, &error),
    });
    client.command(&thread, Command::Enqueue { request, reply }).await;
}

pub(super) async fn remove(client: &Client, params: TurnQueueRemoveParams, responder: Responder) {
    let change = QueueChange::Remove(QueuedInputId::new(params.queued_input_id));
    change_queue(client, &params.thread_id, change, responder).await;
}

pub(super) async fn reorder(client: &Client, params: TurnQueueReorderParams, responder: Responder) {
    let ids = params
        .ordered_queued_input_ids
        .into_iter()
        .map(QueuedInputId::new);
    let change = QueueChange::Reorder(ids.collect());
    change_queue(client, &params.thread_id, change, responder).await;
}

pub(super) async fn update(client: &Client, params: TurnQueueUpdateParams, responder: Responder) {
    let id = QueuedInputId::new(params.queued_input_id);
    let expected = params.expected_turn_id;
    let change = match params.status {
        QueueStatus::GuidancePending => QueueChange::Guide { id, expected },
        QueueStatus::Queued => QueueChange::TakeBack { id, expected },
    };
    change_queue(client, &params.thread_id, change, responder).await;
}

async fn change_queue(client: &Client, thread: &str, change: QueueChange, responder: Responder) {
    let Some((thread, responder)) = handle(client, thread, responder).await else {
        return;
    };
    let is_changed = |entry: &QueuedInput| match &change {
        QueueChange::Remove(id) | QueueChange::Guide { id, .. } | QueueChange::TakeBack { id, .. } => {
            entry.id == *id
        }
        QueueChange::Reorder(_) => true,
    };
    let checked = match &change {
        QueueChange::Guide { expected, .. } => {
            own::check_turn(client, &thread, expected.clone(), "turn/queue/update")
                .await
                .map(drop)
        }
        _ => Ok(()),
    };
    let checked = match checked {
        Ok(()) => own::check_queued(client, &thread, is_changed, "the queue").await,
        Err(error) => Err(error),
    };
    if let Err(error) = checked {
        return refuse(responder, error);
    }
    let (session, attached) = (client.session.clone(), thread.clone());
    let reply: Reply<QueueChanged> = Box::new(move |changed| match changed {
        Ok(changed) => {
            let queued_inputs = convert::queue(attached.id().as_str(), &changed.queue);
            responder.ok(TurnQueueResult { queued_inputs });
            if changed.seq <= attached.log().visible() {
                return;
            }
            let (start, lifetime) = (Start::At(changed.seq), Lifetime::Seq(changed.seq));
            session.subscribe(&SubscribeOptions {
                handle: attached,
                start,
                lifetime,
            });
        }
        Err(error) => fail(responder, &error),
    });
    client
        .command(&thread, Command::ChangeQueue { change, reply })
        .await;
}

pub(super) async fn steer(client: &Client, params: TurnSteerParams, responder: Responder) {
    if params.expected_turn_id.trim().is_empty() {
        return refuse_params(responder, "'expectedTurnId' must not be blank.".to_owned());
    }
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let expected = params.expected_turn_id.clone();
    if let Err(error) = own::check_turn(client, &thread, expected, "turn/steer").await {
        return refuse(responder, error);
    }
    if let Some(id) = params.queued_input_id.as_deref() {
        let is_it = |entry: &QueuedInput| entry.id.as_str() == id;
        if let Err(error) = own::check_queued(client, &thread, is_it, "turn/steer").await {
            return refuse(responder, error);
        }
    }
    let what = match (params.queued_input_id, params.input) {
        (Some(id), None) if !id.trim().is_empty() => Ok(Guidance::Queued {
            id: QueuedInputId::new(id),
            sender: params.sender,
        }),
        (None, Some(parts)) => match input::read(parts, thread.id(), client).await {
            Ok(input) => client
                .turn(thread.id(), input, params.sender, params.client_user_message_id)
                .map(|request| Guidance::New(Box::new(request))),
            Err(error) => Err(error),
        },
        _ => Err(RpcError::invalid_params(
            "Either 'input' or 'queuedInputId' is required, and neither may be blank.".to_owned(),
        )),
    };
    let what = match what {
        Ok(what) => what,
        Err(error) => return refuse(responder, error),
    };
    let (session, attached) = (client.session.clone(), thread.clone());
    let reply: Reply<Steered> = Box::new(move |steered| match steered {
        Ok(steered) => {
            responder.ok(TurnSteerResult {
                turn_id: steered.turn.to_string(),
                queued_inputs: convert::queue(attached.id().as_str(), &steered.queue),
            });
            if !steered.running {
                return;
            }
            // A client that has not subscribed still receives the outcome.
            let (start, lifetime) = (Start::At(steered.seq), Lifetime::OthersTurnEnds(steered.turn));
            session.subscribe(&SubscribeOptions {
                handle: attached,
                start,
                lifetime,
            });
        }
        Err(error) => fail(responder, &error),
    });
    let command = Command::Steer {
        what,
        expected: params.expected_turn_id,
        reply,
    };
    client.command(&thread, command).await;
}
