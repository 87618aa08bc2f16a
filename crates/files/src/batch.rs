//! Changes several files as one: all of them, or none.
//!
//! New contents are first written to temporary names beside their destinations, while nothing is changed yet. Then each
//! file gets its name in one step, if the present file is still the one that the caller has seen. Old files stay under
//! temporary names until the last step succeeds, and are restored if a step fails. Directories are reached without
//! following links. Only a server that is killed in the middle leaves a partial change (the Turn's record for undo has
//! the old files). The caller has checked the paths. Blocking; no file stays open.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::{Directory, FileState, Fingerprint, is_missing, parts};
use crate::leftovers::{Leftovers, Note, fresh};

/// Largest file that is read to be replaced or restored.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The new state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// An ordinary file with this content.
    File(Kind, Arc<[u8]>),
    /// A symbolic link with this target.
    Link(Arc<[u8]>),
    /// No file.
    Gone,
}

/// The permissions of a new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The permissions of the replaced file; the default ones if there is none.
    AsItWas,
    /// These permissions.
    Mode(u32),
    /// As `AsItWas`, but not executable.
    Plain,
    /// As `AsItWas`, but executable.
    Program,
}

/// Returns whether the present state is still the one that the caller saw.
pub type Still = Box<dyn Fn(&FileState) -> bool + Send>;

/// Returns a check that a file is still as it was read; `None` is a missing file.
pub fn as_read(before: Option<Arc<[u8]>>) -> Still {
    Box::new(move |now| match (now, &before) {
        (FileState::Nothing, None) => true,
        (FileState::File(_, now), Some(before)) => now[..] == before[..],
        _ => false,
    })
}

struct Wanted {
    path: PathBuf,
    want: Want,
    still: Still,
}

/// Files to be changed together.
#[derive(Default)]
pub struct Batch {
    wanted: Vec<Wanted>,
}

/// A step that can be reverted.
enum Done {
    /// The old file has this name now; its place has the new file, or nothing.
    Replaced(PathBuf, Ours, Option<Fingerprint>),
    /// There was no file, and this is the new one.
    Made(PathBuf, Fingerprint),
}

impl Batch {
    /// Adds a file, with a check that it is still as the caller saw it. Each path is added once.
    pub fn add(&mut self, path: PathBuf, want: Want, still: Still) {
        self.wanted.push(Wanted { path, want, still });
    }

    /// Carries out all changes.
    ///
    /// # Errors
    /// A file could not be changed, or was changed by another program meanwhile; the sentence names it, and no file is
    /// changed.
    pub fn apply(self, leftovers: &Leftovers) -> Result<(), String> {
        self.apply_unless(leftovers, || false)
    }

    /// Carries out all changes, unless `is_over` returns true before the first file is touched.
    ///
    /// # Errors
    /// As [`Batch::apply`].
    pub fn apply_unless(self, leftovers: &Leftovers, is_over: impl Fn() -> bool) -> Result<(), String> {
        let mut work = Work::default();
        let result = work.all(&self.wanted, leftovers, is_over);
        if let Err((path, error)) = result {
            let mut text = format!("{}: {}", path.display(), said(&error));
            for lost in work.take_back() {
                // Writing to a String cannot fail.
                let _ = write!(text, "; {lost}");
            }
            return Err(text);
        }
        Ok(())
    }
}

/// Returns an error in words that users understand.
fn said(error: &io::Error) -> String {
    if error.raw_os_error() == Some(nix::errno::Errno::ELOOP as i32) {
        return "a link lies on the way to it".to_owned();
    }
    error.to_string()
}

fn changed() -> io::Error {
    io::Error::other("it was changed meanwhile")
}

#[derive(Default)]
struct Work {
    done: Vec<Done>,
    directories: Vec<PathBuf>,
    /// The record of all temporary names; removed last.
    note: Option<Note>,
}

impl Work {
    fn all(
        &mut self,
        wanted: &[Wanted],
        leftovers: &Leftovers,
        is_over: impl Fn() -> bool,
    ) -> Result<(), (PathBuf, io::Error)> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| (path, error)
        };
        let mut names = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            names.push(Names::of(&wanted.path).map_err(at(&wanted.path))?);
        }
        let both = names
            .iter()
            .flat_map(|Names { new, old }| [new.path(), old.path()]);
        self.note = leftovers.note(both);
        for (Wanted { path, want, .. }, names) in wanted.iter().zip(&mut names) {
            if is_over() {
                return Err(at(path)(io::Error::other("writing it took too long")));
            }
            match want {
                Want::File(kind, content) => write(path, kind, content, &mut names.new),
                Want::Link(target) => link(target, &mut names.new),
                Want::Gone => Ok(()),
            }
            .map_err(at(path))?;
        }
        // Removed files come first: a directory may need their place.
        let (gone, new): (Vec<_>, Vec<_>) = wanted
            .iter()
            .zip(names)
            .partition(|(wanted, _)| wanted.want == Want::Gone);
        for (wanted, names) in gone {
            self.remove(wanted, names.old).map_err(at(&wanted.path))?;
        }
        let mut new = new.into_iter().peekable();
        while let Some((wanted, names)) = new.next() {
            // After the last step nothing is reverted.
            let revertible = new.peek().is_some();
            self.place(wanted, names, revertible).map_err(at(&wanted.path))?;
        }
        Ok(())
    }

    fn place(
        &mut self,
        wanted: &Wanted,
        Names { mut new, mut old }: Names,
        revertible: bool,
    ) -> io::Result<()> {
        let (parent, name) = parts(&wanted.path)?;
        let to = Directory::make(parent, &mut self.directories)?;
        let from = Directory::open(&new.directory)?;
        let fingerprint = from.fingerprint(&new.own)?;
        if !to.has(name)? {
            if !(wanted.still)(&FileState::Nothing) {
                return Err(changed());
            }
            from.rename_to_new(&new.own, &to, name)
                .map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => changed(),
                    _ => error,
                })?;
            self.done.push(Done::Made(wanted.path.clone(), fingerprint));
            return Ok(());
        }
        if revertible {
            old.goes = true;
            to.second(name, &old.own, MAX_FILE_BYTES)?;
        }
        if !(wanted.still)(&to.find(name, MAX_FILE_BYTES)) {
            return Err(changed());
        }
        from.rename(&new.own, &to, name)?;
        new.persist();
        if revertible {
            self.done
                .push(Done::Replaced(wanted.path.clone(), old, Some(fingerprint)));
        }
        Ok(())
    }

    fn remove(&mut self, wanted: &Wanted, mut old: Ours) -> io::Result<()> {
        let nothing = || {
            let still = (wanted.still)(&FileState::Nothing);
            still.then_some(()).ok_or_else(changed)
        };
        let (parent, name) = parts(&wanted.path)?;
        let directory = match Directory::open(parent) {
            Err(error) if is_missing(&error) => return nothing(),
            directory => directory?,
        };
        match directory.find(name, MAX_FILE_BYTES) {
            FileState::Nothing => return nothing(),
            FileState::Other => return Err(io::Error::other("it is no ordinary file")),
            FileState::File(..) | FileState::Unread(_) | FileState::Link(_) => {}
        }
        // Moved away first and then checked: a file that appears in its place meanwhile stays untouched.
        directory.rename(name, &directory, &old.own)?;
        old.goes = true;
        if !(wanted.still)(&directory.find(&old.own, MAX_FILE_BYTES)) {
            if directory.rename_to_new(&old.own, &directory, name).is_err() {
                let remains = old.path();
                old.persist();
                return Err(io::Error::other(format!(
                    "it was changed meanwhile, and is now {}",
                    remains.display()
                )));
            }
            return Err(changed());
        }
        self.done.push(Done::Replaced(wanted.path.clone(), old, None));
        Ok(())
    }

    /// Reverts the steps, the last first. Returns sentences about steps that could not be reverted.
    fn take_back(&mut self) -> Vec<String> {
        let mut lost = Vec::new();
        while let Some(done) = self.done.pop() {
            match done {
                Done::Replaced(path, mut old, new) => {
                    if let Err(error) = put_back(&path, &old, new) {
                        let (path, old_path) = (path.display(), old.path());
                        lost.push(format!(
                            "{path} could not be put back ({}); what it was is in {}",
                            said(&error),
                            old_path.display()
                        ));
                        old.persist();
                    }
                }
                Done::Made(path, new) => {
                    if let Err(error) = take_away(&path, new) {
                        lost.push(format!(
                            "{} could not be removed ({})",
                            path.display(),
                            said(&error)
                        ));
                    }
                }
            }
        }
        for directory in self.directories.drain(..).rev() {
            // Another program may have put a file there.
            drop(remove_directory(&directory));
        }
        lost
    }
}

/// Removes an empty directory; no link on the way is followed.
///
/// # Errors
/// It is not empty, or cannot be removed.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    let (parent, name) = Directory::parent_of(path)?;
    parent.remove_directory(name)
}

/// Restores a file's name, if its place still has the file that this batch put there.
fn put_back(path: &Path, old: &Ours, new: Option<Fingerprint>) -> io::Result<()> {
    let (parent, name) = Directory::parent_of(path)?;
    match new {
        Some(new) if parent.fingerprint(name)? == new => parent.rename(&old.own, &parent, name),
        Some(_) => Err(changed()),
        None => parent.rename_to_new(&old.own, &parent, name),
    }
}

fn take_away(path: &Path, new: Fingerprint) -> io::Result<()> {
    let (parent, name) = Directory::parent_of(path)?;
    match parent.fingerprint(name) {
        Ok(now) if now == new => parent.remove(name),
        Err(error) if is_missing(&error) => Ok(()),
        Ok(_) => Err(changed()),
        Err(error) => Err(error),
    }
}

/// The temporary names for the new and the old file of a path.
struct Names {
    new: Ours,
    old: Ours,
}

impl Names {
    fn of(path: &Path) -> io::Result<Self> {
        let (parent, _) = parts(path)?;
        Ok(Self {
            new: Ours::fresh(Directory::nearest(path)?),
            old: Ours::fresh(parent),
        })
    }
}

/// A temporary name in a directory; its file is removed with the value.
struct Ours {
    directory: PathBuf,
    own: OsString,
    goes: bool,
}

impl Ours {
    /// Returns a new name without a file.
    fn fresh(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            own: fresh(),
            goes: false,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.own)
    }

    /// Makes the file permanent: it stays, or has another name by now.
    fn persist(&mut self) {
        self.goes = false;
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if self.goes
            && let Ok(directory) = Directory::open(&self.directory)
        {
            // The file may not exist.
            drop(directory.remove(&self.own));
        }
    }
}

/// Writes the new file of a path.
fn write(path: &Path, kind: &Kind, content: &[u8], new: &mut Ours) -> io::Result<()> {
    let directory = Directory::open(&new.directory)?;
    new.goes = true;
    // As for any new file, the process' umask applies.
    let permissions = if *kind == Kind::Program { 0o777 } else { 0o666 };
    let mut file = directory.create(&new.own, permissions)?;
    let old = Directory::parent_of(path)
        .ok()
        .and_then(|(parent, name)| parent.mode(name))
        // Otherwise, the owner could not read the new file either.
        .filter(|mode| mode & 0o400 != 0);
    let mode = match kind {
        Kind::Mode(mode) => Some(*mode),
        Kind::AsItWas => old,
        Kind::Plain => old.map(|mode| mode & !0o111),
        // All users who may read the file may execute it.
        Kind::Program => old.map(|mode| mode | ((mode & 0o444) >> 2)),
    };
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    file.write_all(content)?;
    file.sync_all()
}

fn link(target: &[u8], new: &mut Ours) -> io::Result<()> {
    let directory = Directory::open(&new.directory)?;
    new.goes = true;
    directory.link(OsStr::from_bytes(target), &new.own)
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
