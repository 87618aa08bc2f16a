//! What was looked up to hold a command, so that what waits for its command is not used when that has changed since.
//!
//! A name tells too little: another file can be there under it, as when an editor saves one, and what was mounted over the
//! first does not hide the second. Its number tells too little as well: that of a file that is gone is soon another one's.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::view::View;
use crate::Plan;

/// What of a plan was there at one time. Equal to another as long as the command would be held in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    view: View,
    /// Which files those are of which the view speaks, and the directory of the command.
    files: Vec<Option<File>>,
    /// What is mounted, as the kernel says it: what comes later could be in the view with other rights.
    mounted: Vec<u8>,
}

/// Which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    device: u64,
    number: u64,
    /// Nanoseconds of when it last changed in any way, its names included, or, of a directory, of when it was made: what is
    /// in one may change.
    since: i128,
}

impl File {
    fn of(found: &Metadata) -> Self {
        let changed = || i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
        let made = || {
            let made = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
            i128::try_from(made.as_nanos()).ok()
        };
        Self {
            device: found.dev(),
            number: found.ino(),
            since: found.is_dir().then(made).flatten().unwrap_or_else(changed),
        }
    }
}

impl Seen {
    /// Looks which places of a plan are there, for a command that runs in `directory`. What is mounted is left out where
    /// that cannot be read, as on systems where nothing is held.
    pub fn of(plan: &Plan, directory: &Path) -> Self {
        let view = View::of(plan);
        let places = view.places().map(Path::symlink_metadata);
        let files = std::iter::once(directory.metadata()).chain(places);
        let files = files.map(|found| found.ok().as_ref().map(File::of));
        Self {
            files: files.collect(),
            mounted: std::fs::read("/proc/self/mountinfo").unwrap_or_default(),
            view,
        }
    }

    /// Returns bubblewrap's arguments that make it so for a command that runs in `directory`, a real name; the program and
    /// its own arguments come behind them.
    ///
    /// There is no `--new-session`: the caller has made a session, and another one would leave the group that the caller
    /// ends.
    pub fn arguments(&self, directory: &Path) -> Vec<OsString> {
        self.view.arguments(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Files, Network, Outer, Profile};

    /// Waits until what is done gets another time than a file has: some systems count in ticks.
    fn later(than: &Path) {
        let (since, beside) = (File::of(&than.metadata().unwrap()), than.with_file_name("later"));
        for round in 0.. {
            std::fs::write(&beside, round.to_string()).unwrap();
            if File::of(&beside.metadata().unwrap()).since > since.since {
                return;
            }
        }
    }

    #[test]
    fn the_same_names_with_other_files_are_not_the_same() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let work = top.join("work");
        let keys = work.join("keys");
        std::fs::create_dir(&work).unwrap();
        let plan = Plan {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network: Network::Off,
            },
            write: vec![work.clone()],
            hide: vec![keys.clone()],
            landlock: 6,
            outer: Outer::Bubblewrap,
            ..Plan::default()
        };
        let seen = |plan: &Plan| {
            let Seen { view, files, .. } = Seen::of(plan, &work);
            (view, files)
        };
        let mut before = seen(&plan);
        let mut changes = |what: &str, same: bool| {
            let now = seen(&plan);
            assert_eq!(now == before, same, "{what}");
            before = now;
        };
        changes("nothing", true);
        std::fs::write(work.join("beside"), "").unwrap();
        // Elsewhere than where it is known when a directory was made, a change in it counts.
        changes(
            "what is in a directory",
            work.metadata().unwrap().created().is_ok(),
        );
        std::fs::write(&keys, "secret").unwrap();
        changes("it is there now", false);
        let number = || keys.metadata().unwrap().ino();
        let first = number();
        for text in ["second", "third", "fourth"] {
            // The number of the one before last is free by now.
            std::fs::write(work.join("new"), text).unwrap();
            std::fs::rename(work.join("new"), &keys).unwrap();
            changes("another one is there", false);
        }
        println!("the number is the first one's again: {}", number() == first);
        later(&keys);
        std::fs::hard_link(&keys, work.join("link")).unwrap();
        std::fs::remove_file(&keys).unwrap();
        std::fs::rename(work.join("link"), &keys).unwrap();
        changes("another name of it is there", false);
        std::fs::remove_file(&keys).unwrap();
        std::fs::create_dir(&keys).unwrap();
        changes("a directory is there", false);
        later(&keys);
        std::fs::remove_dir(&keys).unwrap();
        std::fs::create_dir(&keys).unwrap();
        changes("another directory is there", false);
        std::fs::rename(&work, top.join("old")).unwrap();
        std::fs::create_dir(&work).unwrap();
        changes("another workspace is there", false);
        let read_only = Plan {
            profile: Profile {
                files: Files::ReadOnly,
                network: Network::Off,
            },
            hide: Vec::new(),
            ..plan.clone()
        };
        let before = Seen::of(&read_only, &work);
        std::fs::rename(&work, top.join("older")).unwrap();
        std::fs::create_dir(&work).unwrap();
        assert_ne!(
            Seen::of(&read_only, &work),
            before,
            "the command would run elsewhere"
        );
    }
}
