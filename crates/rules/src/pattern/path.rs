//! A pattern of paths: relative to the workspace, absolute, or relative to the home directory.
//!
//! `*` and `?` stay within a part, `**` crosses parts. A pattern that fits a directory covers everything in it.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// The base of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Base {
    /// The workspace, which the caller passes with each question.
    Workspace,
    /// This directory.
    At(PathBuf),
}

/// The places that a rule refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusedPlace {
    /// The whole file or directory.
    All(PathBuf),
    /// Some entries of this directory.
    Within(PathBuf),
}

/// The paths of a rule.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    text: String,
    base: Base,
    glob: GlobMatcher,
}

impl PathPattern {
    /// Reads a pattern; `home` replaces `~`.
    pub(crate) fn new(text: &str, home: Option<&Path>) -> Option<Self> {
        let (base, rest) = if let Some(rest) = text.strip_prefix("~/") {
            (Base::At(home?.to_owned()), rest)
        } else if let Some(rest) = text.strip_prefix('/') {
            (Base::At(PathBuf::from("/")), rest)
        } else {
            (Base::Workspace, text.strip_prefix("./").unwrap_or(text))
        };
        let rest = rest.trim_end_matches('/');
        let rest = if rest.is_empty() { "**" } else { rest };
        let glob = GlobBuilder::new(rest)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .ok()?;
        Some(Self {
            text: text.to_owned(),
            base,
            glob: glob.compile_matcher(),
        })
    }

    /// Returns the pattern's text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the place of fitting paths, as far as the pattern determines it.
    pub(crate) fn place(&self, root: &Path) -> RefusedPlace {
        let (base, rest) = match &self.base {
            Base::Workspace => (root, self.text.strip_prefix("./").unwrap_or(&self.text)),
            Base::At(base) => (
                base.as_path(),
                self.text.trim_start_matches('~').trim_start_matches('/'),
            ),
        };
        let special = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let known = parts.iter().take_while(|part| !special(part)).count();
        let mut start = base.to_owned();
        start.extend(&parts[..known]);
        // All entries of a directory mean the directory.
        match parts[known..] {
            [] | ["**"] if known > 0 => RefusedPlace::All(start),
            _ => RefusedPlace::Within(start),
        }
    }

    /// Whether an entry under a directory may fit, as far as the pattern determines it.
    pub(crate) fn may_reach(&self, directory: &Path, root: &Path) -> bool {
        let (RefusedPlace::All(start) | RefusedPlace::Within(start)) = self.place(root);
        start.starts_with(directory) || directory.starts_with(&start)
    }

    /// Whether a resolved path itself fits.
    pub(crate) fn fits(&self, path: &Path, root: &Path) -> bool {
        let base = match &self.base {
            Base::Workspace => root,
            Base::At(base) => base,
        };
        path.strip_prefix(base)
            .is_ok_and(|inside| self.glob.is_match(inside))
    }

    /// Whether a resolved path, or a directory that contains it, fits.
    pub(crate) fn covers(&self, path: &Path, root: &Path) -> bool {
        let base = match &self.base {
            Base::Workspace => root,
            Base::At(base) => base,
        };
        let Ok(inside) = path.strip_prefix(base) else {
            return false;
        };
        inside.ancestors().any(|part| self.glob.is_match(part))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(".env", "/w/.env", true)]
    #[case(".env", "/w/a/.env", false)]
    #[case("**/.env", "/w/a/.env", true)]
    #[case("**/.env", "/w/.env", true)]
    #[case("docs/**", "/w/docs/a/b", true)]
    #[case("docs/", "/w/docs/a/b", true)]
    #[case("docs/*.md", "/w/docs/a/b.md", false)]
    #[case("~/.ssh", "/home/mika/.ssh/id", true)]
    #[case("~/.ssh", "/w/.ssh/id", false)]
    #[case("/etc", "/etc/passwd", true)]
    #[case("/etc", "/etcetera", false)]
    #[case("**", "/w/a", true)]
    #[case("**", "/x/a", false)]
    #[case("/**", "/x/a", true)]
    fn a_pattern_covers_what_fits_and_what_is_in_it(
        #[case] pattern: &str,
        #[case] path: &str,
        #[case] covers: bool,
    ) {
        let pattern = PathPattern::new(pattern, Some(Path::new("/home/mika"))).unwrap();
        assert_eq!(pattern.covers(Path::new(path), Path::new("/w")), covers);
    }

    #[test]
    fn what_is_no_pattern_is_none() {
        assert!(PathPattern::new("a[", None).is_none());
        assert!(PathPattern::new("~/x", None).is_none());
    }
}
