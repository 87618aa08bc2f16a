//! The processes that a parent has started: its children, and their descendants.

use std::path::Path;
use std::process::Child;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::Exit;
use crate::outcome::exit_of;

/// The unit of sizes in `/proc`, in bytes.
const KIB: u64 = 1024;

/// A child that leads a group, with its descendants. Orphaned descendants become children of this process, which is
/// a subreaper.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Child,
    group: Pid,
    exit: Option<Exit>,
}

impl Tree {
    /// Manages a child, which leads a group.
    pub(super) fn new(leader: Child) -> Self {
        Self {
            group: Pid::from_raw(leader.id().cast_signed()),
            leader,
            exit: None,
        }
    }

    /// Returns how the leader ended, if it has. Reaps other children that have exited.
    pub(super) fn exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            self.exit = match self.leader.try_wait() {
                Ok(status) => status.map(exit_of),
                Err(_) => Some(Exit::Signaled(Signal::SIGKILL as i32)),
            };
            for child in children().filter(|child| *child != self.group) {
                // A child's id cannot be reused before it is reaped here.
                let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
            }
        }
        self.exit
    }

    /// Returns whether all processes are gone. Reaps those that have exited.
    pub(super) fn is_gone(&self) -> bool {
        while self.exit.is_some() {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return false,
                Err(Errno::ECHILD) => return true,
                Ok(_) | Err(_) => {}
            }
        }
        false
    }

    /// Asks the leader's group to end.
    pub(super) fn terminate(&self) {
        // The usual error means that the group is empty. A stopped process handles TERM only once it continues.
        self.signal(Signal::SIGTERM);
        self.signal(Signal::SIGCONT);
    }

    /// Kills the leader's group and all children. Their children become ours and are killed by the next call.
    pub(super) fn kill(&self) {
        self.signal(Signal::SIGKILL);
        for child in children() {
            let _ = kill(child, Signal::SIGKILL);
        }
    }

    /// Signals the group while the leader is not reaped, so the id cannot belong to another group.
    fn signal(&self, signal: Signal) {
        if self.exit.is_none() {
            let _ = killpg(self.group, signal);
        }
    }
}

/// Returns the bytes of memory of all descendants of this process, not counting pages of files. Shared memory
/// counts for each process.
pub(super) fn memory() -> u64 {
    let mut open: Vec<Pid> = children().collect();
    let mut sum = 0;
    while let Some(process) = open.pop() {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        sum += status.map_or(0, |status| resident(&status));
        let threads = std::fs::read_dir(format!("/proc/{process}/task"))
            .into_iter()
            .flatten();
        for thread in threads.flatten() {
            open.extend(listed(&thread.path().join("children")));
        }
    }
    sum
}

/// Returns the children of this process. It must have one thread.
fn children() -> impl Iterator<Item = Pid> {
    listed(Path::new("/proc/thread-self/children")).into_iter()
}

fn listed(file: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let ids = text.split_ascii_whitespace().filter_map(|id| id.parse().ok());
    ids.map(Pid::from_raw).collect()
}

/// Reads how much private and shared memory a process has, from its `/proc` status.
fn resident(status: &str) -> u64 {
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    ["RssAnon:", "RssShmem:"].into_iter().filter_map(of).sum::<u64>() * KIB
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_is_resident_but_files() {
        let status =
            "Name:\tx\nVmRSS:\t  900 kB\nRssAnon:\t  120 kB\nRssFile:\t  700 kB\nRssShmem:\t   80 kB\n";
        assert_eq!(resident(status), 200 * 1024);
        assert_eq!(resident("Name:\tof the kernel\n"), 0);
    }
}
