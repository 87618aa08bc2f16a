//! Handlers of `audit/*`.

use bobbin_native_wire::RpcError;
use bobbin_native_wire::audit::types::{AuditCutParams, AuditListParams, AuditListResult, AuditRow};
use bobbin_native_wire::handshake::types::EmptyResult;
use bobbin_peer::Responder;

use crate::client::{Client, fail};
use crate::errors;

/// Most entries of an answer.
const MAX_ROWS: u32 = 200;

pub(super) fn list(client: &Client, AuditListParams { after, limit }: AuditListParams, responder: Responder) {
    let threads = client.threads().clone();
    let limit = limit.unwrap_or(MAX_ROWS).clamp(1, MAX_ROWS);
    client.spawn(async move {
        match threads.audit(after.unwrap_or(0), limit).await {
            Ok(rows) => {
                let rows = rows.into_iter().map(|row| AuditRow {
                    seq: row.seq,
                    entry: row.entry,
                    hash: row.hash,
                });
                responder.ok(AuditListResult { rows: rows.collect() });
            }
            Err(error) => fail(responder, &error),
        }
    });
}

pub(super) async fn cut(client: &Client, params: AuditCutParams, responder: Responder) {
    let Some(first) = client.first_time(responder) else {
        return;
    };
    let name = Some(client.native.name().to_owned());
    match client
        .threads()
        .cut_audit(params.up_to, client.actor(), name)
        .await
    {
        Ok(true) => first.ok(&EmptyResult {}),
        Ok(false) => first.err(RpcError::invalid_params(format!(
            "there is no entry {}",
            params.up_to
        ))),
        Err(error) => first.err(errors::of(&error)),
    }
}
