//! The process's own stdin and stdout as one connection.

use std::io;
use std::os::fd::AsFd;

use bobbin_framing::{Limits, Transport};
use tokio::fs::File;

/// Longest line in bytes; a longer one is skipped and answered (AppServer protocol 01 §2).
const LINE_BYTES: usize = 16 << 20;

/// Longest body in bytes with a header block; a longer one is skipped and answered.
pub const MAX_BODY_BYTES: usize = 16 << 20;

/// Returns stdin and stdout with header blocks as framing, as editors speak. Call one of these, once: nothing
/// else may touch either.
///
/// # Errors
/// The process has no file descriptor left.
pub fn stdio_with_headers() -> io::Result<Transport> {
    let limits = Limits::default().with_max_body_bytes(MAX_BODY_BYTES);
    Ok(Transport::content_length(tokio::io::stdin(), stdout()?, limits))
}

/// Returns stdin and stdout with lines as framing. Call it once: nothing else may touch either.
///
/// # Errors
/// The process has no file descriptor left.
pub fn stdio() -> io::Result<Transport> {
    let limits = Limits::default().with_max_body_bytes(LINE_BYTES);
    Ok(Transport::lines(tokio::io::stdin(), stdout()?, limits))
}

/// Returns stdout without the line buffer of the standard library. The line buffer cuts a flush behind its last
/// line end: a header would be written without its body, and some editors parse each chunk that they read by itself.
fn stdout() -> io::Result<File> {
    let owned = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(File::from_std(owned.into()))
}
