//! How many files the server and its children may have open.
//!
//! The server raises its own limit to the hard limit. Children get the limit with which the server was started:
//! programs that use `select` break beyond 1,024 files, and some programs close every possible number.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The soft limit before it was raised.
static BEFORE: OnceLock<rlim_t> = OnceLock::new();

/// Raises the soft limit of open files to the hard limit and returns the new limit. Call it before the first child
/// starts.
///
/// # Errors
/// The system refuses to read or set the limit; the limit is unchanged then.
pub fn raise_file_limit() -> std::io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        BEFORE.get_or_init(|| soft);
    }
    Ok(hard)
}

/// Returns the soft limit for children; `None` if the limit was not raised.
#[cfg(target_os = "linux")]
pub(crate) fn limit_of_children() -> Option<rlim_t> {
    BEFORE.get().copied()
}

#[cfg(target_os = "linux")]
/// Sets the soft limit of this process. Makes plain system calls only, so it may be called between fork and exec.
pub(crate) fn set_limit(soft: rlim_t) -> std::io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard), hard)?)
}
