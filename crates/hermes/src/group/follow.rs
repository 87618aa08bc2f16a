//! Closes documents with their Threads: one task reads the broadcasts.

use std::sync::{Arc, Weak};

use crate::{DocumentError, Host};
use bobbin_core::{CoreError, FrameBody, Read, Threads, Waker};
use bobbin_model::{Event, Refusal, ThreadId};

/// Bytes of broadcasts read at once.
const BATCH_BYTES: usize = 64 << 10;

/// Closes the document of each deleted Thread and discards its changes. Returns when the core is gone.
pub async fn close_with_threads(host: Arc<Host>, threads: Weak<Threads>) {
    let Some(log) = threads
        .upgrade()
        .map(|threads| threads.broadcasts().log().clone())
    else {
        return;
    };
    let waker = Waker::default();
    log.watch(&waker);
    let mut next = log.visible().next();
    // A stored document may belong to a Thread whose deletion a crash interrupted.
    close_deleted(&host, &threads).await;
    loop {
        match log.read(next, BATCH_BYTES) {
            Read::Entries {
                entries,
                next: behind,
            } if !entries.is_empty() => {
                next = behind;
                for frame in entries {
                    if let FrameBody::Recorded(event) = &frame.body
                        && matches!(**event, Event::ThreadDeleted)
                    {
                        close(&host, &frame.thread).await;
                    }
                }
            }
            Read::Entries { .. } if log.is_closed() => break,
            Read::Entries { .. } => waker.woken().await,
            // A query replaces the missed broadcasts.
            Read::Gone { first } => {
                next = first;
                close_deleted(&host, &threads).await;
            }
        }
    }
    log.unwatch(&waker);
}

/// Closes the documents whose Threads do not exist.
async fn close_deleted(host: &Host, threads: &Weak<Threads>) {
    let Some(threads) = threads.upgrade() else { return };
    for document in host.open_documents().await {
        let found = threads.thread(&document.thread_id).await;
        if matches!(found, Err(CoreError::Refused(Refusal::ThreadNotFound(_)))) {
            close(host, &document.thread_id).await;
        }
    }
}

async fn close(host: &Host, thread: &ThreadId) {
    match host.close(thread, true).await {
        Ok(()) | Err(DocumentError::NotOpen) => {}
        Err(error) => tracing::error!(%error, "the document of a deleted thread stays open"),
    }
}
