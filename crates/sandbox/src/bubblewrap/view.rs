//! What a command sees of the machine's files, and bubblewrap's arguments that make it so.
//!
//! [`View::of`] looks what of a plan is there; the arguments follow from that alone. All paths are real names: in the
//! view being made, a link would lead somewhere else. Bounds: those of a plan.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::kept::Kept;
use crate::plan::{around, looked};
use crate::{Files, Network, Plan, Profile};

/// Returns bubblewrap's arguments that make the view of a plan, as its places are now, for a command that runs in `directory`,
/// a real name; the program and its own arguments come behind them.
///
/// There is no `--new-session`: the caller has made a session, and another one would leave the group that the caller ends.
pub fn view_arguments(plan: &Plan, directory: &Path) -> Vec<OsString> {
    View::of(plan).arguments(directory)
}

/// What a command sees of the machine's files. Everything that is not spoken of is seen and cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    profile: Profile,
    /// Those within others come later.
    mounts: BTreeMap<PathBuf, Mount>,
    /// Links in directories that are made anew, and where they lead.
    links: Vec<(PathBuf, PathBuf)>,
}

/// How a place is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mount {
    /// It can be written.
    Write,
    /// It is only read.
    Read,
    /// A directory is empty, but for places in it that may be written.
    Empty,
    /// A directory is made anew, with those places in it that are read or written.
    Anew,
    /// A file cannot be opened.
    Blank,
}

impl View {
    /// Looks what of a plan is there. What is missing is left out.
    pub(super) fn of(plan: &Plan) -> Self {
        let (mut wanted, mut links) = (BTreeMap::new(), Vec::new());
        if plan.profile.files != Files::Full {
            // What is said later counts for one place that is named twice.
            let write = match plan.profile.files {
                Files::WorkspaceWrite => plan.written(),
                Files::ReadOnly | Files::Full => Vec::new(),
            };
            let (kept, beyond_kept) = looked(&plan.keep);
            let (blank, beyond_blank) = looked(&plan.blank);
            for real in kept {
                match Kept::of(&real, &plan.blank) {
                    Some(mut kept) => {
                        let read = kept.places.into_iter().map(|place| (place, Mount::Read));
                        wanted.extend(read.chain([(real, Mount::Anew)]));
                        links.append(&mut kept.links);
                    }
                    None => drop(wanted.insert(real, Mount::Read)),
                }
            }
            for (places, mount) in [
                (blank, Mount::Blank),
                (write, Mount::Write),
                (around(&plan.hide), Mount::Blank),
                // As a whole, even where it is written: what is in it cannot be kept apart.
                (beyond_kept, Mount::Blank),
                (beyond_blank, Mount::Blank),
            ] {
                for real in places {
                    let mount = match mount {
                        Mount::Blank if real.is_dir() => Mount::Empty,
                        other => other,
                    };
                    wanted.insert(real, mount);
                }
            }
        }
        let mounts = needed(wanted);
        links.retain(|(link, _)| link.parent().and_then(|above| mounts.get(above)) == Some(&Mount::Anew));
        Self {
            profile: plan.profile,
            mounts,
            links,
        }
    }

    /// Returns the arguments of [`view_arguments`].
    pub(super) fn arguments(&self, directory: &Path) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        let mut add = |flag: &str, paths: &[&Path]| {
            all.push(flag.into());
            all.extend(paths.iter().map(Into::into));
        };
        for flag in [
            "--die-with-parent",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
        ] {
            add(flag, &[]);
        }
        if self.profile.network == Network::Off {
            add("--unshare-net", &[]);
        }
        let root = Path::new("/");
        if self.profile.files == Files::Full {
            add("--dev-bind", &[root, root]);
        } else {
            let everything = match self.mounts.get(root) {
                Some(Mount::Write) => "--bind",
                _ => "--ro-bind",
            };
            add(everything, &[root, root]);
            add("--dev", &[Path::new("/dev")]);
        }
        add("--proc", &[Path::new("/proc")]);
        let mounts = || self.mounts.iter().filter(|(path, _)| *path != root);
        for (path, mount) in mounts() {
            match mount {
                Mount::Write => add("--bind", &[path, path]),
                // Gone in between: then it is not there.
                Mount::Read => add("--ro-bind-try", &[path, path]),
                Mount::Empty | Mount::Anew => add("--tmpfs", &[path]),
                // A device on a mount without devices: nobody opens it.
                Mount::Blank => add("--ro-bind", &[Path::new("/dev/null"), path]),
            }
        }
        for (link, target) in &self.links {
            add("--symlink", &[target, link]);
        }
        // Last: places within them may have had to be made.
        for (path, _) in mounts().filter(|(_, mount)| matches!(mount, Mount::Empty | Mount::Anew)) {
            add("--remount-ro", &[path]);
        }
        add("--chdir", &[directory]);
        add("--", &[]);
        all
    }
}

/// Leaves out what is so already, and adds what keeps the rest in its place.
fn needed(wanted: BTreeMap<PathBuf, Mount>) -> BTreeMap<PathBuf, Mount> {
    let mut mounts: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    for (path, mount) in wanted {
        let mut above = path.ancestors().skip(1);
        let around = above.find_map(|above| Some((above.to_owned(), *mounts.get(above)?)));
        let within = around.as_ref().map_or(Mount::Read, |(_, mount)| *mount);
        let so_already = match (mount, within) {
            (Mount::Write, Mount::Write)
            | (Mount::Read | Mount::Blank | Mount::Empty | Mount::Anew, Mount::Empty | Mount::Blank)
            | (Mount::Blank | Mount::Empty, Mount::Anew)
            | (Mount::Read, Mount::Read) => true,
            (Mount::Write | Mount::Blank | Mount::Empty | Mount::Anew, _)
            | (Mount::Read, Mount::Write | Mount::Anew) => false,
        };
        if so_already {
            continue;
        }
        if let Some((top, Mount::Write)) = around {
            // A directory that a command could rename would take away with it what is kept back in it, and the next
            // command would find it under another name. What is mounted cannot be renamed.
            for between in path.ancestors().skip(1).take_while(|between| *between != top) {
                mounts.insert(between.to_owned(), Mount::Write);
            }
        }
        mounts.insert(path, mount);
    }
    mounts
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
