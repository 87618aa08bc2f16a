//! Handlers of extensions, buttons and commands.

use std::future::poll_fn;
use std::task::Poll;

use crate::CommandError;
use bobbin_model::ThreadId;
use bobbin_native::client::{Client, refuse};
use bobbin_native_wire::RpcError;
use bobbin_native_wire::handshake::types::{EmptyParams, EmptyResult};
use bobbin_peer::Responder;

use crate::group::Hermes;
use crate::group::convert;
use crate::group::screen::client_id;
use crate::group::wire::extensions::{
    HermesButton, HermesCommandParams, HermesExtensionListResult, HermesLogsParams, HermesLogsResult,
    HermesSetEnabledParams, HermesToolbarButton, HermesToolbarResult,
};

/// Default number of entries of a log.
const USUAL_ENTRIES: u32 = 100;

pub(crate) fn list(_: &Client, host: &Hermes, _: EmptyParams, responder: Responder) {
    responder.ok(HermesExtensionListResult {
        extensions: host.extensions(),
    });
}

pub(crate) fn reload(_: &Client, host: &Hermes, _: EmptyParams, responder: Responder) {
    host.reload();
    responder.ok(EmptyResult {});
}

pub(crate) fn set_enabled(
    _: &Client,
    host: &Hermes,
    HermesSetEnabledParams { id, enabled }: HermesSetEnabledParams,
    responder: Responder,
) {
    match host.set_enabled(&id, enabled) {
        Ok(()) => responder.ok(EmptyResult {}),
        Err(error) => refuse(responder, RpcError::invalid_params(error.to_string())),
    }
}

pub(crate) fn logs(
    _: &Client,
    host: &Hermes,
    HermesLogsParams { id, after, limit }: HermesLogsParams,
    responder: Responder,
) {
    let limit = limit.unwrap_or(USUAL_ENTRIES) as usize;
    match host.logs(&id, after, limit) {
        Ok(records) => responder.ok(HermesLogsResult {
            entries: records.into_iter().map(convert::record).collect(),
        }),
        Err(error) => refuse(responder, RpcError::invalid_params(error.to_string())),
    }
}

pub(crate) fn toolbar(_: &Client, host: &Hermes, _: EmptyParams, responder: Responder) {
    let buttons = host.toolbar().into_iter().map(|one| HermesToolbarButton {
        extension_id: one.extension_id.to_string(),
        button: HermesButton {
            id: one.button.id,
            label: one.button.label,
            icon: one.button.icon,
            command: one.button.command,
            group: one.button.group,
        },
    });
    responder.ok(HermesToolbarResult {
        buttons: buttons.collect(),
    });
}

pub(crate) async fn execute(
    client: &Client,
    host: &Hermes,
    asked: HermesCommandParams,
    responder: Responder,
) {
    let (host, peer, id) = (host.clone(), client.peer().clone(), client_id(client));
    let thread = asked.thread_id.map(ThreadId::new);
    let mut sent = Box::pin(async move { host.execute(&asked.command, thread.as_ref(), id).await });
    // The first poll queues the command, in the order of requests. An extension that does not read delays only the answer.
    match poll_fn(|cx| Poll::Ready(sent.as_mut().poll(cx))).await {
        Poll::Ready(sent) => executed(responder, sent),
        Poll::Pending => client.spawn(async move {
            tokio::select! {
                () = peer.closed() => {}
                sent = sent => executed(responder, sent),
            }
        }),
    }
}

fn executed(responder: Responder, sent: Result<(), CommandError>) {
    match sent {
        Ok(()) => responder.ok(EmptyResult {}),
        Err(error) => responder.err(convert::command_error(&error)),
    }
}
