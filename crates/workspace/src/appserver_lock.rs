//! `.craft/appserver.lock`: the one file that is written into a served folder unasked, for clients that look for it there.
//!
//! It says where the server listens and carries no token. While the server runs, the file has its operating system
//! lock. The server itself never reads one: the folder may have brought it along. It is written through open directories,
//! without following a link, and git ignores it where that needs no second file in the folder.
//!
//! The file stays the same one while the server runs, and changes in place: the sandbox mounts it for each command, and
//! starts no command of which a mounted file was replaced meanwhile.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::fcntl::{OFlag, openat, renameat};
use nix::sys::stat::{Mode, fstatat, mkdirat};
use nix::unistd::{Uid, UnlinkatFlags, unlinkat};
use serde_json::json;

const NAME: &str = "appserver.lock";
/// Under this name the file is written before it takes its own.
const NEXT: &str = "appserver.lock.new";
/// The pattern that git ignores.
const IGNORED: &str = "**/.craft/appserver.lock";
/// Most bytes of the file that a change overwrites; it has some hundred.
const MAX_BYTES: usize = 64 << 10;
/// Largest file of git's that a line is added to.
const MAX_EXCLUDE_BYTES: u64 = 256 << 10;

/// The written file. Removed when dropped, if it is still this one.
#[derive(Debug)]
pub struct AppserverLock {
    craft: OwnedFd,
    file: File,
}

/// Writes the file.
///
/// # Errors
/// `.craft` is a link or cannot be written.
pub(crate) fn write(
    root: &Path,
    address: Option<&str>,
    threads: Option<&str>,
    started_at: &str,
) -> io::Result<AppserverLock> {
    ignore_in_git(root);
    let root_directory = directory(root)?;
    match mkdirat(&root_directory, ".craft", Mode::from_bits_truncate(0o777)) {
        Ok(()) | Err(nix::errno::Errno::EEXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let craft = open_within(&root_directory, ".craft", OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    // What an earlier process left behind, or the folder brought along.
    let _ = unlinkat(&craft, NEXT, UnlinkatFlags::NoRemoveDir);
    let mut file = open_within(&craft, NEXT, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL)?;
    file.try_lock()?;
    file.write_all(&content(root, address, threads, started_at)?)?;
    // Takes the place of a link as well, and of nothing that a link leads to.
    renameat(&craft, NEXT, &craft, NAME)?;
    Ok(AppserverLock {
        craft: craft.into(),
        file,
    })
}

impl AppserverLock {
    /// Whether the file is still the one in its place.
    pub(crate) fn is_there(&self) -> bool {
        let ours = self.file.metadata().map(|file| file.ino());
        let there = fstatat(&self.craft, NAME, nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW);
        matches!((ours, there), (Ok(ours), Ok(there)) if ours == there.st_ino)
    }

    /// Writes another content into the file. Its length never falls, so that one write is enough: a reader sees no half of it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn change(
        &self,
        root: &Path,
        address: Option<&str>,
        threads: Option<&str>,
        started_at: &str,
    ) -> io::Result<()> {
        let mut text = content(root, address, threads, started_at)?;
        let before = usize::try_from(self.file.metadata()?.len()).unwrap_or(0);
        text.resize(text.len().max(before.min(MAX_BYTES)), b' ');
        self.file.write_all_at(&text, 0)
    }
}

impl Drop for AppserverLock {
    fn drop(&mut self) {
        if self.is_there() {
            // Only tidiness: no process has its lock any more.
            let _ = unlinkat(&self.craft, NAME, UnlinkatFlags::NoRemoveDir);
        }
    }
}

fn content(
    root: &Path,
    address: Option<&str>,
    threads: Option<&str>,
    started_at: &str,
) -> io::Result<Vec<u8>> {
    let endpoints = match address {
        Some(address) => json!({ "appServerWebSocket": address }),
        None => json!({}),
    };
    let content = json!({
        "pid": std::process::id(),
        "workspacePath": root.to_string_lossy(),
        "managedByHub": threads.is_some(),
        "hubApiBaseUrl": threads,
        "startedAt": started_at,
        "version": env!("CARGO_PKG_VERSION"),
        "endpoints": endpoints,
    });
    Ok(serde_json::to_vec_pretty(&content)?)
}

/// Adds the file to what the repository around `root` ignores for this user. Where that is not possible, `git status` shows
/// the file, and nothing else is wrong.
fn ignore_in_git(root: &Path) {
    for folder in root.ancestors() {
        let Ok(git) = directory(&folder.join(".git")) else {
            continue;
        };
        if let Err(error) = add_ignored(&git) {
            tracing::debug!(%error, "git does not ignore {NAME}");
        }
        return;
    }
}

fn add_ignored(git: &File) -> io::Result<()> {
    let info = open_within(git, "info", OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
    let flags = OFlag::O_RDWR | OFlag::O_APPEND | OFlag::O_CREAT;
    let mut exclude = open_within(&info, "exclude", flags)?;
    let found = exclude.metadata()?;
    let is_users = found.uid() == Uid::effective().as_raw() && found.nlink() == 1;
    if !found.is_file() || !is_users || found.len() > MAX_EXCLUDE_BYTES {
        return Err(io::Error::other("it is no ordinary file of this user's"));
    }
    let mut text = Vec::new();
    exclude.seek(SeekFrom::Start(0))?;
    (&exclude).take(MAX_EXCLUDE_BYTES).read_to_end(&mut text)?;
    let is_there = text
        .split(|byte| *byte == b'\n')
        .any(|line| line == IGNORED.as_bytes());
    if is_there {
        return Ok(());
    }
    let line = if text.last().is_none_or(|last| *last == b'\n') {
        format!("{IGNORED}\n")
    } else {
        format!("\n{IGNORED}\n")
    };
    exclude.write_all(line.as_bytes())
}

fn directory(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    File::options().read(true).custom_flags(flags.bits()).open(path)
}

/// Opens a direct child of a directory: no link, and without waiting.
fn open_within(directory: &File, name: &str, flags: OFlag) -> io::Result<File> {
    let flags = flags | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let opened = openat(directory, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
    Ok(File::from(opened))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{State, StateDirectory, Workspace};

    #[test]
    fn the_file_is_private_locked_without_a_token_and_gone_afterwards() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let address = "ws://127.0.0.1:1/ws";
        let lock = write(
            &root,
            Some(address),
            Some("http://127.0.0.1:2"),
            "2026-11-22T17:00:00Z",
        )
        .unwrap();
        let path = root.join(".craft").join(NAME);
        let found = fs::symlink_metadata(&path).unwrap();
        assert_eq!((found.is_file(), found.mode() & 0o777), (true, 0o600));
        let content: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(content["endpoints"]["appServerWebSocket"], address);
        assert_eq!(content["pid"], std::process::id());
        assert_eq!(content["managedByHub"], true);
        assert!(File::open(&path).unwrap().try_lock_shared().is_err());
        drop(lock);
        assert_eq!(fs::read_dir(root.join(".craft")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn another_address_is_written_into_the_same_file() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        fs::create_dir(&root).unwrap();
        let state = StateDirectory::at(&place.path().join("state"));
        let held = Workspace::find(Some(&root), state).unwrap().hold().await.unwrap();
        let path = held.workspace().craft().join(NAME);
        let mut files = Vec::new();
        for address in [
            None,
            Some("ws://127.0.0.1:65000/ws"),
            None,
            Some("ws://127.0.0.1:1/ws"),
        ] {
            let state = State {
                address: address.map(str::to_owned),
                ..State::of_this_process()
            };
            held.announce(&state, None).unwrap();
            let content: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert_eq!(content["endpoints"]["appServerWebSocket"].as_str(), address);
            files.push(fs::metadata(&path).unwrap().ino());
        }
        files.dedup();
        assert_eq!(files.len(), 1, "the file was replaced");
        fs::rename(&path, root.join("away")).unwrap();
        held.announce(&State::of_this_process(), None).unwrap();
        assert!(path.exists());
    }

    #[test]
    fn no_link_of_the_folder_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (root, mine) = (top.join("work"), top.join("mine"));
        for directory in [".craft", ".git/info"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::write(&mine, "mine").unwrap();
        for link in [
            ".craft/appserver.lock",
            ".craft/appserver.lock.new",
            ".git/info/exclude",
        ] {
            symlink(&mine, root.join(link)).unwrap();
        }
        drop(write(&root, None, None, "now").unwrap());
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        fs::remove_dir_all(root.join(".craft")).unwrap();
        fs::create_dir(top.join("elsewhere")).unwrap();
        symlink(top.join("elsewhere"), root.join(".craft")).unwrap();
        assert!(write(&root, None, None, "now").is_err());
        assert_eq!(fs::read_dir(top.join("elsewhere")).unwrap().count(), 0);
    }

    #[test]
    fn git_ignores_it_once() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let exclude = root.join(".git/info/exclude");
        fs::create_dir_all(root.join(".git/info")).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(&exclude, "*.o").unwrap();
        for _ in 0..2 {
            drop(write(&root.join("sub"), None, None, "now").unwrap());
        }
        assert_eq!(fs::read_to_string(&exclude).unwrap(), format!("*.o\n{IGNORED}\n"));
    }
}
