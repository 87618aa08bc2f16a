//! What was looked up to hold a command, so that what waits for its command is not used when that has changed since.
//!
//! A name tells too little: another file can be there under it, as when an editor saves one, and what was mounted over the
//! first does not hide the second.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::view::View;
use crate::Plan;

/// What of a plan was there at one time. Equal to another as long as the command would be held in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    view: View,
    /// Which files those are of which the view speaks, and the directory of the command: device and number.
    files: Vec<Option<(u64, u64)>>,
    /// What is mounted, as the kernel says it: what comes later could be in the view with other rights.
    mounted: Vec<u8>,
}

impl Seen {
    /// Looks what of a plan is there, for a command that runs in `directory`.
    pub fn of(plan: &Plan, directory: &Path) -> Self {
        let view = View::of(plan);
        let places = view.places().map(Path::symlink_metadata);
        let files = std::iter::once(directory.metadata()).chain(places);
        let files = files.map(|found| found.ok().map(|found| (found.dev(), found.ino())));
        Self {
            files: files.collect(),
            mounted: std::fs::read("/proc/self/mountinfo").unwrap_or_default(),
            view,
        }
    }

    /// Returns how a command sees the machine's files then.
    pub fn view(&self) -> &View {
        &self.view
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{Files, Network, Outer, Profile};

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
        let mut before = Seen::of(&plan, &work);
        let mut changes = |what: &str, same: bool| {
            let now = Seen::of(&plan, &work);
            assert_eq!(now == before, same, "{what}");
            before = now;
        };
        changes("nothing", true);
        std::fs::write(&keys, "secret").unwrap();
        changes("it is there now", false);
        std::fs::write(&keys, "other").unwrap();
        changes("it says something else", true);
        std::fs::write(top.join("new"), "third").unwrap();
        std::fs::rename(top.join("new"), &keys).unwrap();
        changes("another one is there", false);
        std::fs::rename(&work, top.join("old")).unwrap();
        std::fs::create_dir(&work).unwrap();
        changes("another workspace is there", false);
        let read_only = Plan {
            profile: Profile {
                files: Files::ReadOnly,
                network: Network::Off,
            },
            hide: Vec::<PathBuf>::new(),
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
