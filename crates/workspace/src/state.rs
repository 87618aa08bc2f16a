//! The user's state directory: what belongs to the user and not to the folder that is served.
//!
//! Private (0700). Each workspace has a folder in it, named after the workspace's canonical path. No command can reach
//! the directory, and no repository can bring it along.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use nix::fcntl::OFlag;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::WorkspaceError;
use crate::error::Context as _;

/// The file in a workspace's folder that has its path.
const PATH: &str = "path";
/// Longest path that is read, in bytes.
const MAX_PATH: u64 = 64 << 10;
/// The file that has the id of the directory, or of a workspace in its folder.
pub(crate) const ID: &str = "id";
/// Longest id that is read, in bytes.
const MAX_ID: u64 = 64;

/// The state directory of one user, for all of their workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDirectory(PathBuf);

impl StateDirectory {
    /// Returns the state directory at an absolute path. Creates nothing.
    pub fn at(path: &Path) -> Self {
        Self(real(path))
    }

    /// Returns the directory itself, without links where it is there.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of the workspace whose canonical path is `root`: the workspace's name, readable, and a digest of
    /// its path.
    pub fn of_workspace(&self, root: &Path) -> PathBuf {
        let name = root.file_name().unwrap_or(OsStr::new("root")).to_string_lossy();
        let mut folder: String = name
            .chars()
            .map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' })
            .take(40)
            .collect();
        let _ = write!(folder, "-{}", digest(root));
        self.folders().join(folder)
    }

    /// Returns the id of the directory, and gives it a random one the first time. A database that several machines use
    /// distinguishes their servers by it.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn id(&self) -> Result<String, WorkspaceError> {
        private_directory(&self.0)?;
        random_id(&self.0.join(ID))
    }

    /// Returns the directory that has one folder per workspace.
    pub fn folders(&self) -> PathBuf {
        self.0.join("workspaces")
    }

    /// Makes the folder of a workspace, for its user only, and returns it.
    ///
    /// # Errors
    /// It cannot be made, is another user's, or lies where commands of the workspace could change it.
    pub fn make_folder(&self, root: &Path) -> Result<PathBuf, WorkspaceError> {
        self.refuse_within(root)?;
        private_directory(&self.0)?;
        // Links in it are resolved only now that it is there.
        let made = Self(real(&self.0));
        made.refuse_within(root)?;
        private_directory(&made.folders())?;
        let folder = made.of_workspace(root);
        private_directory(&folder)?;
        let (file, path) = (folder.join(PATH), root.as_os_str().as_bytes());
        if bobbin_files::read_bytes(&file, MAX_PATH).ok().as_deref() != Some(path) {
            write_small(&file, path)?;
        }
        Ok(folder)
    }

    /// Returns the paths of the workspaces that have state, with their folders.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn workspaces(&self) -> Result<Vec<(PathBuf, PathBuf)>, WorkspaceError> {
        let folders = self.folders();
        let entries = match fs::read_dir(&folders) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.context(|| format!("{} cannot be listed", folders.display()))?,
        };
        let folders = entries.flatten().map(|entry| entry.path());
        let workspaces = folders.filter_map(|folder| {
            let path = bobbin_files::read_bytes(&folder.join(PATH), MAX_PATH).ok()?;
            let root = PathBuf::from(OsString::from_vec(path));
            (self.of_workspace(&root) == folder).then_some((root, folder))
        });
        Ok(workspaces.collect())
    }

    /// Refuses a workspace that contains the state directory, or lies in it.
    ///
    /// # Errors
    /// It does.
    pub fn refuse_within(&self, root: &Path) -> Result<(), WorkspaceError> {
        let (state, root) = (&self.0, root);
        if state.starts_with(root) {
            return Err(WorkspaceError::Refused(format!(
                "the state directory {} lies in the workspace {}, where commands could change it; serve a folder in it, or \
                 name another state directory with --state DIR or BOBBIN_STATE",
                state.display(),
                root.display()
            )));
        }
        if root.starts_with(state) {
            return Err(WorkspaceError::Refused(format!(
                "{} lies in the state directory, which no command may read; it cannot be a workspace",
                root.display()
            )));
        }
        Ok(())
    }
}

/// Returns the first bytes of a path's SHA-256, as text.
pub(crate) fn digest(path: &Path) -> String {
    hex::encode(&Sha256::digest(path.as_os_str().as_bytes())[..8])
}

/// Returns the id that the folder of a workspace has, if it has one.
pub(crate) fn id_in(folder: &Path) -> Option<String> {
    let id = bobbin_files::read_text(&folder.join(ID), MAX_ID).ok()?;
    Uuid::parse_str(&id).is_ok().then_some(id)
}

/// Reads the id in a file, and writes a random one the first time.
pub(crate) fn random_id(file: &Path) -> Result<String, WorkspaceError> {
    match bobbin_files::read_bytes(file, MAX_ID) {
        Ok(bytes) => String::from_utf8(bytes)
            .ok()
            .filter(|id| Uuid::parse_str(id).is_ok())
            .ok_or_else(|| WorkspaceError::Refused(format!("{} has no id in it", file.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let id = Uuid::new_v4().to_string();
            write_small(file, id.as_bytes())?;
            Ok(id)
        }
        Err(error) => Err(error).context(|| format!("{} cannot be read", file.display())),
    }
}

/// Returns which directory lies at a path, by inode and time of birth; `None` where there is none. What a user has said
/// about a folder is about this directory: it does not count for another one in its place.
pub fn directory_id(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    let born = found
        .created()
        .ok()
        .and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    Some(format!("{}-{}", found.ino(), born.unwrap_or_default().as_nanos()))
}

/// Resolves the links of the part of an absolute path that exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(resolved), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() {
                resolved
            } else {
                resolved.join(rest)
            };
        }
    }
    path.to_owned()
}

/// Makes a directory that only this user can enter, or makes it so.
///
/// # Errors
/// It cannot be made, is no directory or another user's.
pub fn private_directory(path: &Path) -> Result<(), WorkspaceError> {
    let cannot = || format!("{} cannot be made", path.display());
    if let Some(parent) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .context(cannot)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error).context(cannot),
        Ok(()) | Err(_) => {}
    }
    let directory = File::options()
        .read(true)
        .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits())
        .open(path)
        .context(|| format!("{} is no directory of yours", path.display()))?;
    let found = directory.metadata().context(cannot)?;
    if found.uid() != nix::unistd::Uid::effective().as_raw() {
        return Err(WorkspaceError::Refused(format!(
            "{} belongs to another user; remove it, or name a directory of your own (--state, TMPDIR)",
            path.display()
        )));
    }
    if found.mode() & 0o777 != 0o700 {
        directory
            .set_permissions(fs::Permissions::from_mode(0o700))
            .context(cannot)?;
    }
    Ok(())
}

/// Opens a regular file for this user only, without following a link or waiting for anything.
///
/// # Errors
/// It cannot be opened, or is something else.
pub fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options
        .mode(0o600)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is no regular file"))
    }
}

/// Writes a small file of the state directory: a reader sees the old one or the new one.
///
/// # Errors
/// It cannot be written.
pub fn write_small(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let write = || {
        // Several processes may write it at the same time. The name says what it belongs to, as the sandbox expects.
        let mut prefix = path.file_name().unwrap_or_default().to_owned();
        prefix.push(".");
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut next = tempfile::Builder::new().prefix(&prefix).tempfile_in(directory)?;
        next.write_all(bytes)?;
        next.as_file().sync_all()?;
        next.persist(path)?;
        Ok::<_, io::Error>(())
    };
    write().context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_a_folder_of_its_own_that_names_it() {
        let state = StateDirectory::at(Path::new("/state"));
        let one = state.of_workspace(Path::new("/srv/tea pots"));
        let name = one.strip_prefix("/state/workspaces").unwrap().to_str().unwrap();
        assert!(name.starts_with("tea-pots-") && name.len() == 25, "{name}");
        assert_ne!(one, state.of_workspace(Path::new("/home/tea pots")));
    }

    #[test]
    fn a_state_directory_gets_its_id_before_anything_else_is_in_it() {
        let place = tempfile::tempdir().unwrap();
        let state = StateDirectory::at(&place.path().join("new/state"));
        let id = state.id().unwrap();
        assert_eq!(state.id().unwrap(), id);
    }

    #[test]
    fn a_state_directory_within_the_workspace_is_refused_also_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let work = top.join("work");
        fs::create_dir_all(work.join("inner")).unwrap();
        std::os::unix::fs::symlink(work.join("inner"), top.join("way")).unwrap();
        for given in ["work", "work/inner", "work/new/deep", "way", "way/new"] {
            let state = StateDirectory::at(&top.join(given));
            let error = state.make_folder(&work).unwrap_err().to_string();
            assert!(error.contains("--state"), "{given}: {error}");
        }
        let state = StateDirectory::at(&top.join("state"));
        assert!(state.make_folder(&top.join("state/x")).is_err());
        let folder = state.make_folder(&work).unwrap();
        for path in [state.path(), &state.folders(), &folder] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn small_files_are_private_and_replace_links() {
        let place = tempfile::tempdir().unwrap();
        let (file, other) = (place.path().join("x.json"), place.path().join("other"));
        fs::write(&other, "mine").unwrap();
        for link in ["x.json", "x.json.new"] {
            std::os::unix::fs::symlink(&other, place.path().join(link)).unwrap();
        }
        write_small(&file, b"{}").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
        assert_eq!(fs::symlink_metadata(&file).unwrap().mode() & 0o777, 0o600);
    }
}
