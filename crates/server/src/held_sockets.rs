//! The sockets that systemd has bound for this process, and holds while no server runs.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use listenfd::ListenFd;
use parking_lot::Mutex;

/// Most sockets that are taken (guess: IPv4 and IPv6, twice).
const MOST: usize = 4;

/// Those that nobody has taken yet.
static PASSED: Mutex<Option<ListenFd>> = Mutex::new(None);

/// Whether systemd has passed some.
static ARE_HELD: AtomicBool = AtomicBool::new(false);

/// Notes what systemd passes to this process, and removes the variables, so that no child takes them for its own. Called
/// before there are other threads.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn note() {
    // Variables of a parent speak of its descriptors.
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

/// Returns the sockets, once. Other programs do not inherit them from now on.
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
