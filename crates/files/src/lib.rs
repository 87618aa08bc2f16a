//! Reads and replaces files that other programs may have written or may change meanwhile, within bounds and safely.
//!
//! Instead of an expected small text, a workspace can have a link to `/dev/zero`, a pipe, or a sparse file of many
//! gigabytes. This crate reads every file that is chosen by its name, and writes and restores every file for the agent:
//! a [`Batch`] replaces all of its files or none. Knows nothing of Threads, tools and rules. Blocking.

mod batch;
mod directory;
mod ignores;
mod leftovers;
mod named;
mod read;
pub mod search;

use std::path::Path;

pub use batch::{Batch, Kind, MAX_FILE_BYTES, Still, Want, as_read, remove_directory};
pub use directory::{FileState, Fingerprint, Opener, find, open_file};
pub use ignores::{IgnoreRules, Ignores};
pub use leftovers::{Leftovers, clear};
pub use named::{overwrite_named, without_links_of};
pub use read::{fingerprint, open_regular, read_bytes, read_text, read_text_unlinked};

/// Returns a path for display: relative to `root` if it is inside, otherwise absolute.
pub fn shown(root: &Path, path: &Path) -> String {
    let text = match path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
        Ok(inside) => inside.to_string_lossy(),
        Err(_) => path.to_string_lossy(),
    };
    text.into_owned()
}
