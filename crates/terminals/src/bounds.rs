//! What bounds terminals. The figures without a note are those of AppServer protocol 03 §13.

use std::time::Duration;

/// What bounds terminals, and what happens at each bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Running terminals of a Thread. At the bound a command is not left in the background.
    pub per_thread: usize,
    /// Running terminals of all Threads. At the bound as above.
    pub in_all: usize,
    /// Terminals that have ended and are still listed; the oldest go first, with their output.
    pub ended: usize,
    /// Bytes of each running command's output that are in memory: the latest.
    pub tail_bytes: usize,
    /// Bytes of output that one file takes. What comes behind is left out, except for its end.
    pub file_bytes: u64,
    /// Bytes that all files take. The oldest that are not being written go first; when those that are being written
    /// take all of it, they take no more.
    pub disk_bytes: u64,
    /// How long files and records are kept after their last change.
    pub retention: Duration,
    /// Silence after which everyone is told that a terminal has stalled.
    pub stall_after: Duration,
    /// Time without output, input and readers after which a terminal is ended.
    pub idle_after: Duration,
    /// Shortest time between two pieces of one terminal's output that everyone is told.
    pub tell_every: Duration,
    /// Bytes of news a second that all terminals together tell everyone: they share one bounded log with what else
    /// concerns everyone. Output beyond is left out of the news, with a word about how much.
    pub tell_bytes: usize,
    /// Longest wait of a read.
    pub longest_wait: Duration,
    /// Characters of output in an answer when nobody says how many.
    pub usual_chars: usize,
    /// Characters of each terminal's output in a list.
    pub listed_chars: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            per_thread: 8,
            in_all: 32,
            // Guess: a list that is still read.
            ended: 256,
            // What the model is given of a command at most.
            tail_bytes: 64 << 10,
            file_bytes: 64 << 20,
            // Guess: eight full files.
            disk_bytes: 512 << 20,
            retention: Duration::from_hours(7 * 24),
            stall_after: Duration::from_secs(45),
            idle_after: Duration::from_mins(30),
            // Guess: fast enough to look live.
            tell_every: Duration::from_millis(200),
            // The log of what concerns everyone holds 1 MiB: at this rate no client that can still be written to
            // (30 seconds) falls out of it because of terminals.
            tell_bytes: 32 << 10,
            longest_wait: Duration::from_secs(30),
            usual_chars: 10_000,
            listed_chars: 1_000,
        }
    }
}
