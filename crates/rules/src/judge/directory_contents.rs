//! Files that a command reaches without naming them: the content of its directories.
//!
//! A rule for paths is compared with the words of a command. `grep -r key .` names no file of a rule, but shows all
//! of them. So a command that reads a directory with a refused file in it needs a question. If the command is known
//! to show file contents, the rule also counts as possibly missed.
//!
//! The list of such programs covers known cases only. Programs that read without being given a directory are not
//! covered.

use std::path::{Path, PathBuf};

use super::Judge;
use super::paths::{MAX_LOOKS, named_by};
use super::searcher::{Searcher, follows, searcher};
use crate::cwd::said;
use crate::pattern::Mask;
use crate::rule::Kind;
use crate::shell::{Word, pieces};
use crate::{Ambiguity, Judgement, Look, PathUse};

/// Most directories walked through for one line.
const MAX_DIRECTORIES: usize = 8;
/// Programs that show names of files and not their contents, or do nothing with them.
const NAMES_ONLY: &[&str] = &[
    "basename", "cd", "chdir", "dirname", "du", "echo", "fd", "fdfind", "find", "ls", "mkdir", "printf",
    "pushd", "pwd", "readlink", "realpath", "rmdir", "stat", "test", "touch", "tree", "[",
];

/// Options with which `find` runs a program.
const RUNS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
/// Programs that show or copy everything under a directory they are given.
const TAKES_ALL: &[&str] = &[
    "7z", "bsdtar", "cp", "cpio", "gtar", "ln", "mv", "pax", "rclone", "rsync", "scp", "tar", "zip",
];

impl Judge<'_> {
    /// Returns a rule that refuses a file under a directory that a command reads, and whether the command is known
    /// to show that file.
    pub(super) fn refused_contents(
        &mut self,
        words: &[Word],
        bare: &[&str],
        directories: &[PathBuf],
    ) -> Option<(usize, bool)> {
        let name = program(&words[0].text);
        // It passes the files it finds to another program.
        let finds = name == "find" && words.iter().any(|word| RUNS.contains(&word.text.as_str()));
        if !self.has_path_rules() || (NAMES_ONLY.contains(&name.as_str()) && !finds) {
            return None;
        }
        let searcher = self.searcher(&name, words, bare, directories);
        let look = match &searcher {
            Some(searcher) => searcher.look,
            None => Look {
                links: follows(&name, &texts(&words[1..])),
                ..Look::default()
            },
        };
        let mut places = Vec::new();
        let named = if finds { names_of_find(words) } else { None };
        let reads_here = finds
            && words
                .get(1)
                .is_none_or(|word| word.text.starts_with(['-', '(', '!']));
        if reads_here {
            places.extend(directories.iter().cloned());
        }
        if searcher.as_ref().is_some_and(|searcher| searcher.reads_here) {
            places.extend(directories.iter().cloned());
        }
        for word in &words[1..] {
            for text in named_by(&word.text) {
                let text = said(word, text, self.rules.home());
                for from in directories {
                    // Counted separately from the lookups for the words themselves.
                    if self.contents_lookups == MAX_LOOKS {
                        self.ambiguous(Ambiguity::TooMuch);
                        return None;
                    }
                    self.contents_lookups += 1;
                    places.extend(self.places.find(from, &text).map(|place| place.path));
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        for place in places {
            let may_read = |path: &Path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_named = named.as_ref().is_none_or(|named| named.fits(&name));
                is_named && searcher.as_ref().is_none_or(|searcher| searcher.may_read(path))
            };
            if let Some(rule) = self.refusing_rule(&place, look, &may_read) {
                let takes_all = finds || TAKES_ALL.contains(&name.as_str());
                return Some((rule, takes_all || searcher.is_some()));
            }
        }
        None
    }

    fn searcher<'a>(
        &self,
        name: &str,
        words: &'a [Word],
        bare: &[&'a str],
        directories: &[PathBuf],
    ) -> Option<Searcher<'a>> {
        let all = texts(words);
        // Without options of git itself, the command has no second form.
        let view = if bare.is_empty() { &all[..] } else { bare };
        let git = (name == "git" && view.get(1) == Some(&"grep")).then(|| &view[2..]);
        let exact = words.iter().all(|word| word.exact);
        let is_directory = |text: &str| {
            let mut places = directories.iter().map(|from| self.places.find(from, text));
            places.all(|place| place.is_some_and(|place| self.places.is_directory(&place.path)))
        };
        searcher(name, &all[1..], git, exact, is_directory)
    }

    fn refusing_rule(
        &mut self,
        directory: &Path,
        look: Look,
        may_read: &dyn Fn(&Path) -> bool,
    ) -> Option<usize> {
        let root = self.places.root();
        let patterns: Vec<_> = self
            .rules
            .rules()
            .iter()
            .enumerate()
            .filter(|(_, rule)| rule.judgement > Judgement::Allow)
            .filter_map(|(at, rule)| match &rule.subject.0 {
                Kind::Path(used, pattern) if *used != Some(PathUse::Write) => Some((at, pattern)),
                _ => None,
            })
            // Links may lead out of the directory.
            .filter(|(_, pattern)| look.links || pattern.may_reach(directory, root))
            .collect();
        let (first, _) = patterns.first()?;
        if !self.places.is_directory(directory) {
            return None;
        }
        if self.walks == MAX_DIRECTORIES {
            // Treated as a directory with too many entries.
            return Some(*first);
        }
        self.walks += 1;
        let covered = |path: &Path| patterns.iter().any(|(_, pattern)| pattern.covers(path, root));
        let fits = |path: &Path| may_read(path) && covered(path);
        self.places.contains(directory, look, &fits).then_some(*first)
    }
}

/// Returns the pattern of names that `find` finds, if a single `-name` gives one.
fn names_of_find(words: &[Word]) -> Option<Mask> {
    let joins = |word: &Word| matches!(word.text.as_str(), "-o" | "-or" | "!" | "-not" | "," | "-path");
    let at = words.iter().position(|word| word.text == "-name")?;
    let name = words.get(at + 1).filter(|name| name.exact)?;
    let before_run = words
        .iter()
        .take_while(|word| !RUNS.contains(&word.text.as_str()))
        .count();
    (at < before_run && !words.iter().any(joins)).then(|| Mask::of(&pieces(&name.text)))
}

/// Returns the last part of a program's name.
fn program(text: &str) -> String {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.to_ascii_lowercase()
}

fn texts(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}
