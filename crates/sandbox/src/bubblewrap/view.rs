//! A command's view of the machine's files, and bubblewrap's arguments for it.
//!
//! [`View::of`] checks which places of a plan exist; the arguments follow from that alone. All paths are real
//! names: in the view, a link may lead elsewhere. Limits: those of a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

use super::mounts::{Access, Content, PlannedMounts, content};
use super::readable::readable;
use crate::plan::{TEMPORARY, around, looked};
use crate::{Files, GitSettings, Network, Plan, Profile, SandboxError};

/// A command's view, as bubblewrap is to make it and as the helper must find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandView {
    /// Bubblewrap's arguments. The program and its arguments follow them.
    pub arguments: Vec<OsString>,
    /// The mounts to compare; `None` under [`Files::Full`], where none is planned.
    pub mounts: Option<PlannedMounts>,
}

/// Returns the view of a plan, with its places as of now, for a command that runs in `directory`, a real name.
///
/// There is no `--new-session`: the caller has made a session, and another one would leave the group that the
/// caller ends.
///
/// With [`CommandNetwork::Joined`] the caller has joined the network of other commands, and bubblewrap makes none.
///
/// # Errors
/// A place cannot be looked at, is a link that commands could replace, or was replaced meanwhile.
pub fn view_of(plan: &Plan, directory: &Path, network: CommandNetwork) -> Result<CommandView, SandboxError> {
    let mut view = View::of(plan)?;
    let mounts = match plan.profile.files {
        Files::Full => None,
        Files::ReadOnly | Files::WorkspaceWrite => Some(view.planned()?),
    };
    Ok(CommandView {
        arguments: view.arguments(directory, network),
        mounts,
    })
}

/// The origin of a command's network, if it does not have the machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandNetwork {
    /// Bubblewrap makes it.
    New,
    /// The process that becomes bubblewrap is in it.
    Joined,
}

/// A command's view of the machine's files. All other places are readable and not writable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    profile: Profile,
    /// Outer places come before those within them.
    mounts: BTreeMap<PathBuf, Mount>,
    /// Links in new directories, with their targets.
    links: Vec<(PathBuf, PathBuf)>,
    /// The directory that is the command's `/tmp`.
    temporary: Option<PathBuf>,
}

/// How the command sees a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mount {
    /// Readable and writable.
    Write,
    /// Readable.
    Read,
    /// A directory that is empty except for writable places in it.
    Empty,
    /// A new directory with only those places in it that are readable or writable.
    Anew,
    /// A file that cannot be opened.
    Blank,
    /// A socket of another program, which cannot be reached. It may disappear at any time.
    Socket,
    /// A directory of the command's own, with only those places of the machine's in it that are readable or writable.
    Own,
    /// The same, writable: the directory for temporary files.
    Temporary,
}

/// The device that hides a file.
const NOTHING: &str = "/dev/null";
/// Links in a directory of services that programs are started through (NixOS).
const PROGRAMS: [&str; 2] = ["current-system", "opengl-driver"];

impl View {
    /// Builds the view of a plan; leaves out missing places.
    ///
    /// # Errors
    /// [`SandboxError::Closed`], [`SandboxError::Link`].
    pub(super) fn of(plan: &Plan) -> Result<Self, SandboxError> {
        let (mut wanted, mut links) = (BTreeMap::new(), Vec::new());
        if plan.profile.files != Files::Full {
            // For a place named twice, the later entry counts.
            let (mut write, committed) = match plan.profile.files {
                Files::WorkspaceWrite => plan.written_apart(),
                Files::ReadOnly | Files::Full => (Vec::new(), Vec::new()),
            };
            write.extend(committed.iter().cloned());
            if plan.is_apart() {
                hide_services(plan, &mut wanted, &mut links);
            }
            if let Some(temporary) = plan.own_temporary() {
                // It is seen as `/tmp`.
                write.retain(|place| Some(place) != plan.temporary.as_ref());
                separate(plan, temporary, &write, &mut wanted);
            }
            if plan.git_settings == GitSettings::ReadOnly {
                let settings = crate::repositories::settings(&write, &plan.repositories, &committed)?;
                wanted.extend(settings.into_iter().map(|place| (place, Mount::Read)));
            }
            let (read_only, beyond_read_only) = plan.read_only_places(&write).map_err(SandboxError::Link)?;
            let (blank, beyond_blank) = looked(&plan.blank);
            for real in read_only {
                match readable(&real, &plan.blank) {
                    Some(places) => {
                        let read = places.into_iter().map(|place| (place, Mount::Read));
                        wanted.extend(read.chain([(real, Mount::Anew)]));
                    }
                    None => drop(wanted.insert(real, Mount::Read)),
                }
            }
            let hide = around(&plan.hide);
            let revealed = plan.revealed(&hide);
            for (places, mount) in [
                (blank, Mount::Blank),
                (revealed.clone(), Mount::Read),
                (write, Mount::Write),
                (hide, Mount::Blank),
                // Hidden as a whole, even if writable: single entries of it cannot be hidden.
                (beyond_read_only, Mount::Blank),
                (beyond_blank, Mount::Blank),
            ] {
                for real in places {
                    let is_around = || revealed.iter().any(|place| place.starts_with(&real));
                    let mount = match mount {
                        Mount::Blank if real.is_dir() && is_around() => Mount::Anew,
                        Mount::Blank if real.is_dir() => Mount::Empty,
                        other => other,
                    };
                    wanted.insert(real, mount);
                }
            }
        }
        let mounts = needed(wanted);
        let is_new = |parent: &Path| matches!(mounts.get(parent), Some(Mount::Own));
        links.retain(|(link, _)| link.parent().is_some_and(is_new));
        Ok(Self {
            profile: plan.profile,
            mounts,
            links,
            temporary: plan.temporary.clone().filter(|place| place.is_dir()),
        })
    }

    /// Returns the mounts as the helper must find them. Leaves out entries of a new
    /// directory that were removed meanwhile.
    fn planned(&mut self) -> Result<PlannedMounts, SandboxError> {
        let mut planned = PlannedMounts::of_machine()?;
        let root = Path::new("/");
        if !self.mounts.contains_key(root) {
            let place = content(root)?.ok_or_else(|| SandboxError::Replaced(root.to_owned()))?;
            planned.add(root, place, Access::Read);
        }
        // Nobody puts a file into such a directory while the command runs, so that one may be missing.
        let is_in_new = |path: &Path| {
            let around = path.parent().and_then(|around| self.mounts.get(around));
            around == Some(&Mount::Anew)
        };
        // A command could take a socket out of a writable place and put it back.
        let is_in_writable = |path: &Path| {
            let mut around = path
                .ancestors()
                .skip(1)
                .filter_map(|parent| self.mounts.get(parent));
            around.any(|mount| matches!(mount, Mount::Write | Mount::Temporary))
        };
        let mut gone = Vec::new();
        for (path, mount) in &self.mounts {
            let (source, access) = match mount {
                Mount::Write => (Some(path.as_path()), Access::Write),
                Mount::Read if is_in_new(path) => (Some(path.as_path()), Access::ReadIfThere),
                Mount::Read => (Some(path.as_path()), Access::Read),
                Mount::Empty | Mount::Anew | Mount::Own => (None, Access::Read),
                Mount::Temporary => (self.temporary.as_deref(), Access::Write),
                Mount::Socket if !is_in_writable(path) => (Some(Path::new(NOTHING)), Access::ReadIfThere),
                Mount::Blank | Mount::Socket => (Some(Path::new(NOTHING)), Access::Read),
            };
            if *mount == Mount::Socket && access == Access::ReadIfThere && content(path)?.is_none() {
                gone.push(path.clone());
                continue;
            }
            match source.map(content).transpose()? {
                None => planned.add(path, Content::New, access),
                Some(Some(place)) => planned.add(path, place, access),
                Some(None) if access == Access::ReadIfThere => gone.push(path.clone()),
                Some(None) => return Err(SandboxError::Replaced(path.clone())),
            }
        }
        self.mounts.retain(|path, _| !gone.contains(path));
        Ok(planned)
    }

    /// Returns the arguments for [`view_of`].
    pub(super) fn arguments(&self, directory: &Path, network: CommandNetwork) -> Vec<OsString> {
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
        if self.profile.network == Network::Off && network == CommandNetwork::New {
            add("--unshare-net", &[]);
        }
        if network == CommandNetwork::Joined && !geteuid().is_root() {
            // A process that joins a network becomes root in the user namespace that owns it. Bubblewrap then makes no
            // namespace of its own unless it is asked to, and leaves a root all capabilities.
            let (user, group) = (geteuid().to_string(), getegid().to_string());
            add("--unshare-user", &[]);
            add("--uid", &[Path::new(&user)]);
            add("--gid", &[Path::new(&group)]);
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
                // The place may be removed meanwhile; it is missing in the view then.
                Mount::Read => add("--ro-bind-try", &[path, path]),
                Mount::Empty | Mount::Anew | Mount::Own => add("--tmpfs", &[path]),
                Mount::Temporary => match &self.temporary {
                    Some(place) => add("--bind", &[place, path]),
                    None => add("--tmpfs", &[path]),
                },
                // A device on a mount without devices cannot be opened.
                Mount::Blank | Mount::Socket => add("--ro-bind", &[Path::new(NOTHING), path]),
            }
        }
        for (link, target) in &self.links {
            add("--symlink", &[target, link]);
        }
        // Last: bubblewrap may have to create places within them first.
        let is_closed = |mount: &Mount| matches!(mount, Mount::Empty | Mount::Anew | Mount::Own);
        for (path, _) in mounts().filter(|(_, mount)| is_closed(mount)) {
            add("--remount-ro", &[path]);
        }
        add("--chdir", &[directory]);
        add("--", &[]);
        all
    }
}

/// Returns the sockets that a command does not reach if it starts now with a network of its own, and that it would reach
/// if they were made after its start. Those in places that are hidden as a whole are none of them.
pub fn hidden_sockets(plan: &Plan) -> BTreeSet<PathBuf> {
    if !plan.is_apart() || plan.services.is_empty() {
        return BTreeSet::new();
    }
    let mut closed = around(&plan.services);
    closed.extend(Path::new(TEMPORARY).canonicalize());
    let seen: Vec<PathBuf> = [&plan.write, &plan.show]
        .into_iter()
        .flat_map(|places| looked(places).0)
        .collect();
    let lies_in = |socket: &Path, places: &[PathBuf]| places.iter().any(|place| socket.starts_with(place));
    let mut sockets = super::sockets::bound();
    sockets.retain(|socket| !lies_in(socket, &closed) || lies_in(socket, &seen));
    sockets
}

/// Adds the mounts that hide the services of the machine from a command: no path leads to a socket on which a service
/// listens, unless the plan names that socket as a writable place.
fn hide_services(plan: &Plan, wanted: &mut BTreeMap<PathBuf, Mount>, links: &mut Vec<(PathBuf, PathBuf)>) {
    if !plan.services.is_empty() {
        let sockets = super::sockets::bound();
        wanted.extend(sockets.into_iter().map(|path| (path, Mount::Socket)));
    }
    for path in around(&plan.services) {
        let programs = PROGRAMS.map(|name| path.join(name));
        links.extend(programs.into_iter().filter_map(|link| {
            let target = link.read_link().ok()?;
            Some((link, target))
        }));
        let mount = if path.is_dir() { Mount::Own } else { Mount::Blank };
        wanted.insert(path, mount);
    }
}

/// Adds the mounts that give a command its own `/tmp`, whose real name is `temporary`.
fn separate(plan: &Plan, temporary: PathBuf, write: &[PathBuf], wanted: &mut BTreeMap<PathBuf, Mount>) {
    let shown = looked(&plan.show).0;
    let shown = shown.into_iter().filter(|path| path.starts_with(&temporary));
    wanted.extend(shown.map(|path| (path, Mount::Read)));
    wanted.insert(temporary, Mount::Temporary);
    if write.is_empty() {
        // Its directory is there to read, wherever it is.
        wanted.extend(plan.written().into_iter().map(|path| (path, Mount::Read)));
    }
}

/// Leaves out mounts without effect, and adds those that protect other mounts from being renamed.
fn needed(wanted: BTreeMap<PathBuf, Mount>) -> BTreeMap<PathBuf, Mount> {
    let mut mounts: BTreeMap<PathBuf, Mount> = BTreeMap::new();
    for (path, mount) in wanted {
        let mut parent = path.ancestors().skip(1);
        let around = parent.find_map(|parent| Some((parent.to_owned(), *mounts.get(parent)?)));
        let within = around.as_ref().map_or(Mount::Read, |(_, mount)| *mount);
        let so_already = match (mount, within) {
            (Mount::Write, Mount::Write)
            | (
                Mount::Read | Mount::Blank | Mount::Socket | Mount::Empty | Mount::Anew,
                Mount::Empty | Mount::Blank | Mount::Socket,
            )
            | (Mount::Blank | Mount::Socket | Mount::Empty, Mount::Anew)
            | (Mount::Blank | Mount::Socket | Mount::Empty | Mount::Anew, Mount::Own | Mount::Temporary)
            | (Mount::Read, Mount::Read) => true,
            (
                Mount::Write
                | Mount::Blank
                | Mount::Socket
                | Mount::Empty
                | Mount::Anew
                | Mount::Own
                | Mount::Temporary,
                _,
            )
            | (Mount::Read, Mount::Write | Mount::Anew | Mount::Own | Mount::Temporary) => false,
        };
        if so_already {
            continue;
        }
        if let Some((top, Mount::Write)) = around {
            // A command that renamed such a directory would move the hidden place in it, and the next command would
            // find that place under another name. A mount point cannot be renamed.
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
