//! The deletions of Threads, for features that have state of Threads of their own.

use std::collections::VecDeque;
use std::sync::Arc;

use bobbin_eventlog::{Frame, FrameBody, Log, Read, Waker};
use bobbin_model::{Event, Seq, ThreadId};

use crate::Broadcasts;

/// Bytes of broadcasts read at once.
const BATCH_BYTES: usize = 64 << 10;

/// A deletion, as a feature learns of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// This Thread was deleted.
    Of(ThreadId),
    /// Some were missed. The feature has to look which of its Threads are there.
    Missed,
}

/// The deletions from now on.
pub struct Deletions {
    log: Arc<Log<Arc<Frame>>>,
    waker: Waker,
    next: Seq,
    read: VecDeque<ThreadId>,
}

impl Deletions {
    /// Returns the deletions after this call.
    pub fn of(broadcasts: &Broadcasts) -> Self {
        let log = broadcasts.log().clone();
        let waker = Waker::default();
        log.watch(&waker);
        Self {
            next: log.visible().next(),
            log,
            waker,
            read: VecDeque::new(),
        }
    }

    /// Waits for the next deletion. Returns `None` once the core has stopped.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Deletion> {
        loop {
            if let Some(thread) = self.read.pop_front() {
                return Some(Deletion::Of(thread));
            }
            match self.log.read(self.next, BATCH_BYTES) {
                Read::Entries { entries, next } if !entries.is_empty() => {
                    self.next = next;
                    let deleted = entries.iter().filter(|frame| is_deletion(frame));
                    self.read.extend(deleted.map(|frame| frame.thread.clone()));
                }
                Read::Entries { .. } if self.log.is_closed() => return None,
                Read::Entries { .. } => self.waker.woken().await,
                Read::Gone { first } => {
                    self.next = first;
                    return Some(Deletion::Missed);
                }
            }
        }
    }
}

impl Drop for Deletions {
    fn drop(&mut self) {
        self.log.unwatch(&self.waker);
    }
}

fn is_deletion(frame: &Frame) -> bool {
    matches!(&frame.body, FrameBody::Recorded(event) if matches!(**event, Event::ThreadDeleted))
}

#[cfg(test)]
mod tests {
    use bobbin_agent_api::Clock;
    use bobbin_eventlog::{Limits, View};
    use bobbin_model::UnixMillis;

    use super::*;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> UnixMillis {
            UnixMillis(0)
        }
    }

    fn frame(thread: &str, event: Event) -> Arc<Frame> {
        let body = FrameBody::Recorded(Arc::new(event));
        let frame = Frame::new(ThreadId::new(thread), Seq(1), UnixMillis(0), body, View::None, 1);
        Arc::new(frame)
    }

    #[tokio::test]
    async fn deletions_come_one_by_one_and_missed_ones_are_reported() {
        let limits = Limits {
            entries: 4,
            ..Limits::default()
        };
        let broadcasts = Broadcasts::new(limits, Arc::new(Still));
        broadcasts.append(frame("before", Event::ThreadDeleted));
        let mut deletions = Deletions::of(&broadcasts);
        broadcasts.append(frame("one", Event::ThreadDeleted));
        broadcasts.append(frame(
            "other",
            Event::EdgeChanged {
                status: bobbin_model::EdgeStatus::Closed,
            },
        ));
        broadcasts.append(frame("two", Event::ThreadDeleted));
        let of = |thread: &str| Some(Deletion::Of(ThreadId::new(thread)));
        assert_eq!(deletions.next().await, of("one"));
        assert_eq!(deletions.next().await, of("two"));
        for _ in 0..8 {
            broadcasts.append(frame("many", Event::ThreadDeleted));
        }
        assert_eq!(deletions.next().await, Some(Deletion::Missed));
        broadcasts.log().close();
        while let Some(deletion) = deletions.next().await {
            assert_eq!(Some(deletion), of("many"));
        }
        drop(deletions);
        assert_eq!(broadcasts.log().watchers(), 0);
    }
}
