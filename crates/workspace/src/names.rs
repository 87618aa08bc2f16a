//! The names of workspaces at the node: a file in the state of each workspace that the node serves.
//!
//! A name is part of an address, so it has few characters, and no two workspaces have the same one. Blocking.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Context as _;
use crate::state::id_in;
use crate::{StateDirectory, Workspace, WorkspaceError, open_private, write_small};

/// The file in a workspace's folder that has its name.
const NAME: &str = "name";
/// The file that is locked while a name is chosen.
const LOCK: &str = "workspaces.lock";
/// Longest name in bytes.
const MAX_NAME: usize = 40;
/// Most workspaces that the node serves.
const MAX_WORKSPACES: usize = 256;

/// A workspace that the node serves.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedWorkspace {
    /// Its name, as in `/w/NAME/`.
    pub name: String,
    /// The folder.
    pub root: PathBuf,
    /// Its id in a database that several machines use, once it is in one.
    pub id: Option<String>,
}

impl StateDirectory {
    /// Returns the workspaces that the node serves, in the order of their names; at most 256.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn named(&self) -> Result<Vec<NamedWorkspace>, WorkspaceError> {
        let workspaces = self.workspaces()?.into_iter();
        let named = workspaces.filter_map(|(root, folder)| {
            let name = read(&folder)?;
            let id = id_in(&folder);
            Some(NamedWorkspace { name, root, id })
        });
        let mut named: Vec<_> = named.collect();
        named.sort();
        // One that was moved here by hand may have the name of another.
        named.dedup_by(|one, other| one.name == other.name);
        named.truncate(MAX_WORKSPACES);
        Ok(named)
    }

    /// Has the node serve a workspace under the wanted name, else under one made of the folder's. A workspace that has a
    /// name gets the wanted one. Returns the name.
    ///
    /// # Errors
    /// The name has other characters or is another workspace's, the folder's path is not UTF-8, there are too many workspaces,
    /// or the state cannot be written.
    pub fn add_name(&self, workspace: &Workspace, wanted: Option<&str>) -> Result<String, WorkspaceError> {
        // Clients get the path as JSON.
        if workspace.root.to_str().is_none() {
            let root = workspace.root.display();
            let text = format!("{root} cannot be served: its path is not UTF-8; rename the folder");
            return Err(WorkspaceError::Refused(text));
        }
        let folder = workspace.make_folder()?;
        let lock = self.path().join(LOCK);
        let failed = || format!("{} cannot be locked", lock.display());
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let lock = open_private(&lock, options).context(failed)?;
        lock.lock().context(failed)?;
        let others = self.named()?.into_iter();
        let others: Vec<_> = others.filter(|other| other.root != workspace.root).collect();
        let owner = |name: &str| others.iter().find(|other| other.name == name);
        let name = match wanted {
            Some(name) if !is_name(name) => {
                return Err(WorkspaceError::Refused(format!(
                    "a name has 1 to {MAX_NAME} characters of a-z, 0-9, '-' and '_', and starts with a letter or a digit"
                )));
            }
            Some(name) => match owner(name) {
                Some(other) => {
                    return Err(WorkspaceError::Refused(format!(
                        "{} has the name {name} already; choose another one with --name",
                        other.root.display()
                    )));
                }
                None => name.to_owned(),
            },
            None => match read(&folder) {
                Some(name) if owner(&name).is_none() => return Ok(name),
                Some(_) | None => free(&workspace.root, |name| owner(name).is_none()),
            },
        };
        if others.len() >= MAX_WORKSPACES {
            return Err(WorkspaceError::Refused(format!(
                "the node serves {MAX_WORKSPACES} workspaces already; `bobbin workspace remove` takes one out"
            )));
        }
        write_small(&folder.join(NAME), name.as_bytes())?;
        Ok(name)
    }

    /// Takes a workspace from those that the node serves. Its conversations stay. Returns the name that it had.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove_name(&self, root: &Path) -> Result<Option<String>, WorkspaceError> {
        let folder = self.of_workspace(root);
        let name = read(&folder);
        match fs::remove_file(folder.join(NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(error).context(|| format!("the name of {} cannot be removed", root.display()))
            }
            Ok(()) | Err(_) => Ok(name),
        }
    }
}

impl Workspace {
    /// Returns the workspace's name at the node, if the node serves it.
    pub fn name(&self) -> Option<String> {
        read(&self.folder())
    }
}

fn read(folder: &Path) -> Option<String> {
    let name = bobbin_files::read_text(&folder.join(NAME), MAX_NAME as u64).ok()?;
    is_name(&name).then_some(name)
}

fn is_name(name: &str) -> bool {
    let is_part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    starts && name.len() <= MAX_NAME && name.bytes().all(is_part)
}

/// Returns a free name that resembles the folder's.
fn free(root: &Path, is_free: impl Fn(&str) -> bool) -> String {
    let folder = root
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let characters = folder.chars();
    let characters = characters.map(|c| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '-'
        }
    });
    let name: String = characters
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(MAX_NAME - 4)
        .collect();
    let name = match name.trim_end_matches('-') {
        "" => "workspace",
        name => name,
    };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    // There are fewer workspaces than numbers of three digits.
    names.find(|name| is_free(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    fn workspace(top: &Path, folder: &str) -> Workspace {
        let root = top.join(folder);
        fs::create_dir_all(&root).unwrap();
        Workspace::find(Some(&root), StateDirectory::at(&top.join("state"))).unwrap()
    }

    #[test]
    fn a_workspace_gets_a_name_of_its_folder_that_no_other_has() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let state = StateDirectory::at(&top.join("state"));
        assert_eq!(state.named().unwrap(), []);
        for (folder, name) in [
            ("a/Tea Pots", "tea-pots"),
            ("b/Tea Pots", "tea-pots-2"),
            ("b/tea pots", "tea-pots-3"),
            (".Кот", "workspace"),
            ("..x..", "x"),
        ] {
            let workspace = workspace(&top, folder);
            assert_eq!(state.add_name(&workspace, None).unwrap(), name, "{folder}");
            assert_eq!(
                state.add_name(&workspace, None).unwrap(),
                name,
                "it keeps its name"
            );
            assert_eq!(workspace.name().as_deref(), Some(name));
        }
        let long = workspace(&top, &"l".repeat(80));
        assert_eq!(state.add_name(&long, None).unwrap(), "l".repeat(36));
        assert_eq!(state.named().unwrap().len(), 6);
        let removed = state.remove_name(&top.join("a/Tea Pots")).unwrap();
        assert_eq!(removed.as_deref(), Some("tea-pots"));
        assert_eq!(state.remove_name(&top.join("a/Tea Pots")).unwrap(), None);
        let names: Vec<_> = state
            .named()
            .unwrap()
            .into_iter()
            .map(|named| named.name)
            .collect();
        assert_eq!(
            names.first().map(String::as_str),
            Some("llllllllllllllllllllllllllllllllllll")
        );
        assert!(!names.contains(&"tea-pots".to_owned()), "{names:?}");
    }

    #[test]
    fn a_wanted_name_is_taken_or_refused_with_a_reason() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let state = StateDirectory::at(&top.join("state"));
        let (one, other) = (workspace(&top, "one"), workspace(&top, "other"));
        assert_eq!(state.add_name(&one, Some("tea")).unwrap(), "tea");
        let taken = state.add_name(&other, Some("tea")).unwrap_err().to_string();
        assert!(taken.contains("one has the name tea"), "{taken}");
        assert_eq!(state.add_name(&one, Some("pot")).unwrap(), "pot");
        assert_eq!(state.add_name(&other, Some("tea")).unwrap(), "tea");
        for name in ["", "-a", "_a", "a/b", "..", "A", "ä", "a b", &"a".repeat(41)] {
            assert!(state.add_name(&one, Some(name)).is_err(), "{name}");
        }
        assert_eq!(one.name().as_deref(), Some("pot"));
        let wrong = top.join(std::ffi::OsStr::from_bytes(b"a\xff"));
        fs::create_dir(&wrong).unwrap();
        let wrong = Workspace::find(Some(&wrong), state.clone()).unwrap();
        let refused = state.add_name(&wrong, Some("cup")).unwrap_err().to_string();
        assert!(refused.contains("not UTF-8"), "{refused}");
    }

    #[test]
    fn a_workspace_is_joined_once_on_a_machine_however_its_id_is_spelled() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let (one, other) = (workspace(&top, "one"), workspace(&top, "other"));
        let id = "3f2a7c10-9d0b-4c1e-8a55-0d7b6c0e1f2a";
        one.join(&id.to_uppercase()).unwrap();
        assert_eq!(one.id().unwrap(), id);
        one.join(id).unwrap();
        let refused = |joined: Result<(), WorkspaceError>| joined.unwrap_err().to_string();
        assert!(refused(other.join(id)).contains("has that id on this machine"));
        assert!(refused(other.join("tea")).contains("is no id"));
        other.make_folder().unwrap();
        let own = other.id().unwrap();
        assert!(refused(other.join("3f2a7c10-9d0b-4c1e-8a55-0d7b6c0e1f2b")).contains(&own));
    }
}
