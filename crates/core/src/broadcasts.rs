//! Broadcasts to every client of a workspace.

use std::any::Any;
use std::sync::Arc;

use bobbin_agent_api::Clock;
use bobbin_eventlog::{Broadcast, Ephemeral, Frame, FrameBody, Limits, Log, View};
use bobbin_model::{Seq, ThreadId};

/// The log of broadcasts to every client of a workspace. It is made before the Threads, so that each feature gets it when
/// the feature is made. Clones share the log.
#[derive(Clone)]
pub struct Broadcasts {
    log: Arc<Log<Arc<Frame>>>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Broadcasts {
    /// Makes an empty log.
    pub fn new(limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self {
            log: Arc::new(Log::new(Seq(1), limits)),
            clock,
        }
    }

    /// Returns the log; its Seqs are valid for the life of the process.
    pub fn log(&self) -> &Arc<Log<Arc<Frame>>> {
        &self.log
    }

    /// Broadcasts a feature's news to every client whose dialect knows its type. `weight` is the size of its text in bytes.
    pub fn send<T: Any + Send + Sync>(&self, news: T, weight: usize) {
        self.announce(Ephemeral::Broadcast(Broadcast::new(news, weight)));
    }

    /// Broadcasts something that belongs to no Thread.
    pub(crate) fn announce(&self, news: Ephemeral) {
        let (none, weight) = (ThreadId::new(""), news.weight());
        let body = FrameBody::Ephemeral(news);
        let frame = Frame::new(none, Seq(0), self.clock.now(), body, View::None, weight);
        self.append(Arc::new(frame));
    }

    /// Appends a frame and shows it.
    pub(crate) fn append(&self, frame: Arc<Frame>) {
        self.log.append(|_| frame);
        self.log.show(self.log.appended());
    }
}
