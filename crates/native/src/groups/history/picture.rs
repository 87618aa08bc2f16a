//! Extension: `turn/picture/read`, a picture of an input, for clients that show it.

use std::sync::Arc;

use crate::client::{Client, refuse};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bobbin_agent_api::picture::{PictureFiles, media_type};
use bobbin_model::ThreadId;
use bobbin_native_wire::RpcError;
use bobbin_native_wire::history::types::{TurnPictureReadParams, TurnPictureReadResult};
use bobbin_peer::Responder;

/// Reads a picture of a Thread.
pub(super) fn read(
    client: &Client,
    files: &Arc<dyn PictureFiles>,
    params: TurnPictureReadParams,
    responder: Responder,
) {
    let files = files.clone();
    client.answer_large(responder, async move |responder| {
        let found = match files.get(&ThreadId::new(params.thread_id), &params.path).await {
            Ok(found) => found,
            Err(error) => return refuse(responder, RpcError::internal_error(error.to_string())),
        };
        let encoded = tokio::task::spawn_blocking(move || {
            let bytes = found?;
            let media_type = media_type(&bytes)?.to_owned();
            let data_base64 = STANDARD.encode(bytes);
            Some(TurnPictureReadResult {
                media_type,
                data_base64,
            })
        });
        match encoded.await.ok().flatten() {
            Some(result) => responder.ok(result),
            None => refuse(
                responder,
                RpcError::invalid_params("The Thread has no such picture."),
            ),
        }
    });
}
