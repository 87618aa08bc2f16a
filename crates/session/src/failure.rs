//! Failed requests of the server, as features see them.

use bobbin_agent_api::client::ClientFailure;
use bobbin_peer::{CallError, SendError};

/// Longest text of a client's error that is passed on, in bytes.
const MAX_ERROR: usize = 4 << 10;

/// Returns the reason why a request to a client failed. The client's own text is cut at 4 KiB.
#[must_use]
pub fn client_failure(error: CallError) -> ClientFailure {
    match error {
        CallError::Remote(error) => {
            let mut text = error.message.to_string();
            text.truncate(text.floor_char_boundary(MAX_ERROR));
            ClientFailure::Refused(text)
        }
        CallError::TimedOut(limit) => ClientFailure::Late(limit),
        CallError::ShutDown | CallError::Send(SendError::Closed) => ClientFailure::Gone,
        CallError::Send(error) => ClientFailure::Refused(format!("it was not sent: {error}")),
        CallError::Decode(error) => ClientFailure::Unusable(error.to_string()),
    }
}
