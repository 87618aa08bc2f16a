//! The directory for temporary files of commands: short, outside of the workspace and of the state, this user's alone.
//!
//! `bobbin-UID/DIGEST` in the system's directory for temporary files. Emptied when a workspace is taken, gone with it. Another
//! user can put something of theirs in the place of `bobbin-UID`; then the first part has a random name.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::unistd::Uid;

use crate::WorkspaceError;
use crate::error::Context as _;
use crate::state::{digest, private_directory};

/// Returns the directory for the workspace whose state is in `folder`.
pub(crate) fn of_folder(folder: &Path) -> PathBuf {
    // A random name is the same as long as the process runs.
    static OF_USER: OnceLock<PathBuf> = OnceLock::new();
    let of_user = OF_USER.get_or_init(|| {
        // Without links: commands are granted places by their real names.
        let system = std::env::temp_dir();
        of_user(&system.canonicalize().unwrap_or(system))
    });
    of_user.join(&digest(folder)[..8])
}

/// Returns the directory of this user in the system's.
fn of_user(system: &Path) -> PathBuf {
    let usual = system.join(format!("bobbin-{}", Uid::effective()));
    let is_foreign = fs::symlink_metadata(&usual)
        .is_ok_and(|found| !found.is_dir() || found.uid() != Uid::effective().as_raw());
    let random = || {
        let mut named = tempfile::Builder::new();
        let private = fs::Permissions::from_mode(0o700);
        named.prefix("bobbin-").permissions(private).tempdir_in(system)
    };
    if is_foreign && let Ok(made) = random() {
        return made.keep();
    }
    usual
}

/// Makes the directory, empty.
///
/// # Errors
/// It cannot be made, or its place belongs to another user.
pub(crate) fn make(path: &Path) -> Result<(), WorkspaceError> {
    if let Some(parent) = path.parent() {
        // Before anything in it is touched: who owns it could lead us elsewhere.
        private_directory(parent)?;
    }
    if let Err(error) = remove(path) {
        // The server must start despite the leftovers of a command.
        let aside = path.with_extension(format!("{:08x}", std::process::id()));
        fs::rename(path, &aside).context(|| format!("{} cannot be emptied", path.display()))?;
        tracing::warn!(%error, "{} cannot be removed", aside.display());
    }
    private_directory(path)
}

/// Removes the directory, also where a command took rights from directories in it.
///
/// # Errors
/// Something of it is still there.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    let removed = || match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    };
    removed().or_else(|_| {
        let mut directories = vec![path.to_owned()];
        while let Some(directory) = directories.pop() {
            // Not through a link: only directories get here.
            drop(fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)));
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            let within = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            directories.extend(within.map(|entry| entry.path()));
        }
        removed()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_without_rights_are_removed_too() {
        let system = tempfile::tempdir().unwrap();
        let place = system.path().join("temporary");
        fs::create_dir_all(place.join("cache/module")).unwrap();
        fs::write(place.join("cache/module/file"), "x").unwrap();
        for closed in ["cache/module", "cache"] {
            fs::set_permissions(place.join(closed), fs::Permissions::from_mode(0o500)).unwrap();
        }
        make(&place).unwrap();
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn a_place_that_another_user_has_taken_is_left_for_a_private_one() {
        let system = tempfile::tempdir().unwrap();
        let usual = of_user(system.path());
        assert!(!usual.exists());
        fs::create_dir(&usual).unwrap();
        assert_eq!(of_user(system.path()), usual);
        fs::remove_dir(&usual).unwrap();
        std::os::unix::fs::symlink("/", &usual).unwrap();
        let random = of_user(system.path());
        assert!(random != usual && random.starts_with(system.path()));
        assert_eq!(fs::metadata(&random).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
