//! Files, restricted by Landlock: everything may be read except hidden places; little may be written.
//!
//! Landlock has no exceptions: a right on a directory covers everything in it. So a place stays hidden because
//! rights are granted on its neighbours one by one, in each directory on the way to it. Entries created there later
//! cannot be read either. Names in directories can always be listed. Devices are always hidden, with a few
//! exceptions.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::Mode;

use crate::plan::{Outer, Reach, SHARED_FILES, around};
use crate::{Files, Plan, SandboxError};

/// Most entries next to hidden places.
const MAX_ENTRIES: usize = 4096;
/// The newest version of Landlock that we use: it restricts signals and abstract sockets.
const NEWEST: u8 = 6;
/// Devices that any program may write, and the rights on them.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];
/// The terminals that programs make for others, such as a shell. Bubblewrap gives a command its own directory of them;
/// elsewhere the directory has the user's.
const TERMINALS: &str = "/dev/pts";
/// The directory of devices. All other devices are hidden: the user types on a terminal, a disk has every file, and
/// a keyboard serves all programs.
const ALL_DEVICES: &str = "/dev";

fn version(number: u8) -> Option<ABI> {
    Some(match number {
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => return None,
    })
}

/// Returns the newest version that both this kernel and we support, 0 when there is none. Restricts nothing.
pub(crate) fn newest() -> u8 {
    (1..=NEWEST)
        .rev()
        .find(|&number| handled(number, Reach::Pairs).is_ok())
        .unwrap_or(0)
}

/// Makes a ruleset that grants nothing yet.
fn handled(number: u8, reach: Reach) -> Result<RulesetCreated, RulesetError> {
    let version = version(number).unwrap_or(ABI::V1);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(version))?;
    // Landlock knows ports and no addresses, so it cannot distinguish a loopback from the network.
    if number >= 4 && reach == Reach::Pairs {
        rules = rules.handle_access(AccessNet::from_all(version))?;
    }
    if number >= 6 {
        rules = rules.scope(Scope::from_all(version))?;
    }
    rules.create()
}

/// Restricts this process for good. The process must have one thread.
pub(crate) fn restrict(plan: &Plan) -> Result<(), SandboxError> {
    if let Some(path) = plan.exposed() {
        let source = std::io::Error::other("it is to be hidden, and lies where the command may write");
        return Err(SandboxError::Path { path, source });
    }
    let version =
        version(plan.landlock).ok_or_else(|| SandboxError::Kernel(format!("Landlock {}", plan.landlock)))?;
    let failed = |error: RulesetError| SandboxError::Kernel(format!("Landlock {}: {error}", plan.landlock));
    let mut rules = handled(plan.landlock, plan.reach()).map_err(failed)?;

    let all = AccessFs::from_all(version);
    if plan.profile.files == Files::Full {
        // One rule grants every file: this profile restricts only signals, other processes and abstract sockets.
        rules = grant(rules, Path::new("/"), all)?;
    } else {
        rules = grant_files(rules, plan, all, AccessFs::from_read(version))?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    if status.ruleset != RulesetStatus::FullyEnforced || !status.no_new_privs {
        return Err(SandboxError::Kernel(format!(
            "Landlock {} is enforced only in part",
            plan.landlock
        )));
    }
    Ok(())
}

fn grant_files(
    mut rules: RulesetCreated,
    plan: &Plan,
    all: BitFlags<AccessFs>,
    read: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SandboxError> {
    let hide: Vec<PathBuf> = plan.hide.iter().cloned().chain([ALL_DEVICES.into()]).collect();
    let revealed = plan.revealed(&around(&plan.hide));
    for (directory, names) in &readable(&hide, &revealed)? {
        // The directory was removed meanwhile, or this user may not search it: skipped, like single places.
        let Ok(parent) = open(AT_FDCWD, directory, OFlag::O_DIRECTORY) else {
            continue;
        };
        for name in names {
            // A link created meanwhile is no place: its target gets no right.
            if let Ok(place) = open(&parent, Path::new(name), OFlag::O_NOFOLLOW) {
                rules = grant_open(rules, place, read, || directory.join(name))?;
            }
        }
    }
    rules = grant(rules, Path::new(SHARED_FILES), read)?;
    rules = grant(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    let device = if plan.landlock >= 5 {
        device | AccessFs::IoctlDev
    } else {
        device
    };
    for path in DEVICES {
        rules = grant(rules, Path::new(path), device)?;
    }
    if plan.outer == Outer::Bubblewrap {
        rules = grant(rules, Path::new(TERMINALS), device | AccessFs::ReadDir)?;
    }
    for path in revealed.iter().filter(|path| !path.is_dir()) {
        if let Ok(place) = open_real(path) {
            rules = grant_open(rules, place, read, || path.clone())?;
        }
    }
    let write = match plan.profile.files {
        Files::WorkspaceWrite => plan.write.as_slice(),
        Files::ReadOnly | Files::Full => &[],
    };
    let own = plan.own_temporary().into_iter();
    let own = own.chain(plan.is_apart().then(|| SHARED_FILES.into()));
    let rights = all & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for path in write.iter().cloned().chain(own) {
        if let Ok(place) = open_real(&path) {
            rules = grant_open(rules, place, rights, || path.clone())?;
        }
    }
    Ok(rules)
}

/// Grants rights on a place; a missing place needs none.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, SandboxError> {
    // The place is missing, or this user may not search the way to it.
    match open(AT_FDCWD, path, OFlag::empty()) {
        Ok(place) => grant_open(rules, place, rights, || path.to_owned()),
        Err(_) => Ok(rules),
    }
}

/// Opens a place relative to an open directory.
fn open(parent: impl std::os::fd::AsFd, path: &Path, how: OFlag) -> nix::Result<OwnedFd> {
    openat(
        parent,
        path,
        how | OFlag::O_PATH | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
}

/// Opens a place by its real name. A link on the way appeared meanwhile, perhaps from another command.
fn open_real(path: &Path) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(AT_FDCWD, path, how)
}

/// Grants rights on an open place: those that its file type can have.
fn grant_open(
    rules: RulesetCreated,
    place: OwnedFd,
    rights: BitFlags<AccessFs>,
    path: impl Fn() -> PathBuf,
) -> Result<RulesetCreated, SandboxError> {
    let unusable = |source| SandboxError::Path { path: path(), source };
    let place = File::from(place);
    let rights = if place.metadata().map_err(unusable)?.is_dir() {
        rights
    } else {
        rights & AccessFs::from_file(ABI::V6)
    };
    if rights.is_empty() {
        return Ok(rules);
    }
    rules
        .add_rule(PathBeneath::new(place, rights))
        .map_err(|error| unusable(std::io::Error::other(error.to_string())))
}

/// Returns places that together are everything except hidden places, with the directories in these that are revealed:
/// directories, and names in each.
fn readable(hide: &[PathBuf], revealed: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<OsString>)>, SandboxError> {
    // By their real names: granting a link would grant its target.
    let hidden: BTreeSet<PathBuf> = around(hide).into_iter().collect();
    let mut places = Vec::new();
    let directories = revealed.iter().filter(|path| path.is_dir()).cloned();
    let mut open: Vec<PathBuf> = std::iter::once(PathBuf::from("/")).chain(directories).collect();
    let mut entries = 0;
    while let Some(place) = open.pop() {
        if hidden.contains(&place) {
            continue;
        }
        let unusable = |source| SandboxError::Path {
            path: place.clone(),
            source,
        };
        // Not granted as a whole: hidden, or has a hidden place in it.
        let apart: BTreeSet<OsString> = hidden
            .iter()
            .filter_map(|path| Some(path.strip_prefix(&place).ok()?.iter().next()?.to_owned()))
            .collect();
        if apart.is_empty() {
            places.push((place, vec![".".into()]));
            continue;
        }
        let found = match std::fs::read_dir(&place) {
            Ok(found) => found,
            // The user may not list the directory either; nothing in it is granted.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(unusable(error)),
        };
        let mut names = Vec::new();
        for entry in found {
            let entry = entry.map_err(unusable)?;
            entries += 1;
            if entries > MAX_ENTRIES {
                return Err(SandboxError::TooMany(place));
            }
            // Nothing is granted on a link; its target is granted or hidden by itself.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                let name = entry.file_name();
                if apart.contains(&name) {
                    open.push(place.join(name));
                } else {
                    names.push(name);
                }
            }
        }
        places.push((place, names));
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Network;

    fn paths(hide: &[PathBuf]) -> BTreeSet<PathBuf> {
        let places = readable(hide, &[]).unwrap().into_iter();
        places
            .flat_map(|(directory, names)| names.into_iter().map(move |name| directory.join(name)))
            .collect()
    }

    #[test]
    fn a_revealed_place_is_readable_without_the_hidden_ones_in_it() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        for path in ["home/.cache/pip", "home/work/keys", "home/work/src", "home/notes"] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        let hide = ["home", "home/work/keys"].map(|path| top.join(path));
        let plan = Plan {
            reveal: [".cache/pip", "work", "missing"]
                .map(|path| top.join("home").join(path))
                .to_vec(),
            ..Plan::default()
        };
        let revealed = plan.revealed(&hide);
        let places = readable(&hide, &revealed).unwrap().into_iter();
        let places: BTreeSet<PathBuf> = places
            .flat_map(|(directory, names)| names.into_iter().map(move |name| directory.join(name)))
            .filter(|path| path.starts_with(top.join("home")))
            .collect();
        let expected = ["home/.cache/pip/.", "home/work/src"].map(|path| top.join(path));
        assert_eq!(places, BTreeSet::from(expected));
    }

    #[test]
    fn without_anything_hidden_everything_is_readable() {
        for hide in [&[][..], &["/no/such/place".into()]] {
            assert_eq!(paths(hide), BTreeSet::from([PathBuf::from("/")]));
        }
    }

    #[test]
    fn neighbours_of_what_is_hidden_are_readable_and_links_to_it_are_not() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        for path in ["home/.ssh", "home/src", "home/.aws"] {
            std::fs::create_dir_all(top.join(path)).unwrap();
        }
        std::fs::write(top.join("home/.netrc"), "").unwrap();
        std::os::unix::fs::symlink(top.join("home/.ssh"), top.join("home/link")).unwrap();
        let hide = ["home/link", "home/.aws", "home/.netrc"].map(|path| top.join(path));
        let readable = paths(&hide);
        let under: Vec<_> = readable
            .iter()
            .filter_map(|path| path.strip_prefix(&top).ok())
            .collect();
        assert_eq!(under, [Path::new("home/src")]);
        assert!(readable.contains(Path::new("/usr")) && !readable.contains(Path::new("/")));
    }

    /// Returns which files a thread confined by a plan can write, with the plan as the helper reads it.
    fn is_written(plan: &Plan, files: &[PathBuf]) -> Vec<bool> {
        let (plan, files) = (plan.clone(), files.to_vec());
        let held = std::thread::spawn(move || {
            restrict(&plan).unwrap();
            let written = |file| std::fs::write(file, "x").is_ok();
            files.iter().map(written).collect()
        });
        held.join().unwrap()
    }

    #[test]
    #[expect(
        clippy::disallowed_methods,
        reason = "CI has to fail where its kernel tests too little"
    )]
    fn a_place_that_a_command_replaces_by_a_link_is_not_written_through_it() {
        if newest() < 3 {
            assert!(
                std::env::var_os("CI").is_none(),
                "not tested: Landlock 3 is missing"
            );
            println!("!! not tested: Landlock 3 is missing");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (work, file) = (top.join("work"), top.join("file"));
        let (sub, temporary) = (work.join("sub"), work.join(".craft/tmp"));
        for write in [
            vec![work.clone(), temporary.clone()],
            vec![sub.clone(), temporary.clone()],
        ] {
            std::fs::create_dir_all(&temporary).unwrap();
            std::fs::create_dir_all(&sub).unwrap();
            std::fs::write(&file, "mine").unwrap();
            let plan = Plan {
                profile: crate::Profile {
                    files: Files::WorkspaceWrite,
                    network: Network::Off,
                },
                write,
                read_only: vec![work.join(".craft")],
                landlock: newest(),
                ..Plan::default()
            };
            let resolved = Plan::resolved;
            let before = resolved(&plan);
            assert_eq!(
                is_written(&before, &[temporary.join("new"), sub.join("new")]),
                [true, true]
            );
            std::fs::remove_dir_all(&temporary).unwrap();
            std::os::unix::fs::symlink(&file, &temporary).unwrap();
            // Replaced before the command starts, and while it runs.
            for plan in [resolved(&plan), before] {
                assert_eq!(is_written(&plan, &[file.clone(), sub.join("new")]), [false, true]);
            }
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
            std::fs::remove_file(&temporary).unwrap();
        }
    }

    #[test]
    fn versions_that_nobody_promised_are_refused() {
        let plan = |landlock| Plan {
            profile: crate::Profile {
                files: Files::ReadOnly,
                network: Network::Off,
            },
            landlock,
            ..Plan::default()
        };
        // Refused before anything is restricted, so the test can go on.
        assert!(matches!(restrict(&plan(0)), Err(SandboxError::Kernel(_))));
        assert!(matches!(restrict(&plan(7)), Err(SandboxError::Kernel(_))));
        std::fs::write(tempfile::tempdir().unwrap().path().join("x"), "").unwrap();
    }
}
