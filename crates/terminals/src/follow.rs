//! Terminals go with their Thread: one task reads what concerns everyone and looks for Threads that were deleted.

use std::sync::{Arc, Weak};

use bobbin_core::{CoreError, FrameBody, Hub, Read, Waker};
use bobbin_model::{Event, Refusal, ThreadId};

use crate::terminals::Inner;

/// Bytes of news looked at in one go.
const BATCH_BYTES: usize = 64 << 10;

/// Follows what concerns everyone until the terminals end or the core is gone.
pub(crate) async fn follow(inner: Arc<Inner>, hub: Weak<Hub>) {
    let Some(log) = hub.upgrade().map(|hub| hub.everyone().clone()) else {
        return;
    };
    let waker = Waker::default();
    log.watch(&waker);
    let mut next = log.visible().next();
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
                        inner.forget(&frame.thread).await;
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
            // What was missed is asked for.
            Read::Gone { first } => {
                next = first;
                let Some(hub) = hub.upgrade() else { break };
                for thread in inner.threads() {
                    if is_gone(&hub, &thread).await {
                        inner.forget(&thread).await;
                    }
                }
            }
        }
    }
    log.unwatch(&waker);
}

async fn is_gone(hub: &Arc<Hub>, thread: &ThreadId) -> bool {
    matches!(
        hub.thread(thread).await,
        Err(CoreError::Refused(Refusal::ThreadNotFound(_)))
    )
}
