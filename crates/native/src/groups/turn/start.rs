//! Starting and stopping Turns.

use std::sync::Arc;

use bobbin_core::{Command, CoreError, Reply, StartedTurn, ThreadHandle};
use bobbin_model::{InputPart, ItemBody, Need, Refusal, TurnFeatures};
use bobbin_native_wire::turn::params::{
    ThreadShellCommandParams, TurnInterruptParams, TurnStartParams, TurnStartResult,
};
use bobbin_native_wire::turn::types::Turn;
use bobbin_peer::Responder;
use bobbin_session::{Lifetime, Start, SubscribeOptions};

use super::{history, input, own};
use crate::client::{Client, fail, handle, refuse, refuse_params};
use crate::connection::Endpoint;
use crate::convert;
use crate::groups::thread::lifecycle;

/// Longest command line of a user, in bytes.
const MAX_COMMAND: usize = 64 << 10;
/// Limit of rules of one Turn.
const MAX_ALLOWED: usize = 64;

pub(super) async fn start(client: &Client, params: TurnStartParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let input = match input::read(params.input, thread.id(), client).await {
        Ok(input) => input,
        Err(error) => return refuse(responder, error),
    };
    let messages = params.messages.map(|messages| history::read(&messages, &input));
    let messages = match messages.transpose() {
        Ok(messages) => messages,
        Err(error) => return refuse(responder, error),
    };
    let message = params.client_user_message_id;
    let mut request = match client.turn(thread.id(), input, params.sender, message) {
        Ok(request) => request,
        Err(error) => return refuse(responder, error),
    };
    request.features.reasoning_effort = params.reasoning_effort;
    request.features.allow = params.allow.unwrap_or_default();
    request.features.sandbox = params.sandbox;
    if let Err(detail) = check_permissions(client, &request.features) {
        return refuse_params(responder, detail);
    }
    let reply = started(client, &thread, responder);
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

/// `thread/shellCommand`.
pub(super) async fn shell_command(client: &Client, params: ThreadShellCommandParams, responder: Responder) {
    let Some((thread, responder)) = handle(client, &params.thread_id, responder).await else {
        return;
    };
    let line = params.command.trim();
    if line.is_empty() || line.len() > MAX_COMMAND {
        return refuse_params(responder, format!("'command' has 1 to {MAX_COMMAND} bytes."));
    }
    let text = format!("!{line}");
    let input = vec![InputPart::Text { text }];
    let mut request = match client.turn(thread.id(), input, None, None) {
        Ok(request) => request,
        Err(error) => return refuse(responder, error),
    };
    request.features.command = Some(line.to_owned());
    let reply = started(client, &thread, responder);
    client
        .command(&thread, Command::StartTurn { request, reply })
        .await;
}

/// Returns the answer to a request that starts a Turn: the client follows it.
fn started(client: &Client, thread: &Arc<ThreadHandle>, responder: Responder) -> Reply<StartedTurn> {
    let (follower, attached) = (client.clone(), thread.clone());
    let shown = client.native.tool_executions();
    Box::new(move |started| match started {
        Ok(started) => {
            let turn = Turn {
                items: Some(Vec::new()),
                ..convert::turn(attached.id(), &started.turn, shown)
            };
            responder.ok(TurnStartResult { turn });
            follower.follow(attached, &started);
        }
        Err(error) => {
            fail(responder, &error);
            if matches!(error, CoreError::Refused(Refusal::TurnInProgress { .. })) {
                ask_chat(follower, attached);
            }
        }
    })
}

/// Checks the permissions that a client gives its Turn. Only a program of the server's user, which has read the
/// socket's key, may give any.
///
/// # Errors
/// The client may not, or a rule cannot be used: a sentence for its user.
fn check_permissions(client: &Client, features: &TurnFeatures) -> Result<(), String> {
    if features.allow.is_empty() && features.sandbox.is_none() {
        return Ok(());
    }
    if !matches!(client.endpoint(), Endpoint::Local(_)) {
        return Err(
            "'allow' and 'sandbox' are taken over the workspace's socket only: start the turn with `bobbin exec`, or set \
             Permissions.Rules and Sandbox.Profile in ~/.craft/config.json."
                .to_owned(),
        );
    }
    if features.allow.len() > MAX_ALLOWED {
        return Err(format!("'allow' has more than {MAX_ALLOWED} rules."));
    }
    if features.allow.is_empty() {
        return Ok(());
    }
    let checked = client.threads().settings().policy.allowing(&features.allow);
    checked.map(drop).map_err(|why| format!("'allow': {why}."))
}

/// Puts the open questions of a channel's Turn to its adapter. After a restart of either side, no other event of the
/// chat does, and the chat's messages are refused until the user answers.
fn ask_chat(client: Client, thread: Arc<ThreadHandle>) {
    let Some(channel) = client.adapter_of() else {
        return;
    };
    client.clone().spawn(async move {
        let Ok(snapshot) = client.threads().snapshot(&thread).await else {
            return;
        };
        let Some(live) = &snapshot.state.live else { return };
        let first = live.turn.items.first().map(|item| &item.body);
        let is_of_chat = matches!(first, Some(ItemBody::UserMessage(said))
            if said.channel_name.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(&channel)));
        let children = client.threads().questions_of_descendants(thread.id()).await;
        if is_of_chat && !(live.approvals.is_empty() && children.is_empty()) {
            client.session.subscribe(&SubscribeOptions {
                handle: thread,
                start: Start::Now,
                lifetime: Lifetime::TurnEnds(live.turn.id),
            });
        }
    });
}

pub(super) async fn interrupt(client: &Client, params: TurnInterruptParams, responder: Responder) {
    let (mut turn, mut responder) = (params.turn_id, responder);
    if !client.actor().may(Need::Approve) {
        let Some((thread, checked)) = handle(client, &params.thread_id, responder).await else {
            return;
        };
        turn = match own::check_turn(client, &thread, turn, "turn/interrupt").await {
            Ok(running) => running,
            Err(error) => return refuse(checked, error),
        };
        responder = checked;
    }
    lifecycle::change(client, &params.thread_id, responder, |reply| Command::Interrupt {
        turn,
        reply,
    })
    .await;
}
