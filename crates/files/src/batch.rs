//! Several files changed as one: all of them, or none.
//!
//! What is to be written is written first, under names of ours beside the places it is for, while nothing is touched yet
//! and all of it can be given up. Then each file takes its name in one step, if what lies there is still what the caller
//! has seen; the old ones stay under other names until the last is done, and come back when one cannot be. Directories
//! are reached without following a link. Only a server that is killed in the middle leaves a part (then the Turn's
//! checkpoint has the old ones). The caller has checked the paths. Blocking; no file stays open.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::directory::{Directory, Found, Stamp, is_missing, parts};
use crate::leftovers::{Leftovers, Note, fresh};

/// Largest file that is read to be replaced or put back.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// What a file is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// An ordinary file with this content.
    File(Kind, Arc<[u8]>),
    /// A symbolic link to there.
    Link(Arc<[u8]>),
    /// Not there.
    Gone,
}

/// Who may do what with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// What was allowed with the file that it replaces; as for any new file where there is none.
    AsItWas,
    /// These permissions.
    Mode(u32),
    /// The same, and it is no program.
    Plain,
    /// The same, and it is a program.
    Program,
}

/// Says whether what lies there is still what was seen.
pub type Still = Box<dyn Fn(&Found) -> bool + Send>;

/// Returns the question whether a file, or that there is none, is still as it was read.
pub fn as_read(before: Option<Arc<[u8]>>) -> Still {
    Box::new(move |now| match (now, &before) {
        (Found::Nothing, None) => true,
        (Found::File(_, now), Some(before)) => now[..] == before[..],
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

/// Something done that can be taken back.
enum Done {
    /// The file was there and has this name now; in its place is what was written, or nothing.
    Replaced(PathBuf, Ours, Option<Stamp>),
    /// It was not there, and this is.
    Made(PathBuf, Stamp),
}

impl Batch {
    /// Adds a file, with the question whether it is still what the caller has seen. Each path is added once.
    pub fn add(&mut self, path: PathBuf, want: Want, still: Still) {
        self.wanted.push(Wanted { path, want, still });
    }

    /// Does all of it.
    ///
    /// # Errors
    /// One file could not be changed, or was changed by somebody else meanwhile; the sentence names it, and none is
    /// changed.
    pub fn apply(self, leftovers: &Leftovers) -> Result<(), String> {
        self.apply_unless(leftovers, || false)
    }

    /// Does all of it, unless `is_over` says so before the first file is touched.
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

/// Returns an error in words that somebody understands.
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
    /// Of all names of ours; the last to go.
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
        // What goes first: its place may be needed for a directory.
        let (gone, new): (Vec<_>, Vec<_>) = wanted
            .iter()
            .zip(names)
            .partition(|(wanted, _)| wanted.want == Want::Gone);
        for (wanted, names) in gone {
            self.remove(wanted, names.old).map_err(at(&wanted.path))?;
        }
        let mut new = new.into_iter().peekable();
        while let Some((wanted, names)) = new.next() {
            // After the last nothing is taken back.
            let keep = new.peek().is_some();
            self.place(wanted, names, keep).map_err(at(&wanted.path))?;
        }
        Ok(())
    }

    fn place(&mut self, wanted: &Wanted, Names { mut new, mut old }: Names, keep: bool) -> io::Result<()> {
        let (above, name) = parts(&wanted.path)?;
        let to = Directory::make(above, &mut self.directories)?;
        let from = Directory::open(&new.directory)?;
        let stamp = from.stamp(&new.own)?;
        if !to.has(name)? {
            if !(wanted.still)(&Found::Nothing) {
                return Err(changed());
            }
            from.rename_to_new(&new.own, &to, name)
                .map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => changed(),
                    _ => error,
                })?;
            self.done.push(Done::Made(wanted.path.clone(), stamp));
            return Ok(());
        }
        if keep {
            old.goes = true;
            to.second(name, &old.own, MAX_FILE_BYTES)?;
        }
        if !(wanted.still)(&to.find(name, MAX_FILE_BYTES)) {
            return Err(changed());
        }
        from.rename(&new.own, &to, name)?;
        new.keep();
        if keep {
            self.done
                .push(Done::Replaced(wanted.path.clone(), old, Some(stamp)));
        }
        Ok(())
    }

    fn remove(&mut self, wanted: &Wanted, mut old: Ours) -> io::Result<()> {
        let nothing = || {
            let still = (wanted.still)(&Found::Nothing);
            still.then_some(()).ok_or_else(changed)
        };
        let (above, name) = parts(&wanted.path)?;
        let directory = match Directory::open(above) {
            Err(error) if is_missing(&error) => return nothing(),
            directory => directory?,
        };
        match directory.find(name, MAX_FILE_BYTES) {
            Found::Nothing => return nothing(),
            Found::Other => return Err(io::Error::other("it is no ordinary file")),
            Found::File(..) | Found::Unread(_) | Found::Link(_) => {}
        }
        // Out of the way first, then looked at: what comes in its place meanwhile is not touched.
        directory.rename(name, &directory, &old.own)?;
        old.goes = true;
        if !(wanted.still)(&directory.find(&old.own, MAX_FILE_BYTES)) {
            if directory.rename_to_new(&old.own, &directory, name).is_err() {
                let kept = old.path();
                old.keep();
                return Err(io::Error::other(format!(
                    "it was changed meanwhile, and is now {}",
                    kept.display()
                )));
            }
            return Err(changed());
        }
        self.done.push(Done::Replaced(wanted.path.clone(), old, None));
        Ok(())
    }

    /// Takes back what was done, the last first. Returns sentences about what could not be.
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
                        old.keep();
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
            // Somebody may have put something there.
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
    let (above, name) = Directory::above(path)?;
    above.remove_directory(name)
}

/// Gives a file its name back, if what has come in its place is still what we have put there.
fn put_back(path: &Path, old: &Ours, new: Option<Stamp>) -> io::Result<()> {
    let (above, name) = Directory::above(path)?;
    match new {
        Some(new) if above.stamp(name)? == new => above.rename(&old.own, &above, name),
        Some(_) => Err(changed()),
        None => above.rename_to_new(&old.own, &above, name),
    }
}

fn take_away(path: &Path, new: Stamp) -> io::Result<()> {
    let (above, name) = Directory::above(path)?;
    match above.stamp(name) {
        Ok(now) if now == new => above.remove(name),
        Err(error) if is_missing(&error) => Ok(()),
        Ok(_) => Err(changed()),
        Err(error) => Err(error),
    }
}

/// Names for what comes to a path and for what was there.
struct Names {
    new: Ours,
    old: Ours,
}

impl Names {
    fn of(path: &Path) -> io::Result<Self> {
        let (above, _) = parts(path)?;
        Ok(Self {
            new: Ours::fresh(Directory::nearest(path)?),
            old: Ours::fresh(above),
        })
    }
}

/// A name of ours in a directory; what has it goes with the value.
struct Ours {
    directory: PathBuf,
    own: OsString,
    goes: bool,
}

impl Ours {
    /// Nothing has it yet.
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

    /// What has it stays, or has another name by now.
    fn keep(&mut self) {
        self.goes = false;
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if self.goes
            && let Ok(directory) = Directory::open(&self.directory)
        {
            // It may never have come to be.
            drop(directory.remove(&self.own));
        }
    }
}

/// Writes a file that is to have a path.
fn write(path: &Path, kind: &Kind, content: &[u8], new: &mut Ours) -> io::Result<()> {
    let directory = Directory::open(&new.directory)?;
    new.goes = true;
    // As for any new file: what the process' umask leaves of this.
    let permissions = if *kind == Kind::Program { 0o777 } else { 0o666 };
    let mut file = directory.create(&new.own, permissions)?;
    let old = Directory::above(path)
        .ok()
        .and_then(|(above, name)| above.mode(name))
        // Its owner could not read the new one either.
        .filter(|mode| mode & 0o400 != 0);
    let mode = match kind {
        Kind::Mode(mode) => Some(*mode),
        Kind::AsItWas => old,
        Kind::Plain => old.map(|mode| mode & !0o111),
        // Whoever may read it may run it.
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
