//! The process's own stdin and stdout as one connection.

use bobbin_framing::{Limits, Transport};

/// Longest line in bytes; a longer one is skipped and answered (AppServer protocol 01 §2).
const LINE_BYTES: usize = 16 << 20;

/// Longest body in bytes with a header block; a longer one is skipped and answered.
pub const MAX_BODY_BYTES: usize = 16 << 20;

/// Returns stdin and stdout with header blocks as framing, as editors speak. Call one of these, once: nothing
/// else may touch either.
pub fn stdio_with_headers() -> Transport {
    Transport::content_length(
        tokio::io::stdin(),
        tokio::io::stdout(),
        Limits::default().with_max_body_bytes(MAX_BODY_BYTES),
    )
}

/// Returns stdin and stdout with lines as framing. Call it once: nothing else may touch either.
pub fn stdio() -> Transport {
    Transport::lines(
        tokio::io::stdin(),
        tokio::io::stdout(),
        Limits::default().with_max_body_bytes(LINE_BYTES),
    )
}
