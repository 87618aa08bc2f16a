//! Encodes notifications of the server.
//!
//! A notification is encoded once, and all connections that receive it share the bytes. So the whole message is made
//! here, with its envelope but without a line end, which `framing` adds.

use serde::Serialize;

/// Nearly all notifications are smaller (guess; deltas are about 200 bytes), so they need one allocation.
const USUAL_BYTES: usize = 512;

/// A message could not be encoded. This is a bug: every shape of this crate can be encoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode {method}")]
pub struct EncodeError {
    method: String,
    #[source]
    source: serde_json::Error,
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

/// Returns the whole notification as one line of JSON without its line end.
///
/// # Errors
/// [`EncodeError`] if the params cannot be serialized.
pub fn encode_notification<P: Serialize>(method: &str, params: &P) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(
        &mut bytes,
        &Notification {
            jsonrpc: "2.0",
            method,
            params,
        },
    )
    .map_err(|source| EncodeError {
        method: method.to_owned(),
        source,
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::delta::AgentMessageDeltaNotification;

    #[test]
    fn a_notification_is_one_line_with_its_envelope() {
        let params = AgentMessageDeltaNotification::new("thread_1", "turn_001", "item_002", "two\nlines");
        let bytes = encode_notification("item/agentMessage/delta", &params).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            concat!(
                r#"{"jsonrpc":"2.0","method":"item/agentMessage/delta","params":{"threadId":"thread_1","#,
                r#""turnId":"turn_001","itemId":"item_002","deltaKind":"agentMessage","delta":"two\nlines"}}"#
            )
        );
    }
}
