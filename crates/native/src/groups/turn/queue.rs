//! The queue of inputs that wait until the running Turn ends.

use bobbin_core::{Command, Enqueued, Reply, Steered, Unqueued};
use bobbin_model::QueuedInputId;
use bobbin_model::state::StartTurn;
use bobbin_peer::Responder;
use bobbin_session::{Lifetime, Start, SubscribeOptions};

use super::input;
use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::convert;
use crate::groups::turn::params::{
    TurnEnqueueParams, TurnEnqueueResult, TurnQueueRemoveParams, TurnQueueRemoveResult, TurnSteerParams,
    TurnSteerResult,
};

pub(super) async fn enqueue(client: &Client, params: TurnEnqueueParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let input = match input::read(params.input, thread.id(), client.services()).await {
        Ok(input) => input,
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
    let request = StartTurn {
        trigger: None,
        input,
        sender: params.sender,
        channel: Some(client.native.channels().of(thread.id())),
        features: client.turn_features(),
    };
    client.command(&thread, Command::Enqueue { request, reply }).await;
}

pub(super) async fn remove(client: &Client, params: TurnQueueRemoveParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let (session, attached) = (client.session.clone(), thread.clone());
    let reply: Reply<Unqueued> = Box::new(move |unqueued| match unqueued {
        Ok(unqueued) => {
            let queued_inputs = convert::queue(attached.id().as_str(), &unqueued.queue);
            responder.ok(TurnQueueRemoveResult { queued_inputs });
            if unqueued.seq <= attached.log().visible() {
                return;
            }
            let (start, lifetime) = (Start::At(unqueued.seq), Lifetime::Seq(unqueued.seq));
            session.subscribe(&SubscribeOptions {
                handle: attached,
                start,
                lifetime,
            });
        }
        Err(error) => fail(responder, &error),
    });
    let id = QueuedInputId::new(params.queued_input_id);
    client.command(&thread, Command::Unqueue { id, reply }).await;
}

pub(super) async fn steer(client: &Client, params: TurnSteerParams, responder: Responder) {
    for (name, value) in [
        ("expectedTurnId", &params.expected_turn_id),
        ("queuedInputId", &params.queued_input_id),
    ] {
        if value.trim().is_empty() {
            return refuse_params(responder, format!("'{name}' must not be blank."));
        }
    }
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
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
        id: QueuedInputId::new(params.queued_input_id),
        expected: params.expected_turn_id,
        sender: params.sender,
        reply,
    };
    client.command(&thread, command).await;
}
