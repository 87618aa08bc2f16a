//! Fingerprints: digests of settings and of files that run or loosen something.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Most bytes of a folder's file that count for a fingerprint (guess: scripts have far less).
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Returns the fingerprint of a setting with this value.
pub fn of_setting(name: &str, value: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(b"setting\0");
    hash.update(name);
    hash.update([0]);
    hash.update(value.to_string());
    hex::encode(hash.finalize())
}

/// Returns the digests of the files of the folder that words of a command line name. Blocks on the disk.
pub fn of_files(words: &[String], root: &Path) -> Value {
    of_files_in(words, root, root)
}

/// As [`of_files`], for a command line that runs in `directory`. Blocks on the disk.
pub fn of_files_in(words: &[String], directory: &Path, root: &Path) -> Value {
    let named = words.iter().filter_map(|word| {
        let digest = file_digest(&directory.join(word), root)?;
        Some((word.clone(), Value::from(hex::encode(digest))))
    });
    Value::Object(named.collect())
}

/// Returns the digest of a regular file in the folder `root`: its length and up to `MAX_FILE_BYTES` of its content.
pub fn file_digest(path: &Path, root: &Path) -> Option<Vec<u8>> {
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
