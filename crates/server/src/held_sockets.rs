//! The sockets that systemd has bound for this process and leaves open while no server runs.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use listenfd::ListenFd;
use parking_lot::Mutex;

/// Most sockets that are used (guess: IPv4 and IPv6, twice).
const MOST: usize = 4;

/// The passed sockets, until [`take`] returns them.
static PASSED: Mutex<Option<ListenFd>> = Mutex::new(None);

/// Whether systemd has passed sockets.
static ARE_HELD: AtomicBool = AtomicBool::new(false);

/// Records the sockets that systemd passes to this process, and removes the variables so that no child uses them.
/// Must run before other threads start.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn note() {
    // Variables of a parent describe the parent's descriptors.
    let pid = std::env::var("LISTEN_PID").ok();
    if pid.is_some_and(|pid| pid == std::process::id().to_string()) {
        let passed = ListenFd::from_env();
        ARE_HELD.store(passed.len() > 0, Ordering::Relaxed);
        *PASSED.lock() = Some(passed);
    }
}

/// Whether systemd has passed sockets to this process.
pub(crate) fn are_held() -> bool {
    ARE_HELD.load(Ordering::Relaxed)
}

/// Returns the sockets, once. From then on child processes do not inherit them.
///
/// # Errors
/// One of them is no listening TCP socket.
pub(crate) fn take() -> anyhow::Result<Vec<TcpListener>> {
    let Some(mut passed) = PASSED.lock().take() else {
        return Ok(Vec::new());
    };
    let mut sockets = Vec::new();
    for index in 0..passed.len().min(MOST) {
        let socket = passed.take_tcp_listener(index);
        let socket = socket
            .context("a socket of systemd's cannot be used: ListenStream= wants an IP address and a port")?;
        sockets.extend(socket);
    }
    Ok(sockets)
}
