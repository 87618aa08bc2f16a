//! The signals that end the server, and one that must not.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGXFSZ: a file has reached the limit that is set for it. The write fails as on a full disk, and that is enough.
#[cfg(target_os = "linux")]
const FILE_TOO_LARGE: i32 = 25;

/// SIGTERM and SIGINT.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to listen; from here on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The system does not let us.
    pub fn listen() -> anyhow::Result<Self> {
        #[cfg(target_os = "linux")]
        // Once listened for it ends no process, whether anybody waits for it or not; children begin without this.
        drop(signal(SignalKind::from_raw(FILE_TOO_LARGE))?);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one.
    ///
    /// # Cancel safety
    /// Safe.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
