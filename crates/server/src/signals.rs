//! The signals that end the server, and one that must not end it.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGXFSZ: a file has reached its size limit. The write then fails as on a full disk.
#[cfg(target_os = "linux")]
const FILE_TOO_LARGE: i32 = 25;

/// SIGTERM and SIGINT.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts to listen. From then on the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn listen() -> anyhow::Result<Self> {
        #[cfg(target_os = "linux")]
        // Listening once prevents the signal from ending this process. Children start with the default action.
        drop(signal(SignalKind::from_raw(FILE_TOO_LARGE))?);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of the signals.
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
