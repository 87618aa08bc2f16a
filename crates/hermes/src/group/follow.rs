//! Closes documents with their Threads: one task reads the deletions.

use std::sync::{Arc, Weak};

use crate::{DocumentError, Host};
use bobbin_core::{CoreError, Deletion, Deletions, Threads};
use bobbin_model::{Refusal, ThreadId};

/// Closes the document of each deleted Thread and discards its changes. Returns when the core is gone.
pub async fn close_with_threads(host: Arc<Host>, threads: Weak<Threads>) {
    let Some(mut deletions) = threads
        .upgrade()
        .map(|threads| Deletions::of(threads.broadcasts()))
    else {
        return;
    };
    // A stored document may belong to a Thread whose deletion a crash interrupted.
    close_deleted(&host, &threads).await;
    while let Some(deletion) = deletions.next().await {
        match deletion {
            Deletion::Of(thread) => close(&host, &thread).await,
            Deletion::Missed => close_deleted(&host, &threads).await,
        }
    }
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
