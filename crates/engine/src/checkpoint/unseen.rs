//! What a first look had not seen, so that nobody takes it for new when a second one sees it.
//!
//! Two signs: its name, or that of a directory above it, was among those that the first look left out; or the file
//! itself is older than that look. Where the names were too many to be noted, nothing is taken for new. Blocking.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::ledger::Text;

/// What is known of a first look.
#[derive(Debug)]
pub(super) struct Unseen {
    root: PathBuf,
    skipped: Option<HashSet<PathBuf>>,
    since: Duration,
}

impl Unseen {
    /// `skipped` are names relative to `root`, `None` when nobody knows them; `since` is when the look began.
    pub(super) fn of(root: &Path, skipped: Option<Vec<Text>>, since_ns: u64) -> Self {
        Self {
            root: root.to_owned(),
            skipped: skipped.map(|skipped| skipped.iter().map(Text::path).collect()),
            since: Duration::from_nanos(since_ns),
        }
    }

    /// Whether a file that looks new may have been there when the first look was taken. One that was `moved` there from
    /// where the look saw it is as old as it was.
    pub(super) fn may_have_been(&self, path: &Path, moved: bool) -> bool {
        let Some(skipped) = &self.skipped else { return true };
        let named = path.ancestors().any(|above| skipped.contains(above));
        named || (!moved && self.is_older(path))
    }

    /// Whether a file is older than the look, where the file system says how old it is.
    fn is_older(&self, path: &Path) -> bool {
        let about = std::fs::symlink_metadata(self.root.join(path));
        let born = about.and_then(|about| about.created()).ok();
        born.and_then(|born| born.duration_since(UNIX_EPOCH).ok())
            .is_some_and(|born| born < self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::Workspace;

    #[test]
    fn what_was_left_out_or_is_older_may_have_been_there() {
        let workspace = Workspace::new();
        workspace.write("file", "x");
        let unseen = |skipped: Option<&[&str]>, since| {
            let names = |names: &[&str]| names.iter().map(|name| Text::of(Path::new(name))).collect();
            Unseen::of(workspace.root(), skipped.map(names), since)
        };
        let file = Path::new("file");
        assert!(!unseen(Some(&["other"]), 0).may_have_been(file, false));
        assert!(unseen(Some(&["file"]), 0).may_have_been(file, true));
        assert!(unseen(Some(&["target"]), 0).may_have_been(Path::new("target/out/x"), false));
        assert!(unseen(None, 0).may_have_been(file, true));
        // Not every file system says how old a file is.
        if std::fs::metadata(workspace.root().join("file"))
            .unwrap()
            .created()
            .is_ok()
        {
            assert!(unseen(Some(&[]), u64::MAX / 2).may_have_been(file, false));
            assert!(!unseen(Some(&[]), u64::MAX / 2).may_have_been(file, true));
        }
    }
}
