//! A directory for tests with a place outside of it; gone when dropped.

use std::path::{Path, PathBuf};

pub(crate) struct Workspace {
    root: PathBuf,
    outside: PathBuf,
    _place: tempfile::TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
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

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn outside(&self) -> &Path {
        &self.outside
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }
}
