//! A directory for tests with a place outside of it; gone when dropped.

use std::path::{Path, PathBuf};

/// A directory with a place outside of it.
pub struct Folder {
    root: PathBuf,
    outside: PathBuf,
    _place: tempfile::TempDir,
}

#[expect(clippy::unwrap_used, reason = "a test without a directory cannot go on")]
impl Folder {
    /// Returns an empty one.
    ///
    /// # Panics
    /// The machine has no temporary directory.
    #[expect(clippy::new_without_default, reason = "it makes directories")]
    pub fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        let (root, outside) = (top.join("work"), top.join("out"));
        std::fs::create_dir(&root).unwrap();
        std::fs::create_dir(&outside).unwrap();
        Self {
            root,
            outside,
            _place: place,
        }
    }

    /// Returns the directory, free of links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a directory beside it.
    pub fn outside(&self) -> &Path {
        &self.outside
    }

    /// Writes a file, with the directories above it.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Returns the text of a file.
    ///
    /// # Panics
    /// It cannot be read.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }
}
