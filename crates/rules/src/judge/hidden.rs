//! Words that are known only at run time, and that a rule may refuse.
//!
//! Such a line needs a question anyway. If no user can be asked, the line is not run, but only if a rule may
//! refuse the word: `cargo build $FLAGS` runs where `git push` is refused.

use super::Judge;
use crate::rule::Kind;
use crate::shell::{Piece, Word};
use crate::wrapper::{name, without_git_options};
use crate::{Ambiguity, Judgement, PathUse};

/// Programs that do not open files that their words name.
const TEXT_ONLY: &[&str] = &[
    ":", "declare", "echo", "exit", "export", "expr", "false", "kill", "local", "printf", "readonly",
    "return", "seq", "sleep", "true", "typeset",
];
/// Prefixes of git settings that run nothing.
const QUIET_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "commit.gpgsign=",
    "core.autocrlf=",
    "core.quotepath=",
    "diff.algorithm=",
    "init.defaultbranch=",
    "safe.directory=",
    "user.email=",
    "user.name=",
];

impl Judge<'_> {
    /// Whether a rule refuses commands.
    fn refuses_commands(&self) -> bool {
        let mut rules = self.rules.rules().iter();
        rules.any(|rule| rule.judgement == Judgement::Deny && matches!(rule.subject.0, Kind::Command(_)))
    }

    fn refuses_paths(&self) -> bool {
        let mut rules = self.rules.rules().iter();
        rules.any(|rule| {
            rule.judgement == Judgement::Deny
                && matches!(&rule.subject.0, Kind::Path(used, _) if *used != Some(PathUse::Write))
        })
    }

    /// Records that a command may become one that a rule refuses.
    pub(super) fn hidden(&mut self, words: &[Word]) {
        let Some(unknown) = words.iter().find(|word| !word.exact) else {
            return;
        };
        let length: usize = words.iter().map(|word| word.text.len()).sum();
        if !self.work.spend(length) {
            return;
        }
        let text = unknown.text.clone();
        let refused = self.rules.rules().iter().any(|rule| match &rule.subject.0 {
            Kind::Command(pattern) if rule.judgement == Judgement::Deny => pattern.may_fit(words, &self.work),
            _ => false,
        });
        if refused {
            self.ambiguous(Ambiguity::Hidden(text));
            return;
        }
        if let Some(bare) = without_git_options(words) {
            self.hidden(&bare);
        }
        let is_text = words[0].exact && TEXT_ONLY.contains(&name(&words[0]).as_str());
        if !is_text {
            for word in words {
                self.hidden_path(word);
            }
        }
    }

    /// Records that the shell may change to a directory from which the line's paths are others.
    pub(super) fn hidden_moves(&mut self, words: &[Word]) {
        if let Some(word) = words.iter().find(|word| word.is_wild())
            && self.refuses_paths()
        {
            self.ambiguous(Ambiguity::Hidden(word.text.clone()));
        }
    }

    /// Records that a word may become a path that a rule refuses.
    pub(super) fn hidden_path(&mut self, word: &Word) {
        if word.exact || word.is_wild() || is_place(word) || !self.refuses_paths() {
            return;
        }
        self.ambiguous(Ambiguity::Hidden(word.text.clone()));
    }

    /// Records that a command takes its commands from an unknown source.
    pub(super) fn hidden_commands(&mut self) {
        if self.refuses_commands() || self.refuses_paths() {
            self.ambiguous(Ambiguity::HiddenCommands);
        }
    }

    /// Records git settings that may run a program or define an alias.
    pub(super) fn hidden_settings(&mut self, words: &[Word]) {
        if name(&words[0]) != "git" || !self.refuses_commands() {
            return;
        }
        let is_quiet = |setting: &str| {
            let setting = setting.to_ascii_lowercase();
            QUIET_SETTINGS.iter().any(|quiet| setting.starts_with(quiet))
        };
        let mut before = "";
        for word in &words[1..] {
            let text = word.text.as_str();
            let sets = match text.strip_prefix("-c").filter(|rest| !rest.is_empty()) {
                Some(setting) if setting.contains('=') && before != "commit" => !is_quiet(setting),
                _ if before == "-c" => text.contains('=') && !is_quiet(text),
                _ => text.starts_with("--config-env") || text.starts_with("--exec-path="),
            };
            let makes = text.to_ascii_lowercase().starts_with("alias.");
            if sets || makes {
                self.ambiguous(Ambiguity::Hidden(text.to_owned()));
                return;
            }
            before = text;
        }
    }
}

/// Whether a word is a known directory followed by a known rest.
fn is_place(word: &Word) -> bool {
    let Some((first, rest)) = word.pieces.split_first() else {
        return false;
    };
    let known = matches!(first, Piece::Variable { name, .. } if matches!(name.as_str(), "~" | "HOME" | "PWD" | "OLDPWD"));
    known && rest.iter().all(|piece| matches!(piece, Piece::Text(_)))
}
