//! The helper's part within bubblewrap: whether it is there, and what bubblewrap leaves for it to do.

#![expect(
    unsafe_code,
    reason = "descriptors known by their numbers have no safe form; each block says why it holds"
)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, RawFd};

use nix::libc;
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getpid, getppid};

use crate::{Files, Plan, SandboxError};

/// The helper's process id there: bubblewrap's own first process is 1, and where it runs with more rights than we have it
/// starts another one before, which is gone then.
const OURS: [i32; 2] = [2, 3];

/// Looks whether bubblewrap has made what was promised, as far as can be seen from within.
pub(crate) fn check(plan: &Plan) -> Result<(), SandboxError> {
    let not_so = |what: &str| Err(SandboxError::Outside(what.to_owned()));
    if !is_its_first(getpid().as_raw(), getppid().as_raw()) {
        return not_so("the command would be among the processes of others");
    }
    let all_written = || {
        let root = |path: &std::path::PathBuf| path.canonicalize().is_ok_and(|real| real.parent().is_none());
        plan.profile.files == Files::WorkspaceWrite && plan.write.iter().any(root)
    };
    let read_only = statvfs("/").is_ok_and(|found| found.flags().contains(FsFlags::ST_RDONLY));
    if plan.profile.files != Files::Full && !read_only && !all_written() {
        return not_so("files are not kept from being written");
    }
    Ok(())
}

/// Whether a process of these ids, its own and its parent's, is the first that bubblewrap starts. Outside, the first process
/// of the machine has no such children but the kernel's.
fn is_its_first(id: i32, parent: i32) -> bool {
    parent == 1 && OURS.contains(&id)
}

/// Keeps from the command what was handed on to this process alone.
pub(crate) fn keep_back() {
    // SAFETY: takes three integers and touches no memory.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done != 0 {
        // Kernels before 5.11. Few descriptors are open, and their numbers are small: 1,024 is the usual limit.
        for descriptor in 3..1024 {
            // SAFETY: takes integers; a number that is not open gives an error that means nothing here.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
}

/// Reads the descriptor with this number to its end, which comes before `most` bytes, and closes it.
pub(crate) fn read(number: RawFd, most: u64) -> std::io::Result<Vec<u8>> {
    // SAFETY: as for a report, for another use.
    let file = unsafe { File::from_raw_fd(number) };
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}

/// Who is told that the command begins.
pub(crate) struct Report(File);

impl Report {
    /// Takes the descriptor with this number.
    pub(crate) fn new(number: RawFd) -> Self {
        // SAFETY: whoever started this process handed it on under this number, for this use; one that is not open
        // gives an error when it is written. Nothing else in this process knows it.
        Self(unsafe { File::from_raw_fd(number) })
    }

    /// Says that all is held and the command is next.
    pub(crate) fn begins(mut self) -> Result<(), SandboxError> {
        match self.0.write_all(b"1") {
            // Whoever wanted to know wants to no more.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            told => told.map_err(|error| {
                SandboxError::Outside(format!("it cannot be told that the command begins: {error}"))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_process_that_bubblewrap_starts_is_among_its_own() {
        assert!(is_its_first(2, 1) && is_its_first(3, 1));
        for (id, parent) in [(4711, 1), (4, 1), (3, 2), (2, 0), (1, 0)] {
            assert!(!is_its_first(id, parent), "{id} {parent}");
        }
    }
}
