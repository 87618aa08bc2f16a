//! Handlers of the requests about channels.

use bobbin_agent_api::channel::{ChannelDelivery as _, ChatAddress, DeliveryErrorCode};
use bobbin_native::client::{Client, refuse, refuse_params};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::EmptyParams;
use bobbin_native_wire::thread::params::ChannelCategory;
use bobbin_peer::Responder;

use super::Feature;
use super::wire::{
    self, ChannelDiagnostic, ChannelSendParams, ChannelSendResult, ChannelStatusResult,
    ExternalChannelListResult, ExternalChannelLogsParams, ExternalChannelLogsResult,
    ExternalChannelNameParams, ExternalChannelRemoveParams, ExternalChannelRemoveResult,
    ExternalChannelResult, ExternalChannelUpsertParams,
};
use crate::configured::ChangeError;
use crate::host::{ChannelRuntimeState, key};
use crate::logs::MAX_LINES;
use crate::media::error;

/// Default number of lines in an answer.
const LINES: usize = 200;
/// The code of a channel whose adapter cannot be started.
const START_FAILED: &str = "externalChannelStartFailed";

pub(super) fn list(_: &Client, channels: &Feature, _: EmptyParams, responder: Responder) {
    let channels = channels.in_effect().into_iter();
    responder.ok(ExternalChannelListResult {
        channels: channels.map(|declared| declared.config.into()).collect(),
    });
}

pub(super) fn get(
    _: &Client,
    channels: &Feature,
    ExternalChannelNameParams { name }: ExternalChannelNameParams,
    responder: Responder,
) {
    match channels.find(&name) {
        Ok(declared) => responder.ok(ExternalChannelResult {
            channel: declared.config.into(),
        }),
        Err(error) => refuse(responder, wire_error(error)),
    }
}

pub(super) async fn upsert(
    client: &Client,
    channels: &Feature,
    ExternalChannelUpsertParams { channel, .. }: ExternalChannelUpsertParams,
    responder: Responder,
) {
    let config = match channel.into_config() {
        Ok(config) => config,
        Err(detail) => return refuse(responder, RpcError::channel_invalid(detail)),
    };
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |stored| match stored {
        Ok(config) => first.ok(&ExternalChannelResult {
            channel: wire::ExternalChannelConfig::from(config),
        }),
        Err(error) => first.err(wire_error(error)),
    };
    channels.upsert(config, reply).await;
}

pub(super) async fn remove(
    client: &Client,
    channels: &Feature,
    ExternalChannelRemoveParams { name, .. }: ExternalChannelRemoveParams,
    responder: Responder,
) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let reply = |removed| match removed {
        Ok(()) => first.ok(&ExternalChannelRemoveResult { removed: true }),
        Err(error) => first.err(wire_error(error)),
    };
    channels.remove(name, reply).await;
}

pub(super) fn logs(
    _: &Client,
    channels: &Feature,
    ExternalChannelLogsParams { name, tail }: ExternalChannelLogsParams,
    responder: Responder,
) {
    let tail = tail.map_or(LINES, |tail| tail as usize);
    if !(1..=MAX_LINES).contains(&tail) {
        return refuse_params(responder, format!("'tail' must be 1 to {MAX_LINES}."));
    }
    match channels.host().logs(&name) {
        Some(logs) => responder.ok(ExternalChannelLogsResult {
            name,
            lines: logs.newest(tail),
        }),
        None => refuse(responder, RpcError::channel_not_found(&name)),
    }
}

pub(super) fn status(_: &Client, channels: &Feature, _: EmptyParams, responder: Responder) {
    let status = channels
        .host()
        .status()
        .into_iter()
        .map(|channel| wire::ChannelStatus {
            name: channel.name,
            category: ChannelCategory::External,
            enabled: channel.enabled,
            running: channel.state == ChannelRuntimeState::Running,
            runtime_state: channel.state,
            failure_code: (channel.state == ChannelRuntimeState::Failed).then(|| START_FAILED.to_owned()),
            problem: channel.problem,
            diagnostics: channel
                .diagnostics
                .into_iter()
                .map(|one| ChannelDiagnostic {
                    code: one.code.to_owned(),
                    message: one.message,
                })
                .collect(),
        });
    responder.ok(ChannelStatusResult {
        channels: status.collect(),
    });
}

pub(super) fn send(client: &Client, channels: &Feature, params: ChannelSendParams, responder: Responder) {
    let message = match params.message.into_message() {
        Ok(message) => message,
        Err(detail) => return refuse(responder, RpcError::invalid_params(detail)),
    };
    // An adapter may send only to chats of its own channel.
    let own = client.adapter_of();
    let is_foreign = own.is_some_and(|own| key(&own) != key(&params.channel));
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let host = channels.host().clone();
    client.spawn(async move {
        let to = ChatAddress {
            channel: params.channel,
            target: params.target,
        };
        let sent = if is_foreign {
            let why = "an adapter does not send to chats of another channel";
            Err(error(DeliveryErrorCode::ChannelNotFound, why))
        } else {
            host.deliver(to, message, params.metadata).await
        };
        first.ok(&ChannelSendResult::from(sent));
    });
}

fn wire_error(error: ChangeError) -> RpcError {
    match error {
        ChangeError::NotFound(name) => RpcError::channel_not_found(&name),
        ChangeError::Invalid(detail) => RpcError::channel_invalid(detail),
        ChangeError::NameConflict(detail) => RpcError::channel_name_conflict(detail),
        ChangeError::Unwritable(detail) => RpcError::internal_error(detail),
    }
}
