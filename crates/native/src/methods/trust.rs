//! `workspace/trust/*`: what the folder brings along, and the user's word about it. Served where that word lies.

use std::sync::Arc;

use bobbin_agent_api::trust::{TrustChange, TrustItem, TrustKind, TrustStatus, WorkspaceTrust};
use bobbin_peer::{CallContext, PeerHandle, Responder};
use bobbin_wire as wire;
use bobbin_wire::RpcError;
use bobbin_wire::method::notification;

use super::{Client, params, refuse};
use crate::errors;

pub(super) fn get(client: &Client, request: &CallContext, responder: Responder) {
    let Some((trust, responder)) = trust(client, request, responder) else {
        return;
    };
    client.reads.spawn(async move {
        match trust.status().await {
            Ok(status) => responder.ok(result(status)),
            Err(error) => refuse(responder, errors::of_trust(&error)),
        }
    });
}

pub(super) async fn set(client: &Client, request: &CallContext, responder: Responder) {
    let Some((trust, responder)) = trust(client, request, responder) else {
        return;
    };
    let Some((params, responder)) = params::<wire::WorkspaceTrustSetParams>(request, responder) else {
        return;
    };
    let change = match (params.trusted, params.fingerprints) {
        (true, None) => TrustChange::TrustAll,
        (true, Some(fingerprints)) => TrustChange::TrustOnly(fingerprints),
        (false, None) => TrustChange::Revoke,
        (false, Some(_)) => {
            let detail = "'fingerprints' belongs to 'trusted': true; without it all trust is taken back.";
            return refuse(responder, RpcError::invalid_params(detail));
        }
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    match trust.set(change).await {
        Ok(status) => first.ok(&result(status)),
        Err(error) => first.err(errors::of_trust(&error)),
    }
}

/// Sends the one sentence to a client that would not ask, if something waits.
pub(crate) async fn send_notice(trust: Arc<dyn WorkspaceTrust>, peer: PeerHandle) {
    let Some(message) = trust.notice().await else {
        return;
    };
    let params = wire::SystemEventNotification {
        thread_id: None,
        turn_id: None,
        kind: wire::SystemEventKind::WorkspaceNotTrusted,
        message: Some(message),
        percent_left: None,
        token_count: None,
        channel_name: None,
        seq: None,
    };
    if let Err(error) = peer.notify(notification::SYSTEM_EVENT, &params).await {
        tracing::debug!(%error, "a client has left before it was told what waits");
    }
}

fn trust(
    client: &Client,
    request: &CallContext,
    responder: Responder,
) -> Option<(Arc<dyn WorkspaceTrust>, Responder)> {
    let Some(trust) = client.services().trust.clone() else {
        refuse(responder, RpcError::method_not_found(&request.method));
        return None;
    };
    Some((trust, responder))
}

fn result(status: TrustStatus) -> wire::WorkspaceTrustResult {
    let (counted, waiting): (Vec<_>, Vec<_>) = status.items.into_iter().partition(|item| item.trusted);
    wire::WorkspaceTrustResult {
        trusted: status.trusted,
        waiting: waiting.into_iter().map(item).collect(),
        counted: counted.into_iter().map(item).collect(),
        restart_needed: status.restart_needed,
    }
}

fn item(item: TrustItem) -> wire::TrustItem {
    wire::TrustItem {
        kind: match item.kind {
            TrustKind::Server => wire::TrustKind::Server,
            TrustKind::Setting => wire::TrustKind::Setting,
            TrustKind::Text => wire::TrustKind::Text,
        },
        name: item.name,
        detail: Some(item.detail).filter(|detail| !detail.is_empty()),
        fingerprint: item.fingerprint,
    }
}
