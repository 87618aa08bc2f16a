//! Ends terminals with their Thread: one task reads the broadcasts. When a Thread was archived, its commands end; when
//! one was deleted, its terminals are removed too.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use bobbin_core::{CoreError, FrameBody, Read, Threads, Waker};
use bobbin_model::{Event, Refusal, ThreadId, ThreadStatus};

use crate::terminals::Inner;

/// Bytes of broadcasts read at once.
const BATCH_BYTES: usize = 64 << 10;

/// Follows the broadcasts until the terminals end or the core is gone.
pub(crate) async fn follow(inner: Arc<Inner>, threads: Weak<Threads>) {
    let Some(log) = threads
        .upgrade()
        .map(|threads| threads.broadcasts().log().clone())
    else {
        return;
    };
    let waker = Waker::default();
    log.watch(&waker);
    let mut next = log.visible().next();
    if let Some(threads) = threads.upgrade() {
        // A server that died may have left pictures of a Thread that was deleted.
        check(&inner, &threads, inner.threads_with_pictures().await).await;
    }
    loop {
        match log.read(next, BATCH_BYTES) {
            Read::Entries {
                entries,
                next: behind,
            } if !entries.is_empty() => {
                next = behind;
                for frame in entries {
                    let FrameBody::Recorded(event) = &frame.body else {
                        continue;
                    };
                    match **event {
                        Event::ThreadDeleted => inner.forget(&frame.thread).await,
                        Event::ThreadStatusChanged {
                            new: ThreadStatus::Archived,
                            ..
                        } => inner.stop_those_of(&frame.thread),
                        _ => {}
                    }
                }
            }
            Read::Entries { .. } => {
                if log.is_closed() {
                    break;
                }
                tokio::select! {
                    () = inner.ending.cancelled() => break,
                    () = waker.woken() => {}
                }
            }
            // Missed broadcasts are replaced by a query.
            Read::Gone { first } => {
                next = first;
                let Some(threads) = threads.upgrade() else { break };
                let mut ids = inner.threads_with_pictures().await;
                ids.extend(inner.threads());
                check(&inner, &threads, ids).await;
            }
        }
    }
    log.unwatch(&waker);
}

/// Stops or removes the terminals of each Thread that is archived or deleted now.
async fn check(inner: &Arc<Inner>, threads: &Arc<Threads>, ids: BTreeSet<ThreadId>) {
    for thread in ids {
        match fate(threads, &thread).await {
            Fate::Gone => inner.forget(&thread).await,
            Fate::Archived => inner.stop_those_of(&thread),
            Fate::Active => {}
        }
    }
}

/// The state of a Thread.
enum Fate {
    Gone,
    Archived,
    /// Neither archived nor deleted, as far as is known.
    Active,
}

async fn fate(threads: &Arc<Threads>, thread: &ThreadId) -> Fate {
    let found = async { threads.snapshot(&*threads.thread(thread).await?).await };
    match found.await {
        Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => Fate::Gone,
        Ok(snapshot) if snapshot.state.header.status == ThreadStatus::Archived => Fate::Archived,
        Ok(_) | Err(_) => Fate::Active,
    }
}
