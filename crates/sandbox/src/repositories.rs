//! What a command does not write of the git repositories in its writable places: settings that name programs.
//!
//! A user's git runs programs that a repository's configuration and hooks name, and shells and editors run git by
//! themselves. So a command that wrote these would run its own code outside of the sandbox. A commit needs the rest:
//! objects, refs, logs, the index.
//!
//! Covered: the repository at the top of each writable place, those in folders that the plan names, their submodules
//! (`.git/modules`) and the records of their work trees. Not covered: a repository that a command makes, which it must be
//! able to remove; `commondir` in a `.git` that has none, since a file that is not there cannot be mounted over. Reads
//! bounded files; makes the empty `hooks` and `config` of a repository that lacks them, so that commands cannot.

use std::collections::VecDeque;
use std::fs::{OpenOptions, Permissions};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, openat};
use nix::libc;
use nix::sys::stat::{Mode, mkdirat};

/// Most bytes that are read of one of git's files.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// Most entries of `modules` and of `worktrees` that are looked at.
const MAX_ENTRIES: usize = 256;
/// Most settings of all repositories, in equal shares: each is a mount, and bubblewrap takes some thousands. Those of a
/// repository itself come before those of its submodules, and fit any share.
const MAX_SETTINGS: usize = 512;
/// The least share.
const MIN_SHARE: usize = 8;
/// Entries of a git directory that name programs, or lead git to others that do.
const SETTINGS: [&str; 5] = [
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "commondir",
];
/// Files of a work tree's record that lead git elsewhere, or name programs.
const RECORD: [&str; 3] = ["commondir", "gitdir", "config.worktree"];
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
    let git = directory.join(".git");
    if is_repository(&git) || (git.symlink_metadata().is_ok() && !is_directory(&git)) {
        return Vec::new();
    }
    let (mut found, mut looks) = (Vec::new(), 0);
    let mut open = VecDeque::from([(directory.to_owned(), 0)]);
    while let Some((folder, depth)) = open.pop_front() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || name.as_encoded_bytes().starts_with(b".") || name == MODULES {
                continue;
            }
            looks += 1;
            if looks > MAX_FOLDERS || found.len() == MAX_REPOSITORIES {
                return found;
            }
            if entry.path().join(".git").symlink_metadata().is_ok() {
                found.push(entry.path());
            } else if depth == 0 {
                open.push_back((entry.path(), 1));
            }
        }
    }
    found
}

/// Returns the settings of repositories in writable places and in folders of these, all given by real name: commands only
/// read them.
pub(crate) fn settings(write: &[PathBuf], folders: &[PathBuf]) -> Vec<PathBuf> {
    // A folder that has been replaced by a link is not the user's repository any more.
    let is_there = |folder: &&PathBuf| {
        let Some(place) = write.iter().find(|place| folder.starts_with(place)) else {
            return false;
        };
        open_way(place, folder);
        folder.canonicalize().is_ok_and(|real| real == **folder)
    };
    let places = || write.iter().chain(folders.iter().filter(is_there));
    let share = (MAX_SETTINGS / places().count().max(1)).max(MIN_SHARE);
    let mut found = Vec::new();
    for place in places() {
        let git = place.join(".git");
        if is_directory(&git) {
            add_repository(&git, share, &mut found);
        } else if is_file(&git) {
            if let Some(record) = record(place) {
                let has_own = record.ancestors().nth(2).is_some_and(has_own_settings);
                add_record(&record, has_own, &mut found);
            }
            found.push(git);
        }
    }
    found
}

/// Returns what a commit writes outside of some writable places, given by real name, because one of them is a work tree
/// of a repository elsewhere. The repository has to name the work tree, too: commands and folders may write `.git`.
pub(crate) fn committed(write: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in write.iter().filter(|place| is_file(&place.join(".git"))) {
        let Some(record) = record(place) else { continue };
        // What a command may write could be a record of its own making.
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
    let text = text(&git)?;
    let named = text.lines().next()?.strip_prefix("gitdir:")?.trim();
    let record = place.join(named).canonicalize().ok()?;
    let back = self::text(&record.join("gitdir"))?;
    let back = record.join(back.trim()).canonicalize().ok()?;
    let common = self::text(&record.join("commondir"))?;
    let common = record.join(common.trim()).canonicalize().ok()?;
    (back == git && common.join("worktrees") == record.parent()?).then_some(record)
}

/// Adds the settings of a repository, of its submodules and of its work trees. Where these are more than a share, all
/// that belongs to submodules and work trees is added as a whole: names are cheap to make, and none may push another out.
fn add_repository(git: &Path, share: usize, found: &mut Vec<PathBuf>) {
    let start = found.len();
    if !add_each(git, share, found) {
        found.truncate(start);
        add(git, &SETTINGS, found);
        add(git, &["modules", "worktrees"], found);
    }
}

/// Adds each of the settings. Returns whether they are no more than a share.
fn add_each(git: &Path, share: usize, found: &mut Vec<PathBuf>) -> bool {
    let most = found.len() + share;
    let mut looks = 0;
    let mut open = VecDeque::from([git.to_owned()]);
    while let Some(directory) = open.pop_front() {
        open_up(&directory);
        let entries = |name: &str| {
            let inner = directory.join(name);
            open_up(&inner);
            std::fs::read_dir(inner).into_iter().flatten().flatten()
        };
        // Modules may have names with slashes: between them and `modules` are directories that are no repositories.
        let inner = if is_repository(&directory) {
            let has_own = complete(&directory);
            add(&directory, &SETTINGS, found);
            for record in entries("worktrees") {
                add_record(&record.path(), has_own, found);
                if found.len() > most {
                    return false;
                }
            }
            "modules"
        } else {
            ""
        };
        if inner.is_empty() && directory == git {
            return true;
        }
        for entry in entries(inner) {
            looks += 1;
            if looks > MAX_ENTRIES || found.len() > most {
                return false;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push_back(entry.path());
            }
        }
    }
    true
}

/// Adds the files of a work tree's record. Where the repository reads a configuration for each work tree, it is made.
fn add_record(record: &Path, has_own: bool, found: &mut Vec<PathBuf>) {
    open_up(record);
    if has_own && let Ok(directory) = directory(record) {
        make_file(&directory, record, "config.worktree");
    }
    add(record, &RECORD, found);
}

fn add(directory: &Path, names: &[&str], found: &mut Vec<PathBuf>) {
    let places = names.iter().map(|name| directory.join(name));
    // What a link leads to is not git's, and a command could replace the link itself.
    found.extend(places.filter(|path| is_directory(path) || is_file(path)));
}

/// Makes what a repository lacks and git would read. Where that fails, nothing of it can be made by a command either.
/// Returns whether git reads a configuration for each work tree.
fn complete(git: &Path) -> bool {
    let has_own = has_own_settings(git);
    let Ok(directory) = directory(git) else {
        return has_own;
    };
    make_file(&directory, git, "config");
    if has_own {
        make_file(&directory, git, "config.worktree");
    }
    if git.join("hooks").symlink_metadata().is_err() {
        let _ = mkdirat(&directory, "hooks", Mode::from_bits_truncate(0o777));
    }
    has_own
}

fn make_file(directory: &OwnedFd, path: &Path, name: &str) {
    if path.join(name).symlink_metadata().is_err() {
        let new = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        drop(openat(directory, name, new, Mode::from_bits_truncate(0o666)));
    }
}

/// Returns whether the configuration of a repository may say that each work tree has one of its own.
fn has_own_settings(git: &Path) -> bool {
    text(&git.join("config")).is_some_and(|config| {
        let is_cut = u64::try_from(config.len()).is_ok_and(|length| length >= MAX_FILE_BYTES);
        is_cut || config.to_ascii_lowercase().contains("worktreeconfig")
    })
}

/// Returns whether a directory has what git keeps in a repository. One of these is enough: a command can move the others
/// away and back.
fn is_repository(git: &Path) -> bool {
    let is_there = |name: &&str| git.join(name).symlink_metadata().is_ok();
    is_directory(git) && ["HEAD", "config", "objects"].iter().any(is_there)
}

fn directory(path: &Path) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    nix::fcntl::open(path, flags, Mode::empty())
}

/// Lets the owner of a directory list and enter it: a command may have taken that away, and could give it back.
fn open_up(path: &Path) {
    let Ok(directory) = directory(path) else { return };
    let at = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let Ok(about) = std::fs::metadata(&at) else { return };
    let mode = about.permissions().mode();
    if mode & 0o700 != 0o700 {
        // Where it belongs to another user, this fails, and a command fails too.
        drop(std::fs::set_permissions(
            &at,
            Permissions::from_mode(mode | 0o700),
        ));
    }
}

/// Opens the directories between a place and a folder in it.
fn open_way(place: &Path, folder: &Path) {
    let mut way = place.to_owned();
    for part in folder.strip_prefix(place).into_iter().flatten() {
        way.push(part);
        if !is_directory(&way) {
            return;
        }
        open_up(&way);
    }
}

fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Returns the text of an ordinary file, up to a bound.
fn text(path: &Path) -> Option<String> {
    let file = OpenOptions::new()
        .read(true)
        // A pipe in its place is not waited for.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    // Names in other encodings are no reason to know nothing of a configuration.
    Some(String::from_utf8_lossy(&bytes).into_owned())
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
            "hooks",
            "info/attributes",
            "worktrees/x/commondir",
            "worktrees/x/gitdir",
            "modules/libs/a/config",
        ];
        assert_eq!(found, expected.map(|name| git.join(name)));
        // A second configuration counts only where the first says so.
        write(&git.join("config"), "[extensions]\n\tworktreeConfig = true\n");
        let found = settings(std::slice::from_ref(&top), &[]);
        assert!(found.contains(&git.join("config.worktree")), "{found:?}");
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
        assert_eq!(found, ["one", "some/two"].map(|name| top.join(name)));
        let write = std::slice::from_ref(&top);
        let covered = settings(write, &found);
        let expected = [
            "one/.git/config",
            "one/.git/hooks",
            "some/two/.git/config",
            "some/two/.git/hooks",
        ];
        assert_eq!(covered, expected.map(|name| top.join(name)));
        std::fs::create_dir(top.join(".git")).unwrap();
        assert_eq!(
            repositories_in(&top).len(),
            2,
            "an empty directory is no repository"
        );
        repository(&top.join(".git"));
        assert_eq!(repositories_in(&top), [""; 0].map(PathBuf::from));
        std::fs::remove_dir_all(top.join(".git")).unwrap();
        // Only those in writable places count.
        assert_eq!(settings(&[top.join("some")], &found).len(), 2);
        // Moved away, with a link in its place.
        std::fs::rename(top.join("one"), top.join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", top.join("one")).unwrap();
        assert_eq!(settings(write, &found).len(), 2);
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
        let expected = [record.join("commondir"), record.join("gitdir"), tree.join(".git")];
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
}
