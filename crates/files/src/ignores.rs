//! Decides which entries of a directory tree its ignore files exclude, as git, ripgrep and similar programs do.
//!
//! The ignore files come from the workspace, so they are untrusted: each must be an ordinary file and no link, and is
//! bounded in bytes. A refused file counts as empty, and [`Ignores::is_complete`] says so.
//!
//! Bounded by [`MAX_FILE_BYTES`], [`MAX_LIVE_BYTES`] and [`MAX_READ_BYTES`]. Retains the matchers of the directories
//! between the base and the last queried entry, so it is fast for a depth-first walk.

use std::io;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use parking_lot::Mutex;

use crate::read::{open_unlinked, read};

/// Largest ignore file (guess: ten times the longest in use).
const MAX_FILE_BYTES: u64 = 64 << 10;
/// Most bytes of ignore files with matchers in memory; the matchers take 80 MB at worst (measured).
const MAX_LIVE_BYTES: u64 = 256 << 10;
/// Most bytes of ignore files for one walk: compiling them takes 5 s at worst (measured).
const MAX_READ_BYTES: u64 = 2 << 20;
/// Longest file in which git names a directory.
const MAX_NAMING_BYTES: u64 = 4096;

/// The ignore files that count.
#[derive(Debug, Clone, Copy)]
pub struct IgnoreRules {
    /// Their names, strongest first. `.git/info/exclude` comes after them.
    pub names: &'static [&'static str],
    /// Whether those in parents of the base count too.
    pub parents: bool,
    /// Whether git's ignore files count only inside a repository, and only that repository's.
    pub repository: bool,
    /// Whether hidden entries are excluded, unless an ignore file includes them.
    pub hidden: bool,
}

/// The entries that ignore files exclude, relative to a base.
#[derive(Debug)]
pub struct Ignores {
    rules: IgnoreRules,
    state: Mutex<IgnoreState>,
}

#[derive(Debug)]
struct IgnoreState {
    /// From the outermost directory to that of the last query; never empty.
    levels: Vec<Level>,
    /// How many levels stay for the whole walk: those of the base and its parents.
    fixed: usize,
    live: u64,
    read: u64,
    complete: bool,
}

#[derive(Debug)]
struct Level {
    directory: PathBuf,
    /// In the order of the names, then git's excludes.
    matchers: Vec<Option<Gitignore>>,
    is_repository: bool,
    bytes: u64,
}

impl Ignores {
    /// Reads the ignore files of the base, and of its parents where they count. The base is an absolute path.
    pub fn new(base: &Path, rules: IgnoreRules) -> Self {
        let mut state = IgnoreState {
            levels: Vec::new(),
            fixed: 0,
            live: 0,
            read: 0,
            complete: true,
        };
        let parents = base.ancestors().skip(1).filter(|_| rules.parents);
        let parents: Vec<&Path> = parents.collect();
        for directory in parents.into_iter().rev().chain([base]) {
            state.enter(directory, rules);
        }
        state.fixed = state.levels.len();
        Self {
            rules,
            state: Mutex::new(state),
        }
    }

    /// Returns whether an entry in the base is excluded. The path is absolute; entries of an excluded directory are not
    /// queried.
    pub fn leaves_out(&self, path: &Path, is_directory: bool) -> bool {
        let mut state = self.state.lock();
        if let Some(directory) = path.parent() {
            state.go_to(directory, self.rules);
        }
        state.matches(path, is_directory, self.rules)
    }

    /// Returns whether every existing ignore file could be read.
    pub fn is_complete(&self) -> bool {
        self.state.lock().complete
    }
}

impl IgnoreState {
    /// Makes a directory in the base the last level.
    fn go_to(&mut self, directory: &Path, rules: IgnoreRules) {
        // Most entries are in the directory of the last one, and comparing names part by part takes longer.
        let last = self.levels.last();
        if last.is_some_and(|last| last.directory.as_os_str() == directory.as_os_str()) {
            return;
        }
        while self.levels.len() > self.fixed
            && let Some(left) = self
                .levels
                .pop_if(|level| !directory.starts_with(&level.directory))
        {
            self.live -= left.bytes;
        }
        let Some(last) = self.levels.last() else { return };
        let Ok(deeper) = directory.strip_prefix(&last.directory) else {
            return;
        };
        let mut reached = last.directory.clone();
        for part in deeper {
            reached.push(part);
            self.enter(&reached, rules);
        }
    }

    fn enter(&mut self, directory: &Path, rules: IgnoreRules) {
        let before = self.live;
        let mut matchers: Vec<Option<Gitignore>> = rules
            .names
            .iter()
            .map(|name| self.matcher(directory, &directory.join(name)))
            .collect();
        matchers.push(
            git_directory(directory).and_then(|git| self.matcher(directory, &git.join("info/exclude"))),
        );
        let is_there = |name: &str| directory.join(name).symlink_metadata().is_ok();
        self.levels.push(Level {
            directory: directory.to_owned(),
            matchers,
            is_repository: rules.repository && (is_there(".git") || is_there(".jj")),
            bytes: self.live - before,
        });
    }

    /// Reads an ignore file.
    fn matcher(&mut self, directory: &Path, path: &Path) -> Option<Gitignore> {
        let text = match self.text(path) {
            Ok(text) => text,
            Err(error) if is_missing(&error) => return None,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "an ignore file is not read");
                self.complete = false;
                return None;
            }
        };
        let mut builder = GitignoreBuilder::new(directory);
        for line in text.trim_start_matches('\u{feff}').lines() {
            // An invalid glob is skipped, as git does.
            drop(builder.add_line(None, line));
        }
        match builder.build() {
            Ok(matcher) => {
                self.live += text.len() as u64;
                Some(matcher)
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "an ignore file is not used");
                self.complete = false;
                None
            }
        }
    }

    fn text(&mut self, path: &Path) -> io::Result<String> {
        let file = open_unlinked(path)?;
        let left = MAX_LIVE_BYTES.saturating_sub(self.live);
        let left = left.min(MAX_READ_BYTES.saturating_sub(self.read));
        let bytes = read(file, left.min(MAX_FILE_BYTES))?;
        self.read += bytes.len() as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn matches(&self, path: &Path, is_directory: bool, rules: IgnoreRules) -> bool {
        let in_repository = !rules.repository || self.levels.iter().any(|level| level.is_repository);
        for strength in 0..=rules.names.len() {
            let is_gits = rules.names.get(strength).is_none_or(|name| *name == ".gitignore");
            if is_gits && !in_repository {
                continue;
            }
            for level in self.levels.iter().rev() {
                let matcher = level.matchers.get(strength).and_then(Option::as_ref);
                match matcher.map_or(Match::None, |matcher| matcher.matched(path, is_directory)) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
                if is_gits && level.is_repository {
                    break;
                }
            }
        }
        rules.hidden && is_hidden(path)
    }
}

fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns the directory that all work trees of a repository share, for a directory with a `.git`.
fn git_directory(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    let named = |path: &Path, word: &str| {
        let text = read(open_unlinked(path).ok()?, MAX_NAMING_BYTES).ok()?;
        let text = String::from_utf8(text).ok()?;
        Some(path.parent()?.join(text.strip_prefix(word)?.trim_end()))
    };
    let found = git.symlink_metadata().ok()?;
    if !found.is_file() {
        return Some(git);
    }
    let own = named(&git, "gitdir: ")?;
    Some(named(&own.join("commondir"), "").unwrap_or(own))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
#[path = "ignores_tests.rs"]
mod tests;
