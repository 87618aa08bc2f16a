//! Paths in a line, compared with rules for paths from every directory in which the command may run.

use std::path::{Path, PathBuf};

use super::{Judge, shown};
use crate::cwd::said;
use crate::rule::Kind;
use crate::shell::{Redirect, Word};
use crate::{Ambiguity, Because, Judgement, Part, PathStatus, PathUse};

/// Most path lookups for one line: one word from one directory each.
pub(super) const MAX_LOOKS: usize = 2048;
/// Most parts of a word that are resolved besides the whole word.
const MAX_PARTS_OF_A_WORD: usize = 16;
/// Writing to these goes to the command's own output.
const OUTPUTS: &[&str] = &["/dev/stdout", "/dev/stderr"];

impl Judge<'_> {
    /// Whether a rule refuses or asks about paths.
    pub(super) fn has_path_rules(&self) -> bool {
        let mut rules = self.rules.rules().iter();
        rules.any(|rule| matches!(rule.subject.0, Kind::Path(..)) && rule.judgement > Judgement::Allow)
    }

    /// Compares every word of a command that may be a path with the rules for paths.
    pub(super) fn paths_of(&mut self, words: &[Word], directories: &[PathBuf]) -> Option<(Judgement, usize)> {
        if !self.has_path_rules() {
            return None;
        }
        let mut highest: Option<(Judgement, usize)> = None;
        for word in &words[1..] {
            for text in named_by(&word.text) {
                let text = said(word, text, self.rules.home());
                for directory in directories {
                    if self.looks == MAX_LOOKS {
                        self.ambiguous(Ambiguity::TooMuch);
                        return highest;
                    }
                    self.looks += 1;
                    let Some(place) = self.places.find(directory, &text) else {
                        continue;
                    };
                    if place.status == PathStatus::Unknown {
                        self.ambiguous(Ambiguity::PathTarget);
                    }
                    let read = self.path_rule(PathUse::Read, &place.path);
                    // It is unknown whether the command would write.
                    let write = self.path_rule(PathUse::Write, &place.path);
                    let write = write.map(|(judgement, rule)| (judgement.min(Judgement::Ask), rule));
                    for one in [read, write].into_iter().flatten() {
                        if one.0 > highest.map_or(Judgement::Allow, |(judgement, _)| judgement) {
                            highest = Some(one);
                        }
                    }
                }
            }
        }
        highest
    }

    /// Whether a rule allows writing the file of a redirection, from every directory in which the command may run.
    fn may_write(&self, redirect: &Redirect, directories: &[PathBuf]) -> bool {
        let target = &redirect.target;
        target.exact
            && directories.iter().all(|directory| {
                let Some(place) = self.places.find(directory, &target.text) else {
                    return false;
                };
                let known = matches!(place.status, PathStatus::Inside | PathStatus::Outside);
                let rule = self.path_rule(PathUse::Write, &place.path);
                known && matches!(rule, Some((Judgement::Allow, _)))
            })
    }

    /// Returns the rules' judgement of a resolved path.
    fn path_rule(&self, used: PathUse, path: &Path) -> Option<(Judgement, usize)> {
        let comparisons = self.rules.rules().len() * path.as_os_str().len();
        if !self.work.spend(comparisons) {
            return None;
        }
        self.rules.path(used, path, self.places.root())
    }

    /// Judges the file of a redirection.
    pub(super) fn redirect(&mut self, redirect: &Redirect, directories: &[PathBuf]) -> Judgement {
        let target = &redirect.target;
        let mut judgement = Judgement::Allow;
        if redirect.writes && !self.may_write(redirect, directories) {
            judgement = self.ambiguous(Ambiguity::Redirection);
        }
        if !self.has_path_rules() {
            return judgement;
        }
        let uses = [
            redirect.writes.then_some(PathUse::Write),
            redirect.reads.then_some(PathUse::Read),
        ];
        let text = said(target, &target.text, self.rules.home());
        for directory in directories {
            if self.looks == MAX_LOOKS {
                return judgement.max(self.ambiguous(Ambiguity::TooMuch));
            }
            self.looks += 1;
            let Some(place) = self.places.find(directory, &text) else {
                continue;
            };
            let is_output = !redirect.reads && OUTPUTS.contains(&target.text.as_str());
            if place.status == PathStatus::Unknown && !is_output {
                judgement = judgement.max(self.ambiguous(Ambiguity::PathTarget));
            }
            for used in uses.into_iter().flatten() {
                if let Some((said, rule)) = self.path_rule(used, &place.path)
                    && said > Judgement::Allow
                {
                    judgement = judgement.max(said);
                    self.rule_asks = true;
                    self.parts.push(Part {
                        text: shown(std::slice::from_ref(target)),
                        judgement: said,
                        because: Because::Rule(rule),
                    });
                }
            }
        }
        judgement
    }
}

/// Returns the texts in a word that may be paths: the whole word, and parts of it as in `--file=path`, `@path`,
/// `HEAD:path`, `-fpath` or `{path,path}`.
pub(super) fn named_by(word: &str) -> impl Iterator<Item = &str> {
    let parts = word
        .split(['=', ':', '@', ',', '{', '}'])
        .filter(move |part| !part.is_empty() && part.len() < word.len())
        .take(MAX_PARTS_OF_A_WORD);
    let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let mut letters = short.unwrap_or_default().chars();
    let value = letters
        .next()
        .map(|_| letters.as_str())
        .filter(|value| !value.is_empty());
    std::iter::once(word).chain(parts).chain(value)
}
