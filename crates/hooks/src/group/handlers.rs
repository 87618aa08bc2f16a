//! The requests about hooks. Files are read and written in tasks of their own.

use bobbin_native::client::{Client, refuse};
use bobbin_native_wire::RpcError;
use bobbin_peer::Responder;

use super::wire::{HooksListParams, HooksListResult, HooksSetStateParams, HooksTrustPluginParams};
use super::{Feature, HOOKS_SET_STATE, HOOKS_TRUST_PLUGIN};
use crate::{HookError, ManagedHooks};

pub(super) fn list(client: &Client, hooks: &Feature, _: HooksListParams, responder: Responder) {
    let hooks = hooks.clone();
    client.spawn(async move { answer(&hooks, responder, None, |hooks| Ok(hooks.list())).await });
}

pub(super) async fn set_state(_: &Client, hooks: &Feature, asked: HooksSetStateParams, responder: Responder) {
    let set =
        move |hooks: &ManagedHooks| hooks.set_state(&asked.key, asked.enabled, asked.trusted_hash.as_deref());
    answer(hooks, responder, Some(HOOKS_SET_STATE), set).await;
}

pub(super) async fn trust_plugin(
    _: &Client,
    hooks: &Feature,
    asked: HooksTrustPluginParams,
    responder: Responder,
) {
    let trust = move |hooks: &ManagedHooks| hooks.trust_plugin(&asked.plugin_id);
    answer(hooks, responder, Some(HOOKS_TRUST_PLUGIN), trust).await;
}

/// Answers with the hooks after `work`. If it succeeds and is a `change`, notifies all clients.
async fn answer(
    hooks: &Feature,
    responder: Responder,
    change: Option<&'static str>,
    work: impl FnOnce(&ManagedHooks) -> Result<HooksListResult, HookError> + Send + 'static,
) {
    let own = hooks.clone();
    match tokio::task::spawn_blocking(move || work(&own)).await {
        Ok(Ok(result)) => {
            responder.ok(result);
            if let Some(method) = change {
                hooks.notify(method);
            }
        }
        Ok(Err(HookError::Record(error))) => {
            let detail = format!("The record of trust cannot be written: {error}.");
            refuse(responder, RpcError::internal_error(detail));
        }
        Ok(Err(error)) => refuse(responder, RpcError::invalid_params(error.to_string())),
        Err(error) => {
            tracing::error!(%error, "work with hooks ended badly");
            refuse(
                responder,
                RpcError::internal_error("The hooks could not be read."),
            );
        }
    }
}
