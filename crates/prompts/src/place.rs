//! The directories of commands and skills, and bounded reading of ordinary files in them.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::{PromptError, Source};

/// Most bytes of one file.
pub(crate) const MAX_FILE_BYTES: usize = 64 << 10;
/// Most entries of one directory that are examined; further entries are ignored.
pub(crate) const MAX_ENTRIES: usize = 500;

/// The directory with commands and skills of Bobbin.
pub(crate) const OWN: &str = ".craft";
/// Directories of other products with skills, in the order of precedence.
pub(crate) const SHARED: [&str; 2] = [".agents", ".claude"];

/// A directory such as `.craft` of a workspace or of a home.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) source: Source,
    root: PathBuf,
    folder: &'static str,
}

impl Place {
    pub(crate) fn new(source: Source, root: PathBuf, folder: &'static str) -> Self {
        Self { source, root, folder }
    }

    /// Returns whether it has commands too, and not only skills.
    pub(crate) fn is_own(&self) -> bool {
        self.folder == OWN
    }

    /// Returns the directory of a kind, `commands` or `skills`.
    pub(crate) fn directory(&self, kind: &str) -> PathBuf {
        self.root.join(self.folder).join(kind)
    }

    /// Reads a file as text.
    ///
    /// # Errors
    /// The file is missing, not ordinary, too long, not UTF-8, or leads out of the workspace. A user's own files may be
    /// links to any place.
    pub(crate) fn read(&self, path: &Path) -> Result<String, PromptError> {
        let cannot = |error: std::io::Error| PromptError::unreadable(path, &error);
        let real = self.inside(path)?;
        // A directory on the way may have become a link since the check.
        let file = bobbin_files::open_file(&real).map_err(cannot)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(cannot)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(PromptError::TooLarge {
                what: path.display().to_string(),
                limit: MAX_FILE_BYTES,
            });
        }
        String::from_utf8(bytes).map_err(|_| PromptError::unreadable(path, &"it is not UTF-8"))
    }

    /// Returns the resolved path, unless it is outside of the workspace.
    fn inside(&self, path: &Path) -> Result<PathBuf, PromptError> {
        let cannot = |error: std::io::Error| PromptError::unreadable(path, &error);
        let real = path.canonicalize().map_err(cannot)?;
        let held = self.source == Source::Workspace;
        if held && !real.starts_with(self.root.canonicalize().map_err(cannot)?) {
            return Err(PromptError::unreadable(
                path,
                &"a link leads from it out of the workspace",
            ));
        }
        Ok(real)
    }

    /// Returns whether the directory of a kind is in its place, and not a link to another place of the workspace. A
    /// user's own may be anywhere.
    pub(crate) fn is_at_home(&self, kind: &str) -> bool {
        let real = self.directory(kind).canonicalize();
        let home = self
            .root
            .canonicalize()
            .map(|root| root.join(self.folder).join(kind));
        self.source == Source::User || matches!((real, home), (Ok(real), Ok(home)) if real == home)
    }

    /// Returns the sorted names in a directory that are UTF-8 and not hidden. A directory that is missing, or leads out
    /// of the workspace, has none.
    pub(crate) fn names(&self, directory: &Path) -> Vec<String> {
        let Ok(entries) = self.inside(directory).and_then(|real| {
            std::fs::read_dir(real).map_err(|error| PromptError::unreadable(directory, &error))
        }) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .take(MAX_ENTRIES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_name(name))
            .collect();
        names.sort_unstable();
        names
    }
}

/// Returns whether a text is one component of a path, and not hidden.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c != '/' && c != '\\' && c != ':' && !c.is_control() && !c.is_whitespace();
    !name.is_empty() && !name.starts_with('.') && name.len() <= 255 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(source: Source) -> (tempfile::TempDir, Place, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::new(source, dir.path().to_owned(), OWN);
        let commands = place.directory("commands");
        std::fs::create_dir_all(&commands).unwrap();
        (dir, place, commands)
    }

    #[test]
    fn what_is_too_long_or_no_text_is_not_read() {
        let (_dir, place, commands) = place(Source::Workspace);
        let file = commands.join("a.md");
        for (bytes, said) in [
            (vec![b'x'; MAX_FILE_BYTES + 1], "more than 65536 bytes"),
            (vec![0xff], "not UTF-8"),
        ] {
            std::fs::write(&file, bytes).unwrap();
            let error = place.read(&file).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        std::fs::write(&file, vec![b'x'; MAX_FILE_BYTES]).unwrap();
        assert_eq!(place.read(&file).unwrap().len(), MAX_FILE_BYTES);
        let error = place.read(&commands).unwrap_err().to_string();
        assert!(error.contains("it is a directory"), "{error}");
    }

    #[test]
    fn links_lead_out_of_a_home_and_not_out_of_a_workspace() {
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::write(elsewhere.path().join("secret"), "key").unwrap();
        for (source, read) in [(Source::Workspace, false), (Source::User, true)] {
            let (_dir, place, commands) = place(source);
            std::os::unix::fs::symlink(elsewhere.path().join("secret"), commands.join("a.md")).unwrap();
            assert_eq!(place.read(&commands.join("a.md")).is_ok(), read, "{source:?}");
            let skills = place.directory("skills");
            std::os::unix::fs::symlink(elsewhere.path(), &skills).unwrap();
            assert_eq!(place.names(&skills).len(), usize::from(read), "{source:?}");
        }
    }

    #[test]
    fn names_are_one_component_and_not_hidden() {
        for good in ["a", "a-b_c.2", "日本"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", ".", "..", ".a", "a/b", "a\\b", "a b", "a:b", "a\n"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
