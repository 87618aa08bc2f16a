//! The parts of git repositories that a command may not write in its writable places: settings that name programs.
//!
//! A user's git runs programs that a repository's configuration and hooks name, and shells and editors run git by
//! themselves. So a command that wrote these would run its own code outside of the sandbox. A commit needs the rest:
//! objects, refs, logs, the index.
//!
//! Covered: the repository at the top of each writable place, those in folders that the plan names, their submodules
//! (`.git/modules`) and the records of their work trees. Not covered: a repository that a command makes, which it must be
//! able to remove; `commondir` in a `.git` that has none, since a file that is not there cannot be mounted over; what is a
//! link, or behind one. Reads bounded files; makes the empty `hooks` and configurations of a repository that lacks them, so
//! that commands cannot. Follows no link in these directories, and changes nothing through one.

use std::collections::VecDeque;
use std::fs::{DirEntry, OpenOptions, Permissions};
use std::io::{ErrorKind, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::libc;
use nix::sys::stat::{Mode, mkdirat};
use nix::unistd::geteuid;

use crate::SandboxError;
use crate::plain::{Kind, kind, open, seen};
use crate::written::{Stop, follow};

/// Most bytes that are read of one of git's files.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// Most entries of `modules` and of `worktrees` that are looked at.
const MAX_ENTRIES: usize = 256;
/// Most settings of all repositories, in equal shares: each is a mount, and bubblewrap takes some thousands. The
/// settings of a repository itself come before the settings of its submodules, and fit any share.
const MAX_SETTINGS: usize = 512;
/// The least share.
const MIN_SHARE: usize = 8;
/// Entries of a git directory that name programs, or lead git to others that do.
const SETTINGS: [&str; 5] = ["config", WORK_TREE, HOOKS, "info/attributes", "commondir"];
/// Files of a work tree's record that lead git elsewhere, or name programs.
const RECORD: [&str; 3] = ["commondir", "gitdir", WORK_TREE];
/// A configuration that git reads once `config` says so, of each work tree.
const WORK_TREE: &str = "config.worktree";
/// The directory of hooks.
const HOOKS: &str = "hooks";
/// Entries that a repository gets, empty, where it lacks them.
const MADE: [&str; 3] = ["config", WORK_TREE, HOOKS];
/// Directories of a repository outside that a commit in a work tree writes.
const COMMITTED: [&str; 3] = ["objects", "refs", "logs"];

/// Most folders in which [`repositories_in`] looks.
const MAX_FOLDERS: usize = 1024;
/// Most repositories that it finds.
const MAX_REPOSITORIES: usize = 32;
/// A folder that has thousands of others and no repository.
const MODULES: &str = "node_modules";

/// Returns the folders in a directory, at most two levels down, that are git repositories or work trees: none if the
/// directory is one itself, since what lies in it then was mostly cloned for a while. Bounded: those near the top are
/// found first.
pub fn repositories_in(directory: &Path) -> Vec<PathBuf> {
    if is_whole(directory) {
        return Vec::new();
    }
    let (mut found, mut looks) = (Vec::new(), 0);
    let mut open = VecDeque::from([(directory.to_owned(), 0)]);
    while let Some((folder, depth)) = open.pop_front() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || name == ".git" || name == MODULES {
                continue;
            }
            looks += 1;
            if looks > MAX_FOLDERS || found.len() == MAX_REPOSITORIES {
                return found;
            }
            // A closed folder may be a repository: a command can close and open it.
            let git = entry.path().join(".git").symlink_metadata();
            if git.map_or_else(|error| error.kind() == ErrorKind::PermissionDenied, |_| true) {
                found.push(entry.path());
            } else if depth == 0 {
                open.push_back((entry.path(), 1));
            }
        }
    }
    found
}

/// Returns whether git takes a directory for a repository or a work tree. A command can make a part of one, so that the
/// repositories in it would not be looked for.
fn is_whole(directory: &Path) -> bool {
    let git = directory.join(".git");
    let git = match kind(&git) {
        Ok(Kind::File) => named(&git).ok().flatten(),
        _ => git.canonicalize().ok(),
    };
    let Some(git) = git else { return false };
    let has_head = text(&git.join("HEAD")).ok().flatten().is_some_and(|head| {
        let id = head.trim();
        head.starts_with("ref: refs/") || (id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    let has = |name: &str| git.join(name).is_dir();
    has_head && (git.join("commondir").is_file() || (has("objects") && has("refs")))
}

/// Returns the settings of repositories in writable places and in folders of these, all given by real name: commands only
/// read them. `committed` are the places of [`committed`].
///
/// # Errors
/// [`SandboxError::Closed`]
pub(crate) fn settings(
    write: &[PathBuf],
    folders: &[PathBuf],
    committed: &[PathBuf],
) -> Result<Vec<PathBuf>, SandboxError> {
    let mut places: Vec<&PathBuf> = write.iter().collect();
    for folder in folders {
        if let Some(place) = write.iter().find(|place| folder.starts_with(place)) {
            open_way(place, folder);
            // A folder that has been replaced by a link is not the user's repository any more.
            if kind(folder)? == Kind::Directory {
                places.push(folder);
            }
        }
    }
    let share = (MAX_SETTINGS / places.len().max(1)).max(MIN_SHARE);
    let mut found = Vec::new();
    for place in places {
        let git = place.join(".git");
        match kind(&git)? {
            Kind::Directory => add_repository(&git, share, &mut found)?,
            Kind::File => {
                for directory in led_to(&git)? {
                    if write.iter().any(|place| directory.starts_with(place)) {
                        add_repository(&directory, share, &mut found)?;
                    }
                }
                found.push(git);
            }
            Kind::Other => {}
        }
    }
    for record in committed.iter().filter(|place| is_record(place)) {
        add_record(record, &mut found)?;
    }
    Ok(found)
}

/// Returns the directories that a file `.git` leads git to: the one that it names, and the repository of that.
fn led_to(git: &Path) -> Result<Vec<PathBuf>, SandboxError> {
    let Some(directory) = named(git)? else {
        return Ok(Vec::new());
    };
    open_up(&directory);
    let common = match text(&directory.join("commondir"))? {
        Some(common) => real(&directory.join(common.trim()))?,
        None => None,
    };
    Ok([directory].into_iter().chain(common).collect())
}

/// Returns the directory that a file `.git` names.
fn named(git: &Path) -> Result<Option<PathBuf>, SandboxError> {
    let text = text(git)?.unwrap_or_default();
    let named = text.lines().next().and_then(|line| line.strip_prefix("gitdir:"));
    match (named, git.parent()) {
        (Some(named), Some(place)) => real(&place.join(named.trim())),
        _ => Ok(None),
    }
}

/// Returns the real name of a place, if it is there.
fn real(path: &Path) -> Result<Option<PathBuf>, SandboxError> {
    match follow(path) {
        Ok(way) => Ok(Some(way.real)),
        Err(Stop::Unseen(directory)) => seen(&directory).map(|()| None),
        Err(Stop::Missing) => Ok(None),
    }
}

fn is_record(place: &Path) -> bool {
    place
        .parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name == "worktrees")
}

/// Returns what a commit writes outside of some writable places, given by real name, because one of them is a work tree
/// of a repository elsewhere. The repository has to name the work tree, too: commands and folders may write `.git`.
pub(crate) fn committed(write: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in write.iter().filter(|place| is_file(&place.join(".git"))) {
        let Some(record) = record(place) else { continue };
        // A command could have made a record that it may write.
        if write.iter().any(|place| record.starts_with(place)) {
            continue;
        }
        let Some(repository) = record.parent().and_then(Path::parent) else {
            continue;
        };
        let shared = COMMITTED.map(|name| repository.join(name));
        found.extend(shared.into_iter().filter(|path| is_directory(path)));
        found.push(record);
    }
    found
}

/// Returns the record of a work tree: the directory in its repository that `.git` names, and that names `.git`.
fn record(place: &Path) -> Option<PathBuf> {
    let git = place.join(".git");
    let record = named(&git).ok()??;
    let text = |name: &str| text(&record.join(name)).ok().flatten();
    let back = record.join(text("gitdir")?.trim()).canonicalize().ok()?;
    let common = record.join(text("commondir")?.trim()).canonicalize().ok()?;
    (back == git && common.join("worktrees") == record.parent()?).then_some(record)
}

/// Adds the settings of a repository, of its submodules and of its work trees. If these are more than a share,
/// everything of submodules and work trees is added as a whole: names are cheap to make, and no name may push another
/// out.
fn add_repository(git: &Path, share: usize, found: &mut Vec<PathBuf>) -> Result<(), SandboxError> {
    let start = found.len();
    if !add_each(git, share, found)? {
        found.truncate(start);
        add(git, &SETTINGS, found)?;
        add(git, &["modules", "worktrees"], found)?;
    }
    Ok(())
}

/// Adds each of the settings. Returns whether they are no more than a share.
fn add_each(git: &Path, share: usize, found: &mut Vec<PathBuf>) -> Result<bool, SandboxError> {
    let most = found.len() + share;
    let mut looks = 0;
    let mut open = VecDeque::from([git.to_owned()]);
    while let Some(directory) = open.pop_front() {
        open_up(&directory);
        // Modules may have names with slashes: between them and `modules` are directories that are no repositories.
        let inner = if is_repository(&directory)? {
            complete(&directory, &MADE)?;
            add(&directory, &SETTINGS, found)?;
            for record in entries(&directory.join("worktrees"))? {
                add_record(&directory.join("worktrees").join(record.file_name()), found)?;
                if found.len() > most {
                    return Ok(false);
                }
            }
            directory.join("modules")
        } else if directory == git {
            return Ok(true);
        } else {
            directory
        };
        for entry in entries(&inner)? {
            looks += 1;
            if looks > MAX_ENTRIES || found.len() > most {
                return Ok(false);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push_back(inner.join(entry.file_name()));
            }
        }
    }
    Ok(true)
}

/// Returns the entries of a directory that no link leads to; none if it is no directory.
fn entries(directory: &Path) -> Result<impl Iterator<Item = DirEntry>, SandboxError> {
    open_up(directory);
    let found = match open(directory) {
        Ok((place, _)) => std::fs::read_dir(format!("/proc/self/fd/{}", place.as_raw_fd())),
        Err(error) => Err(error.into()),
    };
    if found
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    {
        seen(directory)?;
    }
    Ok(found.into_iter().flatten().flatten())
}

/// Adds the files of a work tree's record.
fn add_record(record: &Path, found: &mut Vec<PathBuf>) -> Result<(), SandboxError> {
    open_up(record);
    complete(record, &[WORK_TREE])?;
    add(record, &RECORD, found)
}

fn add(directory: &Path, names: &[&str], found: &mut Vec<PathBuf>) -> Result<(), SandboxError> {
    for name in names {
        let place = directory.join(name);
        // The target of a link is not git's, and a command could replace the link itself.
        if kind(&place)? != Kind::Other {
            found.push(place);
        }
    }
    Ok(())
}

/// Makes the entries that a directory of git lacks, as empty ones, so that commands cannot make them. If this user may
/// not make an entry, a command cannot make it either.
fn complete(git: &Path, names: &[&str]) -> Result<(), SandboxError> {
    let (directory, about) = match open(git) {
        Ok(opened) => opened,
        Err(Errno::EACCES) => return seen(git),
        Err(_) => return Ok(()),
    };
    for &name in names {
        let made = if name == HOOKS {
            mkdirat(&directory, name, Mode::from_bits_truncate(0o777))
        } else {
            let new = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
            openat(&directory, name, new, Mode::from_bits_truncate(0o666)).map(drop)
        };
        if made == Err(Errno::EACCES) && about.st_uid == geteuid().as_raw() {
            return Err(SandboxError::Closed(git.to_owned()));
        }
    }
    Ok(())
}

/// Returns whether a directory has a part of a git repository. One such part is enough: a command can move the others
/// away and back.
fn is_repository(git: &Path) -> Result<bool, SandboxError> {
    let (directory, _) = match open(git) {
        Ok(opened) => opened,
        Err(Errno::EACCES) => return seen(git).map(|()| false),
        Err(_) => return Ok(false),
    };
    let how = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    for name in ["HEAD", "config", "objects"] {
        match openat(&directory, name, how, Mode::empty()) {
            Ok(_) => return Ok(true),
            Err(Errno::EACCES) => seen(&git.join(name))?,
            Err(_) => {}
        }
    }
    Ok(false)
}

/// Lets the owner of a directory list and enter it: a command may have taken that away, and could give it back.
fn open_up(path: &Path) {
    let Ok((directory, about)) = open(path) else {
        return;
    };
    if about.st_mode & libc::S_IFMT == libc::S_IFDIR && about.st_mode & 0o700 != 0o700 {
        // If it belongs to another user, this fails, and a command fails too.
        let mode = Permissions::from_mode(about.st_mode & 0o7777 | 0o700);
        drop(std::fs::set_permissions(
            format!("/proc/self/fd/{}", directory.as_raw_fd()),
            mode,
        ));
    }
}

/// Opens the directories between a place and a folder in it.
fn open_way(place: &Path, folder: &Path) {
    let mut way = place.to_owned();
    for part in folder.strip_prefix(place).into_iter().flatten() {
        way.push(part);
        open_up(&way);
    }
}

fn is_directory(path: &Path) -> bool {
    kind(path).is_ok_and(|kind| kind == Kind::Directory)
}

fn is_file(path: &Path) -> bool {
    kind(path).is_ok_and(|kind| kind == Kind::File)
}

/// Returns the text of an ordinary file, up to a bound; `None` if there is none.
fn text(path: &Path) -> Result<Option<String>, SandboxError> {
    let read = || {
        let file = OpenOptions::new()
            .read(true)
            // A pipe in its place is not waited for.
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
            .open(path)?;
        let mut bytes = Vec::new();
        if file.metadata()?.is_file() {
            file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    match read() {
        // Names in other encodings are no reason to know nothing of a file.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => {
            let error: std::io::Error = error;
            if error.kind() == ErrorKind::PermissionDenied {
                seen(path)?;
            }
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn repository(git: &Path) {
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        write(&git.join("config"), "");
        for name in ["objects", "refs", "logs"] {
            std::fs::create_dir_all(git.join(name)).unwrap();
        }
    }

    fn settings(write: &[PathBuf], folders: &[PathBuf]) -> Vec<PathBuf> {
        super::settings(write, folders, &committed(write)).unwrap()
    }

    fn top() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        (place, top)
    }

    #[test]
    fn the_settings_of_a_repository_its_submodules_and_its_work_trees_are_found() {
        let (_place, top) = top();
        let git = top.join(".git");
        repository(&git);
        repository(&git.join("modules/libs/a"));
        write(&git.join("info/attributes"), "");
        write(&git.join("worktrees/x/gitdir"), "/x/.git\n");
        write(&git.join("worktrees/x/commondir"), "../..\n");
        std::os::unix::fs::symlink("../../../hooks", git.join("modules/libs/a/hooks")).unwrap();
        let found = settings(std::slice::from_ref(&top), &[]);
        let expected = [
            "config",
            "config.worktree",
            "hooks",
            "info/attributes",
            "worktrees/x/commondir",
            "worktrees/x/gitdir",
            "worktrees/x/config.worktree",
            "modules/libs/a/config",
            "modules/libs/a/config.worktree",
        ];
        assert_eq!(found, expected.map(|name| git.join(name)));
    }

    #[test]
    fn what_commands_pile_up_takes_no_share_of_another_repository() {
        let (_place, top) = top();
        for name in ["one", "two"] {
            repository(&top.join(name).join(".git"));
        }
        for number in 0..MAX_SETTINGS {
            repository(&top.join(format!("one/.git/modules/{number}")));
        }
        let folders = ["one", "two"].map(|name| top.join(name));
        let found = settings(std::slice::from_ref(&top), &folders);
        assert!(found.len() <= MAX_SETTINGS, "{}", found.len());
        for folder in &folders {
            assert!(
                found.contains(&folder.join(".git/config")),
                "{}",
                folder.display()
            );
        }
    }

    #[test]
    fn nothing_that_a_command_moves_closes_or_adds_uncovers_settings() {
        let (_place, top) = top();
        let git = top.join(".git");
        repository(&git);
        repository(&git.join("modules/z"));
        write(
            &git.join("config"),
            "[user]\n\tname = J\u{f6}rg\n[extensions]\n\tworktreeConfig = true\n",
        );
        // In another encoding.
        std::fs::write(git.join("config"), b"name = J\xf6rg\nworktreeConfig = true\n").unwrap();
        write(&git.join("worktrees/x/gitdir"), "/x/.git\n");
        let found = || settings(std::slice::from_ref(&top), &[]);
        let covers =
            |found: &[PathBuf], name: &str| found.iter().any(|place| git.join(name).starts_with(place));
        for name in [
            "config",
            "config.worktree",
            "hooks",
            "worktrees/x/config.worktree",
            "modules/z/config",
        ] {
            assert!(covers(&found(), name), "{name}");
        }
        std::fs::rename(git.join("HEAD"), git.join("H2")).unwrap();
        assert!(covers(&found(), "config"));
        std::fs::rename(git.join("H2"), git.join("HEAD")).unwrap();
        for closed in [&git, &git.join("modules"), &git.join("worktrees")] {
            std::fs::set_permissions(closed, Permissions::from_mode(0o000)).unwrap();
            assert!(covers(&found(), "config") && covers(&found(), "modules/z/config"));
            assert!(covers(&found(), "worktrees/x/gitdir"));
        }
        for number in 0..=MAX_SETTINGS {
            std::fs::create_dir_all(git.join(format!("modules/{number}"))).unwrap();
        }
        let found = found();
        assert!(covers(&found, "config") && covers(&found, "modules/z/config"));
        assert!(covers(&found, "worktrees/x/config.worktree"));
    }

    #[test]
    fn what_is_no_repository_is_left_as_it_is() {
        let (_place, top) = top();
        assert_eq!(
            settings(std::slice::from_ref(&top), &[]),
            [""; 0].map(PathBuf::from)
        );
        std::fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(
            settings(std::slice::from_ref(&top), &[]),
            [""; 0].map(PathBuf::from)
        );
        repository(&top.join(".git/part"));
        assert_eq!(
            settings(std::slice::from_ref(&top), &[]),
            [""; 0].map(PathBuf::from)
        );
        assert!(!top.join(".git/hooks").exists());
        // Nor is a link.
        let link = top.join("link");
        std::fs::create_dir(&link).unwrap();
        repository(&top.join("elsewhere"));
        std::os::unix::fs::symlink("../elsewhere", link.join(".git")).unwrap();
        assert_eq!(settings(&[link], &[]), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn repositories_in_folders_are_found_and_covered_while_they_are_there() {
        let (_place, top) = top();
        for name in ["one", "some/two", "some/deep/three", "node_modules/four", ".five"] {
            repository(&top.join(name).join(".git"));
        }
        let mut found = repositories_in(&top);
        found.sort();
        assert_eq!(found, [".five", "one", "some/two"].map(|name| top.join(name)));
        let place = std::slice::from_ref(&top);
        let covered = settings(place, &found);
        let expected = [".five", "one", "some/two"].map(|folder| {
            ["config", "config.worktree", "hooks"].map(|name| top.join(folder).join(".git").join(name))
        });
        assert_eq!(covered, expected.concat());
        write(&top.join(".git/HEAD"), "");
        assert_eq!(repositories_in(&top).len(), 3, "a part of a repository is none");
        repository(&top.join(".git"));
        assert_eq!(repositories_in(&top), [""; 0].map(PathBuf::from));
        std::fs::remove_dir_all(top.join(".git")).unwrap();
        // Only those in writable places count.
        assert_eq!(settings(&[top.join("some")], &found).len(), 3);
        // Moved away, with a link in its place.
        std::fs::rename(top.join("one"), top.join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", top.join("one")).unwrap();
        assert_eq!(settings(place, &found).len(), 6);
    }

    #[test]
    fn a_work_tree_commits_into_the_repository_that_names_it() {
        let (_place, top) = top();
        let (tree, git) = (top.join("tree"), top.join("main/.git"));
        let record = git.join("worktrees/tree");
        repository(&git);
        write(&tree.join(".git"), &format!("gitdir: {}\n", record.display()));
        write(&record.join("commondir"), "../..\n");
        let back = |text: &str| write(&record.join("gitdir"), text);
        back(&format!("{}\n", tree.join(".git").display()));
        let write_one = std::slice::from_ref(&tree);
        let expected = [
            git.join("objects"),
            git.join("refs"),
            git.join("logs"),
            record.clone(),
        ];
        assert_eq!(committed(write_one), expected);
        let names = ["commondir", "gitdir", "config.worktree"];
        let expected = [
            vec![tree.join(".git")],
            names.map(|name| record.join(name)).to_vec(),
        ]
        .concat();
        assert_eq!(settings(write_one, &[]), expected);
        std::fs::remove_dir(git.join("logs")).unwrap();
        assert!(!committed(write_one).contains(&git.join("logs")));
        // Where commands may have made it, it gives nothing.
        assert_eq!(
            committed(&[tree.clone(), top.join("main")]),
            [""; 0].map(PathBuf::from)
        );
        // Another work tree of this repository.
        std::fs::create_dir_all(top.join("other")).unwrap();
        write(&top.join("other/.git"), "");
        back(&format!("{}\n", top.join("other/.git").display()));
        assert_eq!(committed(write_one), [""; 0].map(PathBuf::from));
        // A record somewhere that names the work tree, with a repository that does not have it.
        back(&format!("{}\n", tree.join(".git").display()));
        write(&record.join("commondir"), "../../..\n");
        assert_eq!(committed(write_one), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn what_a_link_leads_to_is_neither_covered_nor_changed() {
        let (_place, top) = top();
        let (work, git, other) = (top.join("work"), top.join("work/.git"), top.join("other"));
        repository(&git);
        write(&git.join("attributes"), "");
        write(&other.join("m/HEAD"), "");
        let mode = Permissions::from_mode(0o500);
        std::fs::set_permissions(&other, mode).unwrap();
        for (target, name) in [
            (".", "info"),
            ("../../other", "modules"),
            ("../../other", "worktrees"),
        ] {
            std::os::unix::fs::symlink(target, git.join(name)).unwrap();
        }
        let found = settings(std::slice::from_ref(&work), &[]);
        assert_eq!(found, MADE.map(|name| git.join(name)));
        let mode = other.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500);
        for name in MADE
            .into_iter()
            .chain(["m/config", "m/config.worktree", "m/hooks"])
        {
            assert!(!other.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_repository_that_a_file_in_the_workspace_names_is_covered_in_it_only() {
        let (_place, top) = top();
        let (work, bare) = (top.join("work"), top.join("work/.bare"));
        repository(&bare);
        write(&bare.join("worktrees/main/commondir"), "../..\n");
        write(&bare.join("worktrees/main/HEAD"), "");
        write(&work.join("main/.git"), "gitdir: ../.bare/worktrees/main\n");
        let covers = |folders: &[PathBuf]| {
            let found = settings(std::slice::from_ref(&work), folders);
            ["config", "hooks", "worktrees/main/commondir"].map(|name| found.contains(&bare.join(name)))
        };
        assert_eq!(covers(&[]), [false; 3]);
        assert_eq!(covers(&repositories_in(&work)), [true; 3]);
        write(&work.join(".git"), "gitdir: ./.bare\n");
        assert_eq!(covers(&[]), [true; 3]);
        std::fs::rename(&bare, top.join("bare")).unwrap();
        write(&work.join(".git"), "gitdir: ../bare\n");
        assert_eq!(settings(std::slice::from_ref(&work), &[]), [work.join(".git")]);
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_taken_for_missing() {
        let (_place, top) = top();
        repository(&top.join(".git"));
        let top = top.clone();
        write(&top.join("sub/.git"), "gitdir: ../.git\n");
        assert_eq!(settings(std::slice::from_ref(&top), &[top.join("sub")]).len(), 7);
        let mode = |path: &str, mode| {
            std::fs::set_permissions(top.join(path), Permissions::from_mode(mode)).unwrap();
        };
        mode("", 0o755);
        for (path, closed) in [("", 0o700), (".git", 0o000), ("sub", 0o000), ("sub/.git", 0o000)] {
            if !geteuid().is_root() && path != "sub/.git" {
                // The look opens what is the user's.
                continue;
            }
            let before = top.join(path).metadata().unwrap().permissions().mode();
            for (is_closed, new) in [(false, before), (true, closed)] {
                mode(path, new);
                let write = [top.clone()];
                let look = move || super::settings(&write, &[write[0].join("sub")], &[]);
                let found = crate::plan::tests::unprivileged(look);
                assert_eq!(
                    matches!(found, Err(SandboxError::Closed(_))),
                    is_closed,
                    "{path}: {found:?}"
                );
            }
            mode(path, before);
        }
    }
}
