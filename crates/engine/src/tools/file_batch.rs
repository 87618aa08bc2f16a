//! Several files changed as one: all of them, or none.
//!
//! What is to be written lies beside its place, on the disk, before the first file is touched; each file takes its name
//! in one step; the old ones stay under other names until the last is done, and come back when one cannot be. Only a
//! server that is killed in the middle leaves a part (then the Turn's checkpoint has the old ones). The caller has
//! checked the paths. Blocking.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::{NamedTempFile, TempPath};

/// Names of files that are on their way.
const PREFIX: &str = ".bobbin-";

/// What a file is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Want {
    /// An ordinary file with this content.
    File(Kind, Arc<[u8]>),
    /// A symbolic link to there.
    Link(Arc<[u8]>),
    /// Not there.
    Gone,
}

/// Who may do what with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What was allowed with the file that it replaces; as for any new file where there is none.
    AsItWas,
    /// These permissions.
    Mode(u32),
    /// The same, and it is no program.
    Plain,
    /// The same, and it is a program.
    Program,
}

/// Files to be changed together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    wanted: Vec<(PathBuf, Want)>,
}

/// Something done that can be taken back.
enum Done {
    /// The file was there; this is it.
    Replaced(PathBuf, TempPath),
    /// It was not.
    Made(PathBuf),
}

enum Ready {
    File(NamedTempFile),
    Link(TempPath),
}

impl Batch {
    /// Adds a file. Each path is added once.
    pub(crate) fn add(&mut self, path: PathBuf, want: Want) {
        self.wanted.push((path, want));
    }

    /// Does all of it.
    ///
    /// # Errors
    /// One file could not be changed; the sentence names it, and none is changed.
    pub(crate) fn apply(self) -> Result<(), String> {
        let mut work = Work::default();
        let result = work.all(&self.wanted);
        if let Err((path, error)) = result {
            let lost = work.take_back();
            let mut text = format!("{}: {error}", path.display());
            for path in lost {
                // Writing to a String cannot fail.
                let _ = write!(text, "; {} could not be put back", path.display());
            }
            return Err(text);
        }
        Ok(())
    }
}

#[derive(Default)]
struct Work {
    done: Vec<Done>,
    directories: Vec<PathBuf>,
}

impl Work {
    fn all(&mut self, wanted: &[(PathBuf, Want)]) -> Result<(), (PathBuf, io::Error)> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| (path, error)
        };
        // What goes first: its place may be needed for a directory.
        for (path, want) in wanted {
            if *want == Want::Gone {
                self.remove(path).map_err(at(path))?;
            }
        }
        let mut ready = Vec::new();
        for (path, want) in wanted {
            let made = match want {
                Want::File(kind, content) => self.file(path, kind, content).map(Ready::File),
                Want::Link(target) => self.link(path, target).map(Ready::Link),
                Want::Gone => continue,
            };
            ready.push((path, made.map_err(at(path))?));
        }
        for (path, ready) in ready {
            self.place(path, ready).map_err(at(path))?;
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, kind: &Kind, content: &[u8]) -> io::Result<NamedTempFile> {
        let directory = self.directory_of(path)?;
        let new = if *kind == Kind::Program { 0o777 } else { 0o666 };
        let mut file = tempfile::Builder::new()
            .prefix(PREFIX)
            // As for any new file: what the process' umask leaves of this.
            .permissions(Permissions::from_mode(new))
            .tempfile_in(directory)?;
        let old = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
        let old = old.map(|old| old.permissions().mode() & 0o7777);
        let mode = match kind {
            Kind::Mode(mode) => Some(*mode),
            Kind::AsItWas => old,
            Kind::Plain => old.map(|mode| mode & !0o111),
            // Whoever may read it may run it.
            Kind::Program => old.map(|mode| mode | ((mode & 0o444) >> 2)),
        };
        if let Some(mode) = mode {
            file.as_file().set_permissions(Permissions::from_mode(mode))?;
        }
        file.write_all(content)?;
        file.as_file().sync_all()?;
        Ok(file)
    }

    fn link(&mut self, path: &Path, target: &[u8]) -> io::Result<TempPath> {
        let directory = self.directory_of(path)?;
        let link = tempfile::Builder::new()
            .prefix(PREFIX)
            .make_in(directory, |place| symlink(OsStr::from_bytes(target), place))?;
        Ok(link.into_temp_path())
    }

    fn place(&mut self, path: &Path, ready: Ready) -> io::Result<()> {
        self.done.push(match fs::symlink_metadata(path) {
            Ok(_) => Done::Replaced(path.to_owned(), second_name(path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Done::Made(path.to_owned()),
            Err(error) => return Err(error),
        });
        let placed = match ready {
            Ready::File(file) => file.persist(path).map(drop).map_err(|error| error.error),
            Ready::Link(link) => link.persist(path).map_err(|error| error.error),
        };
        if placed.is_err() {
            // Nothing happened here.
            self.done.pop();
        }
        placed
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        match fs::symlink_metadata(path) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
            Ok(_) => {
                let second = second_name(path)?;
                fs::remove_file(path)?;
                self.done.push(Done::Replaced(path.to_owned(), second));
                Ok(())
            }
        }
    }

    fn directory_of<'a>(&mut self, path: &'a Path) -> io::Result<&'a Path> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        let missing: Vec<&Path> = directory
            .ancestors()
            .take_while(|above| !above.exists())
            .collect();
        for missing in missing.into_iter().rev() {
            fs::create_dir(missing)?;
            self.directories.push(missing.to_owned());
        }
        Ok(directory)
    }

    /// Takes back what was done, the last first. Returns what could not be.
    fn take_back(&mut self) -> Vec<PathBuf> {
        let mut lost = Vec::new();
        while let Some(done) = self.done.pop() {
            let (path, taken) = match done {
                Done::Replaced(path, second) => {
                    let taken = second.persist(&path).map_err(|error| error.error);
                    (path, taken)
                }
                Done::Made(path) => {
                    let taken = fs::remove_file(&path);
                    (path, taken)
                }
            };
            if taken.is_err() {
                lost.push(path);
            }
        }
        for directory in self.directories.drain(..).rev() {
            // Somebody may have put something there.
            drop(fs::remove_dir(directory));
        }
        lost
    }
}

/// Gives a file a second name, which goes with the value: a link, or where there are none a copy.
fn second_name(path: &Path) -> io::Result<TempPath> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let second = tempfile::Builder::new()
        .prefix(PREFIX)
        .make_in(directory, |place| {
            fs::hard_link(path, place).or_else(|error| {
                if error.kind() == io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
                if fs::symlink_metadata(path)?.is_symlink() {
                    symlink(fs::read_link(path)?, place)
                } else {
                    fs::copy(path, place).map(drop)
                }
            })
        })?;
    Ok(second.into_temp_path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Workspace;

    fn file(text: &str) -> Want {
        Want::File(Kind::AsItWas, text.as_bytes().into())
    }

    fn apply(workspace: &Workspace, wanted: &[(&str, Want)]) -> Result<(), String> {
        let mut batch = Batch::default();
        for (path, want) in wanted {
            batch.add(workspace.root().join(path), want.clone());
        }
        batch.apply()
    }

    /// Returns the names of everything below the workspace.
    fn all(workspace: &Workspace) -> Vec<String> {
        let mut names: Vec<String> = ignore::WalkBuilder::new(workspace.root())
            .standard_filters(false)
            .build()
            .filter_map(|entry| {
                let path = entry
                    .unwrap()
                    .path()
                    .strip_prefix(workspace.root())
                    .unwrap()
                    .to_owned();
                Some(path.to_str().unwrap().to_owned()).filter(|path| !path.is_empty())
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_made_replaced_and_removed_together() {
        let workspace = Workspace::new();
        workspace.write("old", "1");
        workspace.write("gone", "1");
        fs::set_permissions(workspace.root().join("old"), Permissions::from_mode(0o751)).unwrap();
        let wanted = [
            ("old", file("2")),
            ("gone", Want::Gone),
            ("deep/er/new", file("3")),
            ("link", Want::Link(b"old".as_slice().into())),
            ("run", Want::File(Kind::Program, b"x".as_slice().into())),
        ];
        apply(&workspace, &wanted).unwrap();
        assert_eq!(
            all(&workspace),
            ["deep", "deep/er", "deep/er/new", "link", "old", "run"]
        );
        assert_eq!(
            (
                workspace.read("old").as_str(),
                workspace.read("deep/er/new").as_str()
            ),
            ("2", "3")
        );
        let mode = |path: &str| {
            fs::metadata(workspace.root().join(path))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode("old"), 0o751);
        assert_eq!(mode("run") & 0o100, 0o100);
        assert_eq!(
            fs::read_link(workspace.root().join("link")).unwrap(),
            Path::new("old")
        );
    }

    #[test]
    fn one_that_cannot_be_changed_leaves_all_as_they_were() {
        let workspace = Workspace::new();
        workspace.write("a", "1");
        workspace.write("b", "1");
        workspace.write("in-the-way/x", "1");
        let before = all(&workspace);
        let failing = [
            vec![
                ("a", file("2")),
                ("b", Want::Gone),
                ("new/c", file("2")),
                ("in-the-way", file("2")),
            ],
            vec![
                ("a", Want::Gone),
                ("new", file("2")),
                ("b/below-a-file", file("2")),
            ],
            vec![("new/d", file("2")), ("in-the-way", Want::Gone)],
        ];
        for wanted in failing {
            assert!(
                apply(&workspace, &wanted)
                    .unwrap_err()
                    .contains(workspace.root().to_str().unwrap())
            );
            assert_eq!(all(&workspace), before);
            assert_eq!(
                (workspace.read("a").as_str(), workspace.read("b").as_str()),
                ("1", "1")
            );
        }
    }
}
