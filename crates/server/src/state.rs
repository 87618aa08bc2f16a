//! Which state directory this process uses, and the workspaces with it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context;
use bobbin_workspace::{StateDirectory, Workspace};

/// What `--state` or `BOBBIN_STATE` names. One process has one state directory, whichever part of it asks.
static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Makes `directory` the state directory of this process. Only the first call counts.
pub fn choose(directory: PathBuf) {
    drop(CHOSEN.set(directory));
}

/// Returns the directory that the command line names (`--state`), else `$XDG_STATE_HOME/bobbin` or
/// `~/.local/state/bobbin`. Creates nothing.
///
/// # Errors
/// There is no home directory to have one in, and none was named.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn directory() -> anyhow::Result<StateDirectory> {
    if let Some(given) = CHOSEN.get() {
        let absolute = std::path::absolute(given)
            .with_context(|| format!("the state directory {} cannot be found", given.display()))?;
        return Ok(StateDirectory::at(&absolute));
    }
    let base = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(home()?.join(".local/state")));
    let base = base.context("there is no HOME to keep conversations in; name a directory with --state")?;
    Ok(StateDirectory::at(&base.join("bobbin")))
}

/// Finds the workspace at a path that a user or a client has named, else the one around the current directory. Creates
/// nothing.
///
/// # Errors
/// There is no such directory, or none to keep its state in.
pub fn workspace(path: Option<&Path>) -> anyhow::Result<Workspace> {
    let state = directory()?;
    Ok(match path {
        Some(path) => Workspace::find(Some(path), state)?,
        None => Workspace::around(home().as_deref(), state)?,
    })
}

/// Returns the folders whose links others may have made: the current directory and a workspace. Those that are the user's home
/// or above it are left out.
pub fn others_folders(workspace: Option<&Path>) -> Vec<PathBuf> {
    let home = home();
    let resolved = |path: PathBuf| path.canonicalize().ok();
    let folders = std::env::current_dir()
        .into_iter()
        .chain(workspace.map(Path::to_owned));
    folders
        .filter_map(resolved)
        .filter(|folder| home.as_ref().is_none_or(|home| !home.starts_with(folder)))
        .collect()
}

/// Returns the user's home, where the configuration of all workspaces is. A relative one counts as none: a folder could be it.
#[expect(
    clippy::disallowed_methods,
    reason = "the binary is where the environment is read"
)]
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        // As workspaces are: one directory has one name.
        .map(|home| home.canonicalize().unwrap_or(home))
}
