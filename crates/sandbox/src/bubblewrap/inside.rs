//! The helper's part within bubblewrap: checks that it is in the view, and does what bubblewrap leaves to it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getpid, getppid};

use crate::{Files, Plan, PlannedMounts, SandboxError};

/// The helper's process ids in the view. Bubblewrap's own first process is 1. If bubblewrap is setuid, it starts
/// another process before the helper.
const OURS: [i32; 2] = [2, 3];

/// The kinds of namespaces whose numbers differ between views.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Namespace {
    User,
    Network,
}

/// Checks that bubblewrap has made the promised view, as far as that is visible from within. `outside` is the number
/// of the network namespace of the machine.
pub(crate) fn check(plan: &Plan, mounts: Option<&PlannedMounts>, outside: u64) -> Result<(), SandboxError> {
    let not_so = |what: &str| Err(SandboxError::Outside(what.to_owned()));
    if !is_its_first(getpid().as_raw(), getppid().as_raw()) {
        return not_so("the command would be among the processes of others");
    }
    let network = namespace(Namespace::Network);
    if plan.is_apart() && (outside == 0 || network == 0 || network == outside) {
        return not_so("the command would have the network of the machine");
    }
    let all_written = || {
        let root = |path: &std::path::PathBuf| path.canonicalize().is_ok_and(|real| real.parent().is_none());
        plan.profile.files == Files::WorkspaceWrite && plan.write.iter().any(root)
    };
    let read_only = statvfs("/").is_ok_and(|found| found.flags().contains(FsFlags::ST_RDONLY));
    if plan.profile.files != Files::Full && !read_only && !all_written() {
        return not_so("files are not protected from being written");
    }
    match (plan.profile.files, mounts) {
        (Files::Full, _) => Ok(()),
        (Files::ReadOnly | Files::WorkspaceWrite, Some(mounts)) => mounts.check(),
        (Files::ReadOnly | Files::WorkspaceWrite, None) => not_so("its mounts are not known"),
    }
}

/// Whether a process with these ids (its own, its parent's) is the first that bubblewrap starts. Outside the view,
/// process 1 has no children with such ids except the kernel's.
fn is_its_first(id: i32, parent: i32) -> bool {
    parent == 1 && OURS.contains(&id)
}

/// Returns the number of this process's namespace of a kind, 0 if unknown.
pub(crate) fn namespace(kind: Namespace) -> u64 {
    let path = match kind {
        Namespace::User => "/proc/self/ns/user",
        Namespace::Network => "/proc/self/ns/net",
    };
    Path::new(path).metadata().map_or(0, |found| found.ino())
}

/// Limits the processes and threads of this process and its descendants. Only a user namespace of its own counts
/// them separately; in the outside namespace, the limit would count all of the user's processes, so nothing is
/// limited.
pub(crate) fn limit_processes(most: Option<u64>, outside: u64) -> Result<(), SandboxError> {
    let Some(most) = most.filter(|_| outside != 0 && namespace(Namespace::User) != outside) else {
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
