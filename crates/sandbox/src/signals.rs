//! Signals, as a command expects to find them: this process was started with others.

#![expect(
    unsafe_code,
    reason = "a signal's disposition has no safe form; the block says why it holds"
)]

use nix::sys::signal::{SigHandler, SigSet, Signal, signal};

use crate::SandboxError;

/// Hears TERM, which bubblewrap is started without, and ends on a closed pipe, which Rust's programs do not.
pub(crate) fn restore() -> Result<(), SandboxError> {
    let failed = |error| SandboxError::Kernel(format!("signals cannot be set: {error}"));
    SigSet::from(Signal::SIGTERM).thread_unblock().map_err(failed)?;
    // SAFETY: the default disposition installs no handler.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.map_err(failed)?;
    Ok(())
}
