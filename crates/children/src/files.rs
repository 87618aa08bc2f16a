//! How many files this process may have open, and how many its children.
//!
//! The server takes all that the hard limit allows. Its children get the limit that the server was started with: programs
//! that use `select` break beyond 1,024, and some close every number that is possible.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// The soft limit before it was raised.
static BEFORE: OnceLock<rlim_t> = OnceLock::new();

/// Raises the soft limit of open files to the hard one and returns that. Call it before the first child is started.
///
/// # Errors
/// The system does not say or does not let us; the limit is then as it was.
pub fn raise_file_limit() -> std::io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        BEFORE.get_or_init(|| soft);
    }
    Ok(hard)
}

/// Returns the soft limit to give to children; `None` where it was not raised.
#[cfg(target_os = "linux")]
pub(crate) fn limit_of_children() -> Option<rlim_t> {
    BEFORE.get().copied()
}

#[cfg(target_os = "linux")]
/// Sets the soft limit of this process. Makes plain system calls only, so a process whose program does not run yet may call it.
pub(crate) fn set_limit(soft: rlim_t) -> std::io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard), hard)?)
}
