//! Starting and stopping Turns.

use bobbin_core::{Command, Reply, StartedTurn};
use bobbin_peer::Responder;

use super::{history, input};
use crate::client::{Client, fail, handle, refuse};
use crate::convert;
use crate::groups::thread::lifecycle;
use crate::wire;

pub(super) async fn start(client: &Client, params: wire::TurnStartParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let input = match input::read(params.input, thread.id(), client.services()).await {
        Ok(input) => input,
        Err(error) => return refuse(responder, error),
    };
    let messages = params.messages.map(|messages| history::read(&messages, &input));
    let messages = match messages.transpose() {
        Ok(messages) => messages,
        Err(error) => return refuse(responder, error),
    };
    let mut request = client.turn(thread.id(), input, params.sender);
    request.features.reasoning_effort = params.reasoning_effort;
    let (follower, attached) = (client.clone(), thread.clone());
    let shown = client.native.tool_executions();
    let reply: Reply<StartedTurn> = Box::new(move |started| match started {
        Ok(started) => {
            let turn = wire::Turn {
                items: Some(Vec::new()),
                ..convert::turn(attached.id(), &started.turn, shown)
            };
            responder.ok(wire::TurnStartResult { turn });
            follower.follow(attached, &started);
        }
        Err(error) => fail(responder, &error),
    });
    let command = match messages {
        Some(messages) => Command::StartTurnAfter {
            messages,
            request,
            reply,
        },
        None => Command::StartTurn { request, reply },
    };
    client.command(&thread, command).await;
}

pub(super) async fn interrupt(client: &Client, params: wire::TurnInterruptParams, responder: Responder) {
    let turn = params.turn_id;
    lifecycle::change(client, &params.thread_id, responder, |reply| Command::Interrupt {
        turn,
        reply,
    })
    .await;
}
