//! Ends terminals with their Thread: one task reads the broadcasts. When a Thread was archived, its commands end; when
//! one was deleted, its terminals are removed too.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use bobbin_core::{CoreError, FrameBody, Hub, Read, Waker};
use bobbin_model::{Event, Refusal, ThreadId, ThreadStatus};

use crate::terminals::Inner;

/// Bytes of broadcasts read at once.
const BATCH_BYTES: usize = 64 << 10;

/// Follows the broadcasts until the terminals end or the core is gone.
pub(crate) async fn follow(inner: Arc<Inner>, hub: Weak<Hub>) {
    let Some(log) = hub.upgrade().map(|hub| hub.broadcasts().clone()) else {
        return;
    };
    let waker = Waker::default();
    log.watch(&waker);
    let mut next = log.visible().next();
    if let Some(hub) = hub.upgrade() {
        // A server that died may have left pictures of a Thread that was deleted.
        check(&inner, &hub, inner.threads_with_pictures().await).await;
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
                let Some(hub) = hub.upgrade() else { break };
                let mut threads = inner.threads_with_pictures().await;
                threads.extend(inner.threads());
                check(&inner, &hub, threads).await;
            }
        }
    }
    log.unwatch(&waker);
}

/// Does for each Thread what its present state asks for.
async fn check(inner: &Arc<Inner>, hub: &Arc<Hub>, threads: BTreeSet<ThreadId>) {
    for thread in threads {
        match fate(hub, &thread).await {
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

async fn fate(hub: &Arc<Hub>, thread: &ThreadId) -> Fate {
    let found = async { hub.snapshot(&*hub.thread(thread).await?).await };
    match found.await {
        Err(CoreError::Refused(Refusal::ThreadNotFound(_))) => Fate::Gone,
        Ok(snapshot) if snapshot.state.header.status == ThreadStatus::Archived => Fate::Archived,
        Ok(_) | Err(_) => Fate::Active,
    }
}
