//! Whole messages on a transport, for programs that pass them on unread.

use std::future::poll_fn;
use std::time::Duration;

use bobbin_framing::{FrameReader, FrameWriter, FramingError};
use bytes::Bytes;
use tokio::sync::Mutex;

/// How long a write may stand still.
const WRITE_STALL: Duration = Duration::from_secs(30);

/// A writer that several tasks share. Each takes it for whole messages.
pub type Writer = Mutex<Box<dyn FrameWriter>>;

/// Waits for the next message of a reader; `None` at its end.
///
/// # Cancel safety
/// May be dropped at any time.
pub async fn next(reader: &mut dyn FrameReader) -> Option<Result<Bytes, FramingError>> {
    poll_fn(|cx| reader.poll_frame(cx)).await
}

/// Writes one message.
///
/// # Errors
/// The far side cannot be written to.
pub async fn send(writer: &Writer, message: Bytes) -> Result<(), FramingError> {
    let mut writer = writer.lock().await;
    writer.feed(message)?;
    flush(&mut **writer).await
}

/// Writes what was fed. A write that moves nothing for 30 seconds fails.
///
/// # Errors
/// The far side cannot be written to.
pub async fn flush(writer: &mut dyn FrameWriter) -> Result<(), FramingError> {
    loop {
        let before = writer.bytes_written();
        let flushed = tokio::time::timeout(WRITE_STALL, poll_fn(|cx| writer.poll_flush(cx))).await;
        match flushed {
            Ok(flushed) => return flushed,
            Err(_) if writer.bytes_written() == before => {
                return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
            }
            Err(_) => {}
        }
    }
}
