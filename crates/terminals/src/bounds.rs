//! The limits of terminals. Figures without a note are those of AppServer protocol 03 §13.

use std::time::Duration;

/// The limits of terminals, and the consequence of reaching each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Running terminals of a Thread. At the limit, a command is not left in the background.
    pub per_thread: usize,
    /// Running terminals of all Threads. At the limit, a command is not left in the background.
    pub in_all: usize,
    /// Ended terminals that are still listed; the oldest go first, with their output.
    pub ended: usize,
    /// Bytes of each running command's output in memory: the latest.
    pub tail_bytes: usize,
    /// Bytes of output in one file. Later output is left out, except for its end.
    pub file_bytes: u64,
    /// Bytes of all files. The oldest files that are not being written go first. When files being written reach the
    /// limit, they do not grow any more.
    pub disk_bytes: u64,
    /// How long files and records are retained after their last change.
    pub retention: Duration,
    /// Silence after which a broadcast reports a stalled terminal.
    pub stall_after: Duration,
    /// Time without output, input and readers after which a terminal is stopped.
    pub idle_after: Duration,
    /// Shortest time between two broadcasts of one terminal's output.
    pub notify_every: Duration,
    /// Bytes of broadcasts a second from all terminals: all broadcasts share one bounded log. Further output is left
    /// out of the broadcasts, with a note of how much.
    pub notify_bytes: usize,
    /// Longest wait of a read.
    pub longest_wait: Duration,
    /// Characters of output in an answer by default.
    pub usual_chars: usize,
    /// Characters of each terminal's output in a list.
    pub listed_chars: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            per_thread: 8,
            in_all: 32,
            // Guess: a list that users still read.
            ended: 256,
            // The most that a model gets of a command's output.
            tail_bytes: 64 << 10,
            file_bytes: 64 << 20,
            // Guess: eight full files.
            disk_bytes: 512 << 20,
            retention: Duration::from_hours(7 * 24),
            stall_after: Duration::from_secs(45),
            idle_after: Duration::from_mins(30),
            // Guess: fast enough to look live.
            notify_every: Duration::from_millis(200),
            // The log of broadcasts has 1 MiB. At this rate, terminals alone never push out a client that can still be
            // written to (30 seconds).
            notify_bytes: 32 << 10,
            longest_wait: Duration::from_secs(30),
            usual_chars: 10_000,
            listed_chars: 1_000,
        }
    }
}
