//! The directory for temporary files of commands: short, outside of the workspace and of the state, this user's alone.
//!
//! `bobbin-UID/DIGEST` in the system's directory for temporary files. Emptied when a workspace is taken, gone with it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::unistd::Uid;

use crate::state::{digest, private_directory};

/// Returns the directory for the workspace whose state is in `folder`.
pub(crate) fn of_folder(folder: &Path) -> PathBuf {
    // Without links: commands are granted places by their real names.
    let system = std::env::temp_dir();
    let system = system.canonicalize().unwrap_or(system);
    let user = format!("bobbin-{}", Uid::effective());
    system.join(user).join(&digest(folder)[..8])
}

/// Makes the directory, empty.
///
/// # Errors
/// It cannot be made, or its place belongs to another user.
pub(crate) fn make(path: &Path) -> anyhow::Result<()> {
    if let Some(above) = path.parent() {
        // Before anything in it is touched: who owns it could lead us elsewhere.
        private_directory(above)?;
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} cannot be emptied", path.display()));
        }
        Ok(()) | Err(_) => {}
    }
    private_directory(path)
}
