//! The helper's part within bubblewrap: whether it is there, and what bubblewrap leaves for it to do.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
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

/// Returns the number of this process's user namespace, 0 where there is none.
pub(crate) fn namespace() -> u64 {
    Path::new("/proc/self/ns/user")
        .metadata()
        .map_or(0, |found| found.ino())
}

/// Limits the processes and threads of all that this process becomes and starts. In a user namespace other than the one outside
/// they are counted apart; elsewhere all of the user's would be, and nothing is limited.
pub(crate) fn limit_processes(most: Option<u64>, outside: u64) -> Result<(), SandboxError> {
    let Some(most) = most.filter(|_| outside != 0 && namespace() != outside) else {
        return Ok(());
    };
    let failed = |error| SandboxError::Kernel(format!("the number of processes cannot be limited: {error}"));
    let (_, hard) = getrlimit(Resource::RLIMIT_NPROC).map_err(failed)?;
    setrlimit(Resource::RLIMIT_NPROC, most.min(hard), most.min(hard)).map_err(failed)
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
