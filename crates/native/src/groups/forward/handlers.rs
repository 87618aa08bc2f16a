//! `forward/*`. A forward ends with the connection that started it, so no port listens without its user's knowledge.

use std::sync::Arc;

use bobbin_agent_api::forward::{Forward, ForwardEnded, ForwardError, Forwards};
use bobbin_core::{Broadcast, WireMessage};
use bobbin_model::ThreadId;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::forward::types;
use bobbin_native_wire::forward::types::{
    ForwardEndedNotification, ForwardListParams, ForwardListResult, ForwardResult, ForwardStartParams,
    ForwardStopParams, ForwardStopResult,
};
use bobbin_peer::Responder;

use super::FORWARD_ENDED;
use crate::client::{Client, handle, refuse};
use crate::message;

pub(super) fn start(
    client: &Client,
    forwards: &Arc<dyn Forwards>,
    asked: ForwardStartParams,
    responder: Responder,
) {
    // A client that may not approve a command's network access may not open a way to the command.
    if !client.capabilities().approval_support {
        let detail = "A client that cannot approve anything cannot forward a port.";
        let error = RpcError::invalid_request(detail).with_reason("approvalNotSupported");
        return refuse(responder, error);
    }
    let (forwards, finder, peer) = (forwards.clone(), client.clone(), client.peer().clone());
    client.spawn(async move {
        let Some((_, responder)) = handle(&finder, &asked.thread_id, responder).await else {
            return;
        };
        drop(finder);
        let (thread, to) = (ThreadId::new(asked.thread_id), asked.to.map(Into::into));
        let started = tokio::select! {
            () = peer.closed() => return,
            started = forwards.start(thread, asked.port.into(), to) => started,
        };
        let started = match started {
            Ok(started) => started,
            Err(error) => return refuse(responder, wire_error(&error)),
        };
        let ended = forwards.ended(&started.id);
        responder.ok(ForwardResult {
            forward: shown(&started),
        });
        tokio::select! {
            () = ended => {}
            () = peer.closed() => {
                forwards.stop(&started.id);
            }
        }
    });
}

pub(super) fn list(_: &Client, forwards: &Arc<dyn Forwards>, asked: ForwardListParams, responder: Responder) {
    let thread = asked.thread_id.map(ThreadId::new);
    responder.ok(ForwardListResult {
        forwards: forwards.list(thread.as_ref()).iter().map(shown).collect(),
    });
}

pub(super) fn stop(
    client: &Client,
    forwards: &Arc<dyn Forwards>,
    asked: ForwardStopParams,
    responder: Responder,
) {
    let forwards = forwards.clone();
    client.spawn(async move {
        let ended = forwards.ended(&asked.forward_id);
        let stopped = forwards.stop(&asked.forward_id);
        ended.await;
        responder.ok(ForwardStopResult { stopped });
    });
}

fn shown(forward: &Forward) -> types::Forward {
    types::Forward {
        forward_id: forward.id.clone(),
        thread_id: forward.thread.to_string(),
        port: forward.port,
        address: forward.address.to_string(),
        url: forward.url(),
    }
}

/// Returns the notification of a forward's end.
pub(super) fn broadcast(news: &Broadcast) -> Option<WireMessage> {
    let ForwardEnded(forward) = news.get()?;
    let forward = shown(forward);
    Some(message(FORWARD_ENDED, &ForwardEndedNotification { forward }))
}

fn wire_error(error: &ForwardError) -> RpcError {
    let reason = match error {
        ForwardError::NoNetwork => "noNetwork",
        ForwardError::ThreadFull(_) => "tooManyForwards",
        ForwardError::PagePort(_) => "pagePort",
        ForwardError::Listen { .. } => "portNotFree",
    };
    RpcError::invalid_request(error.to_string()).with_reason(reason)
}
