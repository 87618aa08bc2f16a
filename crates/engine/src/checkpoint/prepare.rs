//! The directory of the shadow repository, as it should be before git is run in it. Blocking.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::git::{ATTRIBUTES, CONFIG};
use super::open_looks::OpenLooks;

/// Makes the directory what it should be. Blocking.
pub(super) fn prepare(directory: &Path, description: &[u8]) -> std::io::Result<()> {
    for part in ["objects", "refs"] {
        std::fs::create_dir_all(directory.join(part))?;
    }
    // Copies of somebody's files: for nobody else.
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    for (name, content) in [
        ("config", CONFIG.as_bytes()),
        ("HEAD", b"ref: refs/heads/none\n".as_slice()),
        ("description", description),
    ] {
        std::fs::write(directory.join(name), content)?;
    }
    std::fs::create_dir_all(directory.join("info"))?;
    std::fs::write(directory.join("info/attributes"), ATTRIBUTES)?;
    OpenLooks::of(directory).prepare()?;
    // Whoever held these is gone: a workspace has one server.
    remove_locks(directory, 8)?;
    crate::tools::clear(&notes(directory))
}

/// Returns where names of files on their way are noted.
pub(super) fn notes(directory: &Path) -> PathBuf {
    directory.join("on-their-way")
}

fn remove_locks(directory: &Path, deeper: u32) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            std::fs::remove_file(&path)?;
        } else if deeper > 0 && entry.file_type()?.is_dir() && entry.file_name() != "objects" {
            remove_locks(&path, deeper - 1)?;
        }
    }
    Ok(())
}

/// Returns the first two numbers of what git says its version is.
pub(super) fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
