//! The durable log of runs, where the manager asks for one: JSON lines, only appended to.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// The file of one runner. Without a file nothing is written.
#[derive(Clone, Default)]
pub(crate) struct WalFile(Option<Arc<Mutex<Open>>>);

struct Open {
    file: File,
    sequence: u64,
    started: Instant,
    started_at: Duration,
}

/// The entries of one run.
pub(crate) struct Wal {
    pub(crate) file: WalFile,
    pub(crate) run: Value,
}

impl WalFile {
    /// Returns a log that appends to this file. `started_at` is the time now, since 1970.
    pub(crate) fn new(file: File, started_at: Duration) -> Self {
        let open = Open {
            file,
            sequence: 0,
            started: Instant::now(),
            started_at,
        };
        Self(Some(Arc::new(Mutex::new(open))))
    }
}

impl Wal {
    /// Appends an event. A full disk does not fail a run.
    pub(crate) fn write(&self, event: &str, about: &str) {
        let Some(open) = &self.file.0 else { return };
        let mut open = open.lock();
        open.sequence += 1;
        let mut entry = self.run.clone();
        entry["ts"] = json!((open.started_at + open.started.elapsed()).as_secs_f64());
        entry["sequence"] = json!(open.sequence);
        entry["event_type"] = json!(event);
        entry["payload"] = json!({ "name": about });
        let written = writeln!(open.file, "{entry}").and_then(|()| open.file.flush());
        drop(open);
        // There is nobody to tell: the log is a help for looking back.
        drop(written);
    }
}
