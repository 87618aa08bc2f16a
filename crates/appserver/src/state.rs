//! The user's state directory: what belongs to the user and not to the folder that is served.
//!
//! `$XDG_STATE_HOME/bobbin`, or `~/.local/state/bobbin`, or what `--state` names; 0700. It has one folder per workspace,
//! named after the workspace's canonical path. No command can reach it, and no repository can bring it along.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest as _, Sha256};

use crate::cli;

/// The state directory of one user, for all of their workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StateDirectory(PathBuf);

impl StateDirectory {
    /// Returns the directory that `given` (`--state`) names, else the user's usual one. Creates nothing.
    ///
    /// # Errors
    /// There is no home directory to have one in, and none was named.
    #[expect(
        clippy::disallowed_methods,
        reason = "the binary is where the environment is read"
    )]
    pub(crate) fn find(given: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(given) = given {
            let absolute = std::path::absolute(given)
                .with_context(|| format!("the state directory {} cannot be found", given.display()))?;
            return Ok(Self(absolute));
        }
        let base = std::env::var_os("XDG_STATE_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute());
        let base = base.or_else(|| Some(cli::home()?.join(".local/state")));
        let base =
            base.context("there is no HOME to keep conversations in; name a directory with --state")?;
        Ok(Self(base.join("bobbin")))
    }

    /// Returns the directory itself.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of the workspace whose canonical path is `root`: the workspace's name, readable, and a digest of
    /// its path.
    pub(crate) fn of_workspace(&self, root: &Path) -> PathBuf {
        let name = root.file_name().unwrap_or(OsStr::new("root")).to_string_lossy();
        let mut folder: String = name
            .chars()
            .map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' })
            .take(40)
            .collect();
        folder.push('-');
        for byte in &Sha256::digest(root.as_os_str().as_bytes())[..8] {
            // Writing to a string cannot fail.
            let _ = write!(folder, "{byte:02x}");
        }
        self.0.join("workspaces").join(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_a_folder_of_its_own_that_names_it() {
        let state = StateDirectory::find(Some(Path::new("/state"))).unwrap();
        let one = state.of_workspace(Path::new("/srv/tea pots"));
        let name = one.strip_prefix("/state/workspaces").unwrap().to_str().unwrap();
        assert!(name.starts_with("tea-pots-") && name.len() == 25, "{name}");
        assert_ne!(one, state.of_workspace(Path::new("/home/tea pots")));
    }
}
