//! Folders that a user trusts as a whole, such as plugins: their files and their digest.
//!
//! A plugin in the workspace may be another author's. It counts once its user trusts exactly its content, so its
//! digest covers all its files. Folders with links are rejected, since a link can lead anywhere.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Most files of a plugin (guess: a plugin with an MCP server and its packages has some hundred).
const MAX_FILES: usize = 4_000;
/// Most bytes of all files of a plugin.
pub const MAX_BYTES: u64 = 64 << 20;
/// Most levels of its directories.
const MAX_DEPTH: usize = 24;
/// The folder of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFolder {
    /// Its path.
    pub root: PathBuf,
    /// The digest of the content that the user trusts; `None` if only the user writes the folder.
    pub digest: Option<String>,
}

impl PluginFolder {
    /// Whether its content is unchanged since the user trusted it. Blocks on the disk.
    pub fn is_unchanged(&self) -> bool {
        let now = |_| folder_digest(&self.root).ok();
        self.digest.as_ref().and_then(now) == self.digest
    }
}

/// A file of a plugin.
#[derive(Debug)]
pub struct FolderFile {
    /// Its path in the plugin.
    pub path: PathBuf,
    /// Its metadata.
    pub found: Metadata,
}

/// Returns the files of a plugin, sorted, without the paths for which `skip` is true. Blocks on the disk.
///
/// # Errors
/// The folder cannot be read, contains a link or a special file, or is too large: the end of a sentence.
pub fn folder_files(root: &Path, skip: fn(&Path) -> bool) -> Result<Vec<FolderFile>, String> {
    let mut files = Vec::new();
    let mut bytes = 0;
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let shown = |path: &Path| format!("{:?}", path.to_string_lossy());
        let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", shown(&directory));
        for entry in std::fs::read_dir(root.join(&directory)).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let path = directory.join(entry.file_name());
            if skip(&path) {
                continue;
            }
            let found = entry.metadata().map_err(cannot)?;
            if found.is_dir() && depth < MAX_DEPTH {
                open.push((path, depth + 1));
            } else if found.is_file() {
                bytes += found.len();
                files.push(FolderFile { path, found });
            } else if found.is_symlink() {
                return Err(format!("{} is a link, and links are not followed", shown(&path)));
            } else {
                return Err(format!("{} is no ordinary file, or lies too deep", shown(&path)));
            }
            if files.len() + open.len() > MAX_FILES || bytes > MAX_BYTES {
                return Err(format!(
                    "it has more than {MAX_FILES} files or {} MiB",
                    MAX_BYTES >> 20
                ));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Returns the digest of a plugin: the names, contents and executable bits of its files. Blocks on the disk.
///
/// # Errors
/// As [`folder_files`].
pub fn folder_digest(root: &Path) -> Result<String, String> {
    let mut hash = Sha256::new_with_prefix(b"plugin\0");
    for file in folder_files(root, |_| false)? {
        let name = file.path.as_os_str().as_encoded_bytes();
        let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", file.path.display());
        let opened = bobbin_files::open_file(&root.join(&file.path)).map_err(cannot)?;
        let mut content = Sha256::new();
        let mut opened = opened.take(MAX_BYTES);
        let mut piece = [0; 16 << 10];
        loop {
            match opened.read(&mut piece).map_err(cannot)? {
                0 => break,
                read => content.update(&piece[..read]),
            }
        }
        hash.update(name.len().to_le_bytes());
        hash.update(name);
        hash.update([u8::from(file.found.permissions().mode() & 0o111 != 0)]);
        hash.update(content.finalize());
    }
    Ok(hex::encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_digest_is_of_names_texts_and_what_can_be_run() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("hooks")).unwrap();
        let script = root.join("hooks/look.sh");
        std::fs::write(&script, "exit 0").unwrap();
        let before = folder_digest(&root).unwrap();
        assert_eq!(before, folder_digest(&root).unwrap());
        std::fs::write(&script, "exit 1").unwrap();
        let other_text = folder_digest(&root).unwrap();
        std::fs::write(&script, "exit 0").unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let can_run = folder_digest(&root).unwrap();
        std::fs::rename(&script, root.join("hooks/other.sh")).unwrap();
        let all = BTreeSet::from([before, other_text, can_run, folder_digest(&root).unwrap()]);
        assert_eq!(all.len(), 4);
        std::os::unix::fs::symlink("/etc/passwd", root.join("more")).unwrap();
        assert!(folder_digest(&root).unwrap_err().contains("is a link"));
    }
}
