//! Fingerprints: digests of settings and servers that run or loosen something.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use bobbin_agent_api::tool_server::{ServerAccess, ToolServerConfig};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::servers::{ServerFile, definition};

/// Most bytes of a folder's file that count for a fingerprint (guess: scripts have far less).
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Returns the fingerprint of a setting with this value.
pub(crate) fn of_setting(name: &str, value: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(b"setting\0");
    hash.update(name);
    hash.update([0]);
    hash.update(value.to_string());
    text(hash)
}

/// Returns the fingerprint of a server: its definition and the files of the folder that its command line names.
///
/// Files that those files load do not count. Blocks on the disk.
pub fn of_server(config: &ToolServerConfig, root: &Path) -> String {
    let mut hash = Sha256::new();
    hash.update(b"server\0");
    hash.update(definition(config).to_string());
    if let ServerAccess::Stdio {
        command, args, cwd, ..
    } = &config.access
    {
        let cwd = root.join(cwd.as_deref().unwrap_or_default());
        for word in [command].into_iter().chain(args) {
            if let Some(content) = content(&cwd.join(word), root) {
                hash.update([0]);
                hash.update(word);
                hash.update(content);
            }
        }
    }
    text(hash)
}

/// Returns the fingerprint of a server in a file of the folder. A file that fills in variables changes the meaning of
/// a text, so it also changes the fingerprint. Blocks on the disk.
pub(crate) fn of_declared(config: &ToolServerConfig, file: ServerFile, root: &Path) -> String {
    let plain = of_server(config, root);
    if file != ServerFile::McpJson {
        return plain;
    }
    text(Sha256::new_with_prefix(b"mcp.json\0").chain_update(plain))
}

/// Returns the digests of the files of the folder that words of a command line name. Blocks on the disk.
pub(crate) fn of_files(words: &[String], root: &Path) -> Value {
    of_files_in(words, root, root)
}

/// As [`of_files`], for a command line that runs in `directory`. Blocks on the disk.
pub(crate) fn of_files_in(words: &[String], directory: &Path, root: &Path) -> Value {
    let named = words.iter().filter_map(|word| {
        let digest = content(&directory.join(word), root)?;
        Some((word.clone(), Value::from(hex::encode(digest))))
    });
    Value::Object(named.collect())
}

/// Returns the digest of a regular file in the folder: its length and up to [`MAX_FILE_BYTES`] of its content.
fn content(path: &Path, root: &Path) -> Option<Vec<u8>> {
    let real = path.canonicalize().ok().filter(|real| real.starts_with(root))?;
    // Opening a pipe could wait for ever.
    let flags = nix::fcntl::OFlag::O_NONBLOCK | nix::fcntl::OFlag::O_NOFOLLOW;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits())
        .open(real)
        .ok()?;
    let found = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut hash = Sha256::new();
    hash.update(found.len().to_le_bytes());
    let mut file = file.take(MAX_FILE_BYTES);
    let mut piece = [0; 8 << 10];
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => hash.update(&piece[..read]),
            Err(_) => return None,
        }
    }
    Some(hash.finalize().to_vec())
}

fn text(hash: Sha256) -> String {
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server(entry: &Value) -> ToolServerConfig {
        crate::servers::of_section(&json!({ "pantry": entry }))
            .0
            .remove(0)
    }

    #[test]
    fn what_runs_decides_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::write(root.join("serve.py"), "one").unwrap();
        let of = |entry: &Value| of_server(&server(entry), &root);
        let entry = json!({ "command": "python3", "args": ["serve.py"] });
        let before = of(&entry);
        assert_eq!(
            before,
            of(&json!({ "command": "python3", "args": ["serve.py"], "enabled": false }))
        );
        assert_ne!(
            before,
            of(&json!({ "command": "python3", "args": ["serve.py"], "env": { "A": "b" } }))
        );
        std::fs::write(root.join("serve.py"), "two").unwrap();
        assert_ne!(before, of(&entry), "the script that it names has changed");
    }
}
