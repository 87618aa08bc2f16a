//! `model/list`: the models that a Thread can be given. It asks providers, in a task of its own.

use bobbin_peer::{CallContext, Responder};
use bobbin_wire::RpcError;

use super::{Client, refuse};

pub(super) fn list(client: &Client, request: &CallContext, responder: Responder) {
    let Some(models) = client.models.clone() else {
        return refuse(responder, RpcError::method_not_found(&request.method));
    };
    let cancelled = request.token().clone();
    client.reads.spawn(async move {
        tokio::select! {
            biased;
            // Whoever asked waits no longer.
            () = cancelled.cancelled() => drop(responder),
            result = models.list() => responder.ok(result),
        }
    });
}
