//! Files that somebody else may have written or may change meanwhile: read in bounded pieces, replaced safely.
//!
//! A workspace can hold a link to `/dev/zero`, a pipe, or a sparse file of many gigabytes where a program expects a small
//! text. Every file that is read because of its name goes through here, and every file that is written or put back for
//! the agent: a [`Batch`] replaces all of its files or none. Knows nothing of Threads, tools and rules. Blocking.

mod batch;
mod directory;
mod ignores;
mod leftovers;
mod read;

use std::path::Path;

pub use batch::{Batch, Kind, MAX_FILE_BYTES, Still, Want, as_read, remove_directory};
pub use directory::{Found, Stamp, find, open_file};
pub use ignores::{IgnoreRules, Ignores};
pub use leftovers::{Leftovers, clear};
pub use read::{open_regular, read_bytes, read_text};

/// Returns a path as users see it: relative to `root` where it lies inside, else absolute.
pub fn shown(root: &Path, path: &Path) -> String {
    let text = match path.strip_prefix(root) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".into(),
        Ok(inside) => inside.to_string_lossy(),
        Err(_) => path.to_string_lossy(),
    };
    text.into_owned()
}
