//! How one command is confined: a plan.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::written::{Stop, follow};
use crate::{Files, Network, Profile};

/// How one command is confined.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The command's access to files and network.
    pub profile: Profile,
    /// Places it may write under [`Files::WorkspaceWrite`], absolute. Missing places are left out, and so are
    /// places behind a link that a command could have made: [`Plan::written`].
    #[serde(with = "crate::serialized::paths")]
    pub write: Vec<PathBuf>,
    /// Places whose files it may not read, absolute; unused under [`Files::Full`].
    #[serde(with = "crate::serialized::paths")]
    pub hide: Vec<PathBuf>,
    /// Places in hidden ones that it reads all the same, without the hidden places in them, absolute.
    #[serde(with = "crate::serialized::paths")]
    pub reveal: Vec<PathBuf>,
    /// Places it may only read although they are in a writable place, absolute. Only [`Outer::Bubblewrap`] can
    /// enforce this.
    #[serde(with = "crate::serialized::paths")]
    pub read_only: Vec<PathBuf>,
    /// Places whose files it may not read although they are in a writable place, absolute. Only
    /// [`Outer::Bubblewrap`] can enforce this. If such a place is in a directory of `read_only`, the command sees that
    /// directory as of its start. It sees neither these places nor entries whose names start with theirs.
    #[serde(with = "crate::serialized::paths")]
    pub blank: Vec<PathBuf>,
    /// Places where services of the machine listen, absolute: hidden from a command whose network is its own.
    #[serde(with = "crate::serialized::paths")]
    pub services: Vec<PathBuf>,
    /// Places in `/tmp` that such a command sees all the same, read-only, absolute.
    #[serde(with = "crate::serialized::paths")]
    pub show: Vec<PathBuf>,
    /// The directory that such a command sees as `/tmp`. Without it, `/tmp` is empty at each start.
    #[serde(with = "crate::serialized::optional_path")]
    pub temporary: Option<PathBuf>,
    /// Whether a command that reaches addresses has such a `/tmp` too. Only [`Outer::Bubblewrap`] can make one.
    pub private_tmp: bool,
    /// Folders in writable places, by real name, with git repositories whose settings are protected like those of a
    /// writable place itself.
    #[serde(with = "crate::serialized::paths")]
    pub repositories: Vec<PathBuf>,
    /// Whether it may write the settings of git repositories.
    pub git_settings: GitSettings,
    /// The promised version of Landlock: exactly this version is requested of the kernel.
    pub landlock: u8,
    /// The layer that the plan promises around the helper.
    pub outer: Outer,
}

/// A command's access to settings of git repositories in its writable places: configuration, hooks, and files that
/// say where these are. Only [`Outer::Bubblewrap`] can make them read-only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GitSettings {
    /// It reads them, unless one of them is itself a writable place.
    #[default]
    ReadOnly,
    /// It writes them: a user has allowed this command, which changes them.
    Writable,
}

/// The layer around the helper.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outer {
    /// Nothing.
    #[default]
    Nothing,
    /// A view of the machine that bubblewrap makes.
    Bubblewrap,
}

/// The addresses that a command's sockets reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only each other, in pairs.
    Pairs,
    /// Sockets in the command's own network and in its own view of the files.
    Own,
    /// Addresses of the machine and of others, and each other in pairs; no socket with a name.
    Addresses,
    Everything,
}

/// The directory in which every program expects temporary files.
pub(crate) const TEMPORARY: &str = "/tmp";
/// The directory in which programs share memory as files.
pub(crate) const SHARED_FILES: &str = "/dev/shm";

impl Plan {
    /// Returns what the command's sockets reach. A view of all files has all sockets of the machine in it, so its
    /// commands have pairs only.
    pub(crate) fn reach(&self) -> Reach {
        match (self.profile.network, self.outer) {
            (Network::On, _) => Reach::Everything,
            (Network::Internet, _) => Reach::Addresses,
            (Network::Off, Outer::Bubblewrap) if self.profile.files != Files::Full => Reach::Own,
            (Network::Off, _) => Reach::Pairs,
        }
    }

    /// Returns whether the command has a network, `/tmp` and `/dev/shm` of its own.
    pub fn is_apart(&self) -> bool {
        self.reach() == Reach::Own
    }

    /// Returns whether the command has a `/tmp` of its own.
    pub fn has_own_tmp(&self) -> bool {
        let is_view = self.outer == Outer::Bubblewrap && self.profile.files != Files::Full;
        self.is_apart() || (self.private_tmp && is_view)
    }

    /// Returns the real name of `/tmp`, if the command has its own there.
    pub(crate) fn own_temporary(&self) -> Option<PathBuf> {
        let temporary = || Path::new(TEMPORARY).canonicalize().ok();
        self.has_own_tmp().then(temporary).flatten()
    }

    /// Returns the real names of the writable places, as of now. No link is followed that is in one of them or next
    /// to a place of `read_only`. For a git work tree, what a commit writes in its repository elsewhere counts too.
    pub fn written(&self) -> Vec<PathBuf> {
        let (mut written, committed) = self.written_apart();
        written.extend(committed);
        written
    }

    /// Returns the writable places, and what a commit in one of them writes elsewhere.
    pub(crate) fn written_apart(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let written = crate::written::written(&self.write, &self.read_only);
        let committed = crate::repositories::committed(&written);
        (written, committed)
    }

    /// Returns a hidden place that cannot be protected because it is in a writable place. A command with such a
    /// plan is not started. In bubblewrap, only a writable place that is itself to be hidden counts. If a directory
    /// on the way cannot be searched, that directory stands for the place.
    pub fn exposed(&self) -> Option<PathBuf> {
        if self.profile.files != Files::WorkspaceWrite {
            return None;
        }
        let write = self.written();
        let exposed = |hidden: &PathBuf| match self.outer {
            Outer::Nothing => write.iter().any(|place| hidden.starts_with(place)),
            Outer::Bubblewrap => write.contains(hidden),
        };
        let beyond = [&self.read_only, &self.blank].map(|places| looked(places).1);
        let beyond = beyond
            .into_iter()
            .flatten()
            .filter(|_| self.outer == Outer::Bubblewrap);
        around(&self.hide).into_iter().chain(beyond).find(exposed)
    }

    /// Returns a read-only place that is a link in a writable place. Its target can be protected, but the command
    /// could replace the link itself. A command with such a plan is not started.
    pub fn replaceable(&self) -> Option<PathBuf> {
        if self.profile.files != Files::WorkspaceWrite || self.outer != Outer::Bubblewrap {
            return None;
        }
        self.read_only_places(&self.written()).err()
    }

    /// Returns the read-only places as [`looked`] does.
    ///
    /// # Errors
    /// One of them is a link in one of the places `write`. The result is the only look at the places, so that no
    /// later look can differ.
    pub(crate) fn read_only_places(
        &self,
        write: &[PathBuf],
    ) -> Result<(Vec<PathBuf>, Vec<PathBuf>), PathBuf> {
        let (mut there, mut unseen) = (Vec::new(), Vec::new());
        for path in &self.read_only {
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            let named = parent
                .zip(path.file_name())
                .map(|(parent, name)| parent.join(name));
            let in_written = |path: &PathBuf| write.iter().any(|place| path.starts_with(place));
            let is_link = match look(path) {
                Ok(real) => {
                    let is_link = named.as_ref() != Some(&real);
                    there.push(real);
                    is_link
                }
                Err(Stop::Unseen(directory)) => {
                    unseen.push(directory);
                    false
                }
                Err(Stop::Missing) => path.is_symlink(),
            };
            if is_link && named.as_ref().is_none_or(in_written) {
                return Err(path.clone());
            }
        }
        Ok((there, unseen))
    }

    /// Returns the real names of the places in hidden ones that the command reads. `hidden` has those by real name.
    pub(crate) fn revealed(&self, hidden: &[PathBuf]) -> Vec<PathBuf> {
        let mut revealed = looked(&self.reveal).0;
        let lies_in_one = |place: &PathBuf| hidden.iter().any(|hidden| place.starts_with(hidden));
        revealed.retain(|place| lies_in_one(place) && !hidden.contains(place));
        revealed
    }

    /// Returns the plan for the helper that runs in bubblewrap: bubblewrap does what Landlock cannot.
    #[must_use]
    pub fn within(&self) -> Self {
        let write = self.written();
        let among = |path: &&PathBuf| {
            let around = around(std::slice::from_ref(path));
            !around
                .iter()
                .any(|real| write.iter().any(|place| real.starts_with(place)))
        };
        let hide = match self.profile.files {
            Files::WorkspaceWrite => self.hide.iter().filter(among).cloned().collect(),
            Files::ReadOnly | Files::Full => self.hide.clone(),
        };
        Self {
            hide,
            write,
            read_only: Vec::new(),
            blank: Vec::new(),
            services: Vec::new(),
            repositories: Vec::new(),
            show: Vec::new(),
            reveal: self.reveal.clone(),
            temporary: None,
            ..*self
        }
    }

    /// Returns the names of what confines the command, outermost first.
    pub fn sandboxed_by(&self) -> Vec<String> {
        if !self.profile.restricts_something() {
            return Vec::new();
        }
        let bubblewrap = (self.outer == Outer::Bubblewrap).then(|| "bubblewrap".to_owned());
        let landlock = (self.landlock > 0).then(|| format!("Landlock {}", self.landlock));
        let all = [bubblewrap, landlock, Some("seccomp".to_owned())];
        all.into_iter().flatten().collect()
    }

    /// Returns the same names as part of a sentence.
    pub fn holders(&self) -> String {
        let names = self.sandboxed_by();
        match names.as_slice() {
            [] => "nothing".to_owned(),
            [one] => one.clone(),
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
        }
    }

    /// Returns the plan for a helper without bubblewrap, with the writable places as [`Plan::written`] returns them
    /// now.
    #[must_use]
    pub fn resolved(&self) -> Self {
        Self {
            write: self.written(),
            hide: self.hide.clone(),
            read_only: Vec::new(),
            blank: Vec::new(),
            services: Vec::new(),
            repositories: Vec::new(),
            show: Vec::new(),
            reveal: self.reveal.clone(),
            temporary: None,
            ..*self
        }
    }
}

/// Returns the real name of an existing place. A place behind a directory that may not be searched may exist: a
/// command can remove that right, and the next command can restore it.
///
/// Most places to be hidden do not exist. One call for the whole path finds that out, while a real name takes one
/// call for each directory.
fn look(path: &Path) -> Result<PathBuf, Stop> {
    let missing = [ErrorKind::NotFound, ErrorKind::NotADirectory];
    if path
        .metadata()
        .is_err_and(|error| missing.contains(&error.kind()))
    {
        return Err(Stop::Missing);
    }
    path.canonicalize().or_else(|error| match error.kind() {
        ErrorKind::PermissionDenied => follow(path).map(|way| way.real),
        _ => Err(Stop::Missing),
    })
}

/// Returns the existing ones of some places by real name, and the directories that hide whether the others exist.
/// Each place is resolved once.
pub(crate) fn looked(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut there, mut unseen) = (Vec::new(), Vec::new());
    for path in paths {
        match look(path) {
            Ok(real) => there.push(real),
            Err(Stop::Unseen(directory)) => unseen.push(directory),
            Err(Stop::Missing) => {}
        }
    }
    (there, unseen)
}

/// Returns everything to hide so that none of some places can be read: the existing places, and the directories
/// that hide whether the others exist.
pub(crate) fn around(paths: &[PathBuf]) -> Vec<PathBuf> {
    let (mut around, unseen) = looked(paths);
    around.extend(unseen);
    around
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Network;

    #[test]
    fn a_hidden_place_within_one_that_may_be_written_is_exposed() {
        let place = tempfile::tempdir().unwrap();
        let secret = place.path().join("secret");
        std::fs::create_dir(&secret).unwrap();
        let plan = |files, write: &std::path::Path| Plan {
            profile: Profile {
                files,
                network: Network::Off,
            },
            write: vec![write.to_owned()],
            hide: vec![secret.clone()],
            landlock: 6,
            ..Plan::default()
        };
        assert!(plan(Files::WorkspaceWrite, place.path()).exposed().is_some());
        assert!(plan(Files::ReadOnly, place.path()).exposed().is_none());
        assert!(
            plan(Files::WorkspaceWrite, &place.path().join("other"))
                .exposed()
                .is_none()
        );
    }

    /// Runs a closure in a thread with the file rights of an ordinary user.
    #[cfg(target_os = "linux")]
    pub(crate) fn unprivileged<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
        let looked = std::thread::spawn(move || {
            if nix::unistd::geteuid().is_root() {
                // Affects this thread only. Removes root's additional rights on files.
                nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65_534));
            }
            look()
        });
        looked.join().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_cannot_be_looked_at_is_kept_back_with_the_directory_that_keeps_it() {
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (work, closed) = (top.join("work"), top.join("work/deploy"));
        std::fs::create_dir_all(&closed).unwrap();
        std::fs::write(closed.join("keys"), "secret").unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&top, 0o755);
        mode(&closed, 0o000);
        let hide = ["keys", "missing/keys"].map(|name| closed.join(name));
        // As when a user stores configuration in a workspace and links to it from the home directory.
        let link = top.join("link");
        std::os::unix::fs::symlink("work/deploy/keys", &link).unwrap();
        let plan = Plan {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network: Network::Off,
            },
            write: vec![work.clone()],
            hide: hide.into_iter().chain([top.join("missing"), link]).collect(),
            landlock: 6,
            outer: Outer::Bubblewrap,
            ..Plan::default()
        };
        let looked = plan.clone();
        let (seen, beyond, exposed, alone) = unprivileged(move || {
            let alone = Plan {
                outer: Outer::Nothing,
                ..looked.clone()
            };
            let beyond = around(&looked.hide);
            (
                super::looked(&looked.hide).0,
                beyond,
                looked.exposed(),
                alone.exposed(),
            )
        });
        assert_eq!((seen, beyond), (Vec::new(), vec![closed.clone(); 3]));
        assert_eq!((exposed, alone), (None, Some(closed.clone())));
        // The workspace directory itself.
        mode(&work, 0o000);
        let place = Plan {
            hide: Vec::new(),
            read_only: vec![work.join(".craft")],
            ..plan.clone()
        };
        for plan in [plan, place] {
            assert_eq!(unprivileged(move || plan.exposed()), Some(work.clone()));
        }
        mode(&work, 0o755);
        mode(&closed, 0o755);
    }

    #[test]
    fn bubblewrap_keeps_a_hidden_place_back_wherever_it_lies_and_landlock_the_others() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (work, inside, outside) = (top.join("work"), top.join("work/deploy/keys"), top.join("keys"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir(&outside).unwrap();
        let plan = Plan {
            profile: Profile {
                files: Files::WorkspaceWrite,
                network: Network::Off,
            },
            write: vec![work.clone()],
            hide: vec![inside, outside.clone(), "/not/there".into()],
            read_only: vec![work.join(".craft")],
            blank: vec![work.join(".craft/bobbin.db")],
            landlock: 6,
            outer: Outer::Bubblewrap,
            ..Plan::default()
        };
        assert_eq!(plan.exposed(), None);
        let within = plan.within();
        assert_eq!(within.hide, [outside, "/not/there".into()]);
        assert_eq!((within.read_only.len(), within.blank.len()), (0, 0));
        assert!(within.is_apart());
        assert_eq!((within.write, within.outer), (plan.write.clone(), plan.outer));
        let all = Plan {
            hide: vec![work.clone()],
            ..plan.clone()
        };
        assert_eq!(all.exposed(), Some(work.canonicalize().unwrap()));
        let alone = Plan {
            outer: Outer::Nothing,
            ..plan
        };
        assert!(alone.exposed().is_some());
    }

    #[test]
    fn a_place_in_a_hidden_one_is_read_unless_it_is_hidden_itself() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let names = ["state/tree", "state/other/keys", "beside"].map(|name| top.join(name));
        for name in &names {
            std::fs::create_dir_all(name).unwrap();
        }
        let plan = Plan {
            hide: vec![top.join("state"), names[1].clone()],
            reveal: vec![
                names[0].clone(),
                names[1].clone(),
                top.join("state/other"),
                names[2].clone(),
                top.join("state/none"),
            ],
            ..Plan::default()
        };
        assert_eq!(
            plan.revealed(&around(&plan.hide)),
            [names[0].clone(), top.join("state/other")]
        );
        assert_eq!(plan.within().reveal, plan.reveal);
    }

    #[test]
    fn a_kept_place_that_is_a_link_can_be_replaced_where_the_command_may_write() {
        let place = tempfile::tempdir().unwrap();
        let work = place.path().join("work");
        std::fs::create_dir_all(work.join("real")).unwrap();
        std::os::unix::fs::symlink("work/real", place.path().join("outside")).unwrap();
        std::os::unix::fs::symlink("real", work.join("link")).unwrap();
        let plan = |read_only: PathBuf, files, outer| Plan {
            profile: Profile {
                files,
                network: Network::Off,
            },
            write: vec![work.clone()],
            read_only: vec![read_only],
            outer,
            ..Plan::default()
        };
        let link = work.join("link");
        let (some, strict) = (Files::WorkspaceWrite, Outer::Bubblewrap);
        assert_eq!(plan(link.clone(), some, strict).replaceable(), Some(link.clone()));
        for other in [
            plan(work.join("real"), some, strict),
            plan(work.join("missing"), some, strict),
            plan(place.path().join("outside"), some, strict),
            plan(link.clone(), Files::ReadOnly, strict),
            plan(link, some, Outer::Nothing),
        ] {
            assert_eq!(other.replaceable(), None, "{other:?}");
        }
    }

    #[test]
    fn what_holds_a_command_is_named_from_the_outside() {
        let names = |profile, landlock, outer| {
            let plan = Plan {
                profile,
                landlock,
                outer,
                ..Plan::default()
            };
            plan.holders()
        };
        let strict = Profile {
            files: Files::ReadOnly,
            network: Network::Off,
        };
        for (profile, landlock, outer, expected) in [
            (strict, 6, Outer::Bubblewrap, "bubblewrap, Landlock 6 and seccomp"),
            (strict, 6, Outer::Nothing, "Landlock 6 and seccomp"),
            (strict, 0, Outer::Bubblewrap, "bubblewrap and seccomp"),
            (Profile::OPEN, 6, Outer::Nothing, "nothing"),
        ] {
            assert_eq!(names(profile, landlock, outer), expected);
        }
    }
}
