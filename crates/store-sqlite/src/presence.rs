//! Whether the files that are open are still those at the database's path.
//!
//! A database that was removed or replaced takes commits that nobody finds again, and SQLite does not notice.

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

/// The database and its log as they were opened.
#[derive(Debug)]
pub(crate) struct Presence {
    database: PathBuf,
    log: PathBuf,
    opened: Option<FileId>,
    /// `None` until it is first needed: the last connection to close takes the log with it.
    opened_log: Option<FileId>,
}

impl Presence {
    /// Remembers which file is open at `database`.
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

    /// Returns what a write fails with when the check has failed.
    pub(crate) fn removed(&self) -> StoreError {
        StoreError::Removed(self.database.clone())
    }

    /// Forgets the log: the next connection may make another.
    pub(crate) fn forget_log(&mut self) {
        self.opened_log = None;
    }

    /// Looks both files up. Two calls of the system, on a local disk; to be called within a transaction, when the log is
    /// there.
    ///
    /// # Errors
    /// [`StoreError::Removed`]. A path that cannot be looked up for another reason proves nothing.
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
