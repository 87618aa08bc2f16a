//! Checks that the open files are still those at the database's path.
//!
//! A removed or replaced database still accepts commits, which are lost. SQLite does not detect this.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bobbin_store::StoreError;

/// Device and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl FileId {
    #[cfg(unix)]
    fn of(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self(file.dev(), file.ino())
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }
}

/// The identities of the database and its log as opened.
#[derive(Debug)]
pub(crate) struct Presence {
    database: PathBuf,
    log: PathBuf,
    opened: Option<FileId>,
    /// `None` until first needed: the last connection to close removes the log.
    opened_log: Option<FileId>,
}

impl Presence {
    /// Records which file is open at `database`.
    pub(crate) fn of(database: &Path) -> Self {
        let mut log = database.as_os_str().to_owned();
        log.push("-wal");
        let opened = std::fs::metadata(database).ok();
        Self {
            database: database.to_owned(),
            log: log.into(),
            opened: opened.as_ref().map(FileId::of),
            opened_log: None,
        }
    }

    /// Returns the error of writes after a failed check.
    pub(crate) fn removed(&self) -> StoreError {
        StoreError::Removed(format!(
            "the database {} was removed or replaced while it was open",
            self.database.display()
        ))
    }

    /// Forgets the log: the next connection may create another.
    pub(crate) fn forget_log(&mut self) {
        self.opened_log = None;
    }

    /// Checks both files. Costs two system calls on a local disk. Call it within a transaction, when the log
    /// exists.
    ///
    /// # Errors
    /// [`StoreError::Removed`]. A path that cannot be read for another reason counts as present.
    pub(crate) fn check(&mut self) -> Result<(), StoreError> {
        if let Some(opened) = self.opened
            && !is_there(&self.database, opened)
        {
            return Err(self.removed());
        }
        match (self.opened_log, std::fs::metadata(&self.log)) {
            (None, Ok(log)) => self.opened_log = Some(FileId::of(&log)),
            (Some(opened), Ok(log)) if opened != FileId::of(&log) => return Err(self.removed()),
            (_, Err(error)) if is_missing(error.kind()) => return Err(self.removed()),
            (_, Ok(_) | Err(_)) => {}
        }
        Ok(())
    }
}

fn is_there(path: &Path, opened: FileId) -> bool {
    match std::fs::metadata(path) {
        Ok(found) => FileId::of(&found) == opened,
        Err(error) => !is_missing(error.kind()),
    }
}

fn is_missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}
