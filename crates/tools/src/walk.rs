//! Walks a directory as a user would list it: without ignored files, without hidden ones (counted), and never into
//! `.git` or `.craft`. Symbolic links are not followed. Each directory's entries are in order of their names. Paths
//! that a rule hides are left out, with their contents.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobbin_agent_api::policy::{Judgement, PathAccess, Policy};
use bobbin_agent_api::tool::{ToolEnvironment, ToolRefusal};
use bobbin_files::{IgnoreRules, Ignores};
use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

/// Longest glob, bytes.
const MAX_GLOB_BYTES: usize = 1024;

/// The ignore files that count: also those in parents of the base, and without a repository.
const IGNORE_RULES: IgnoreRules = IgnoreRules {
    names: &[".ignore", ".gitignore"],
    parents: true,
    repository: false,
    hidden: false,
};

/// The paths that a walk may show.
#[derive(Clone)]
pub(super) struct Sight {
    root: PathBuf,
    policy: Arc<dyn Policy>,
}

impl Sight {
    /// Returns the paths that the rules of a Turn allow.
    pub(super) fn of(environment: &ToolEnvironment) -> Self {
        Self {
            root: environment.root.clone(),
            policy: environment.policy.clone(),
        }
    }

    fn shows(&self, path: &Path) -> bool {
        let ruling = self.policy.path(PathAccess::Read, path, &self.root);
        ruling.is_none_or(|ruling| ruling.judgement == Judgement::Allow)
    }
}

/// A walk that has not started.
pub(super) struct Walk {
    builder: WalkBuilder,
    hidden: Arc<AtomicUsize>,
}

impl Walk {
    /// Returns a walk of the contents of `base`, which itself may be hidden or ignored.
    pub(super) fn below(base: &Path, sight: Sight) -> Self {
        let hidden = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&hidden);
        let ignores = Ignores::new(base, IGNORE_RULES);
        let mut builder = WalkBuilder::new(base);
        builder
            .standard_filters(false)
            .follow_links(false)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| {
                let name = entry.file_name();
                if entry.depth() == 0 {
                    return true;
                }
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                if ignores.leaves_out(entry.path(), is_directory) {
                    return false;
                }
                if !name.as_encoded_bytes().starts_with(b".") {
                    return sight.shows(entry.path());
                }
                if name != ".git" && name != ".craft" {
                    seen.fetch_add(1, Ordering::Relaxed);
                }
                false
            });
        Self { builder, hidden }
    }

    /// Stops at this depth; 1 is the base's own entries.
    pub(super) fn no_deeper_than(mut self, depth: usize) -> Self {
        self.builder.max_depth(Some(depth));
        self
    }

    /// Returns the entries without the base itself, if it is a directory, and the counter of hidden ones, which grows
    /// during the walk.
    pub(super) fn entries(
        self,
    ) -> (
        impl Iterator<Item = Result<ignore::DirEntry, ignore::Error>>,
        Arc<AtomicUsize>,
    ) {
        let is_base = |entry: &ignore::DirEntry| {
            entry.depth() == 0 && entry.file_type().is_some_and(|kind| kind.is_dir())
        };
        let entries = self
            .builder
            .build()
            .filter(move |entry| !entry.as_ref().is_ok_and(is_base));
        (entries, self.hidden)
    }
}

/// Chooses files by a glob: without a slash it matches names, with a slash it matches paths relative to the base.
#[derive(Debug)]
pub(super) struct Chosen {
    glob: Option<GlobMatcher>,
    by_name: bool,
}

impl Chosen {
    /// # Errors
    /// The glob is invalid.
    pub(super) fn by(glob: Option<&str>) -> Result<Self, ToolRefusal> {
        let Some(text) = glob.filter(|text| !text.is_empty()) else {
            return Ok(Self {
                glob: None,
                by_name: false,
            });
        };
        if text.len() > MAX_GLOB_BYTES {
            return Err(ToolRefusal::Unusable(format!(
                "a glob has at most {MAX_GLOB_BYTES} bytes"
            )));
        }
        let glob = GlobBuilder::new(text.trim_start_matches("./"))
            .literal_separator(true)
            .build()
            .map_err(|error| ToolRefusal::Unusable(format!("the glob is not usable: {error}")))?;
        Ok(Self {
            glob: Some(glob.compile_matcher()),
            by_name: !text.contains('/'),
        })
    }

    /// Returns whether every file is chosen.
    pub(super) fn is_everything(&self) -> bool {
        self.glob.is_none()
    }

    /// Returns whether a file is chosen; `base` is the start of the walk.
    pub(super) fn takes(&self, base: &Path, file: &Path) -> bool {
        let Some(glob) = &self.glob else { return true };
        if self.by_name {
            file.file_name().is_some_and(|name| glob.is_match(name))
        } else {
            glob.is_match(file.strip_prefix(base).unwrap_or(file))
        }
    }
}

/// Returns a file name fit for one line of a result.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}
