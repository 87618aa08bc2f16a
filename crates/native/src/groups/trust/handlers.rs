//! `workspace/trust/*`: the items of the folder that need trust, and the user's decision. Served if the server stores
//! that decision.

use std::sync::Arc;

use bobbin_agent_api::trust::{
    TrustChange, TrustError, TrustItem, TrustKind, TrustNews, TrustStatus, WorkspaceTrust,
};
use bobbin_core::{Broadcast, WireMessage};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::system::types::{SystemEventKind, SystemEventNotification};
use bobbin_native_wire::trust::types;
use bobbin_native_wire::trust::types::{
    WorkspaceTrustChangedNotification, WorkspaceTrustResult, WorkspaceTrustSetParams,
};
use bobbin_peer::{PeerHandle, Responder};

use super::WORKSPACE_TRUST_CHANGED;
use crate::call::NoParams;
use crate::client::{Client, refuse};
use crate::groups::system::SYSTEM_EVENT;
use crate::message;

type Trust = Arc<dyn WorkspaceTrust>;

pub(super) fn get(client: &Client, trust: &Trust, _: NoParams, responder: Responder) {
    let trust = trust.clone();
    client.spawn(async move {
        match trust.status().await {
            Ok(status) => responder.ok(result(status)),
            Err(error) => refuse(responder, wire_error(&error)),
        }
    });
}

pub(super) async fn set(
    client: &Client,
    trust: &Trust,
    params: WorkspaceTrustSetParams,
    responder: Responder,
) {
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
        Err(error) => first.err(wire_error(&error)),
    }
}

/// Sends one sentence to a client that would not ask, if an item waits for its user's decision.
pub(super) fn send_notice(client: &Client) {
    if !client.capabilities().workspace_trust
        && client.wants(SYSTEM_EVENT)
        && let Some(trust) = &client.services().trust
    {
        client.spawn(notice(trust.clone(), client.peer().clone()));
    }
}

async fn notice(trust: Trust, peer: PeerHandle) {
    let Some(message) = trust.notice().await else {
        return;
    };
    let params = SystemEventNotification {
        thread_id: None,
        turn_id: None,
        kind: SystemEventKind::WorkspaceNotTrusted,
        message: Some(message),
        percent_left: None,
        token_count: None,
        channel_name: None,
        seq: None,
    };
    if let Err(error) = peer.notify(SYSTEM_EVENT, &params).await {
        tracing::debug!(%error, "a client left before it was sent what waits");
    }
}

fn result(status: TrustStatus) -> WorkspaceTrustResult {
    let (counted, waiting): (Vec<_>, Vec<_>) = status.items.into_iter().partition(|item| item.trusted);
    WorkspaceTrustResult {
        trusted: status.trusted,
        waiting: waiting.into_iter().map(item).collect(),
        counted: counted.into_iter().map(item).collect(),
        restart_needed: status.restart_needed,
    }
}

fn item(item: TrustItem) -> types::TrustItem {
    types::TrustItem {
        kind: match item.kind {
            TrustKind::Server => types::TrustKind::Server,
            TrustKind::Setting => types::TrustKind::Setting,
            TrustKind::Text => types::TrustKind::Text,
        },
        name: item.name,
        detail: Some(item.detail).filter(|detail| !detail.is_empty()),
        fingerprint: item.fingerprint,
    }
}

/// Returns the notification of the user's decision.
pub(super) fn broadcast(news: &Broadcast) -> Option<WireMessage> {
    let TrustNews { trusted } = *news.get()?;
    let params = WorkspaceTrustChangedNotification { trusted };
    Some(message(WORKSPACE_TRUST_CHANGED, &params))
}

/// Returns the wire's error for an error of trust.
fn wire_error(error: &TrustError) -> RpcError {
    match error {
        TrustError::Changed => RpcError::invalid_params(error.to_string()),
        TrustError::Unwritable(detail) => RpcError::internal_error(detail.clone()),
    }
}
