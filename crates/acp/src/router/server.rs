//! The task that serves one server: joins it, then passes messages in both directions until either side is gone.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bobbin_acp_wire::method;
use bobbin_editor_kit::frames::{flush, next};
use bobbin_framing::{CloseReason, FrameReader, FrameWriter, FramingError, Transport};
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::sync::mpsc;

use super::Shared;
use super::message::{Message, withdrawal};

/// Bytes after which a batch is written: readers parse what they read at once.
const BATCH_BYTES: usize = 32 << 10;

/// Serves the server of a folder.
pub(super) async fn serve(shared: Arc<Shared>, folder: PathBuf, mut messages: mpsc::Receiver<Bytes>) {
    let why = match shared.connect.connect(folder.clone()).await {
        Ok(transport) => {
            talk(&shared, &folder, transport, &mut messages).await;
            "The server of this folder has ended; what runs goes on when it is served again. Load the session to see how \
             it went on."
                .to_owned()
        }
        Err(why) => why,
    };
    let last = {
        // In one step, since another server is joined once the queue is closed.
        let mut table = shared.table.lock();
        messages.close();
        table.gone(&folder, &why)
    };
    for message in last {
        shared.write(message).await;
    }
}

async fn talk(shared: &Shared, folder: &Path, server: Transport, messages: &mut mpsc::Receiver<Bytes>) {
    let Transport {
        mut reader,
        mut writer,
    } = server;
    let up = async {
        let first = shared.table.lock().first_messages(folder);
        for message in first {
            if let Err(error) = write(&mut *writer, message).await {
                return tracing::debug!(%error, "a server cannot be greeted");
            }
        }
        while let Some(message) = messages.recv().await {
            if let Err(error) = write(&mut *writer, message).await {
                return tracing::debug!(%error, "a server cannot be written to");
            }
        }
        // The client has left.
        let reason = CloseReason::default();
        if let Err(error) = poll_fn(|cx| writer.poll_close(cx, &reason)).await {
            tracing::debug!(%error, "a connection to a server was not closed in order");
        }
    };
    let down = down(shared, folder, &mut *reader);
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}

async fn write(writer: &mut dyn FrameWriter, message: Bytes) -> Result<(), FramingError> {
    writer.feed(message)?;
    flush(writer).await
}

/// From the server to the client, until either is gone.
async fn down(shared: &Shared, folder: &Path, reader: &mut dyn FrameReader) {
    while let Some(read) = next(reader).await {
        let mut client = shared.client.lock().await;
        let mut bytes = 0;
        let mut read = Some(read);
        let mut over = false;
        while let Some(one) = read.take() {
            let fed = match one {
                Ok(message) => {
                    bytes += message.len();
                    let message = passed(shared, folder, &message);
                    message.map_or(Ok(()), |message| client.feed(message))
                }
                Err(error) => {
                    tracing::warn!(%error, "a server's output cannot be read");
                    Ok(())
                }
            };
            if let Err(error) = fed {
                return tracing::debug!(%error, "the client cannot be written to");
            }
            if bytes < BATCH_BYTES {
                // What is there already shares the write.
                match next(reader).now_or_never() {
                    Some(None) => over = true,
                    Some(more) => read = more,
                    None => {}
                }
            }
        }
        if let Err(error) = flush(&mut **client).await {
            return tracing::debug!(%error, "the client cannot be written to");
        }
        if over {
            return;
        }
    }
}

/// Returns a server's message as the client gets it; `None` if it does not.
fn passed(shared: &Shared, folder: &Path, bytes: &Bytes) -> Option<Bytes> {
    let Ok(message) = Message::read(bytes) else {
        tracing::warn!("a server's message cannot be read");
        return None;
    };
    match (message.method.as_deref(), message.id) {
        (None, Some(id)) => shared.table.lock().note_answer(id.get(), &message, bytes),
        (Some(_), Some(id)) => {
            let id = shared.table.lock().asked(folder, id.get());
            message.with_id(&id.to_string())
        }
        (Some(method::CANCEL_REQUEST), None) => {
            let theirs = message.cancelled()?.get();
            let id = shared.table.lock().withdrawn(folder, theirs)?;
            Some(withdrawal(&id.to_string()))
        }
        _ => Some(bytes.clone()),
    }
}
