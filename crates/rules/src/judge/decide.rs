//! Judges one command: the rules that name it, its paths, and the commands that it runs.

use std::cell::Cell;

use super::{CommandContext, Judge, MAX_PARTS, shown};
use crate::cwd::{chosen, is_lost};
use crate::git_settings::changes_git_settings;
use crate::loses::loses;
use crate::pattern::Reach;
use crate::reads::{ReadContext, is_plain_read};
use crate::rule::Kind;
use crate::shell::Word;
use crate::wrapper::{
    changes_the_shell, hazard, inner_commands, runs_a_script, takes_subcommand, without_git_options,
};
use crate::{Ambiguity, Because, Judgement, Part};

impl Judge<'_> {
    /// Judges one command and the commands it runs, and records them for the explanation.
    pub(super) fn command(&mut self, words: &[Word], found: &CommandContext<'_>) -> Judgement {
        if self.parts.len() >= MAX_PARTS {
            return self.ambiguous(Ambiguity::TooMuch);
        }
        if words[0].exact && !self.programs.contains(&words[0].text) {
            self.programs.push(words[0].text.clone());
        }
        self.changes_git_settings |= changes_git_settings(words);
        self.loses |= loses(words, found.directories, self.machine());
        let at = self.parts.len();
        self.parts.push(Part {
            text: shown(words),
            judgement: Judgement::Ask,
            because: Because::NoRule,
        });
        let (judgement, because) = self.decide(words, found);
        self.parts[at].judgement = judgement;
        self.parts[at].because = because;
        judgement
    }

    fn decide(&mut self, words: &[Word], found: &CommandContext<'_>) -> (Judgement, Because) {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let bare = without_git_options(words).unwrap_or_default();
        let bare: Vec<&str> = bare.iter().map(|word| word.text.as_str()).collect();
        let views: [&[&str]; 2] = [&texts, &bare];

        if let Some(rule) = self.first(Judgement::Deny, &views) {
            return (Judgement::Deny, Because::Rule(rule));
        }
        self.hidden(words);
        self.hidden_settings(words);
        let mut highest = (Judgement::Allow, Because::NoRule);
        let mut raise = |judgement: Judgement, because: Because| {
            if judgement > highest.0 {
                highest = (judgement, because);
            }
        };
        let chosen = if self.has_path_rules() {
            chosen(words, found.directories, self.machine())
        } else {
            found.directories.to_vec()
        };
        let inside = CommandContext {
            directories: &chosen,
            ..*found
        };
        if let Some((judgement, rule)) = self.paths_of(words, &chosen) {
            self.rule_asks = true;
            raise(judgement, Because::Rule(rule));
        }
        if let Some((rule, is_shown)) = self.refused_contents(words, &bare, &chosen) {
            self.rule_asks = true;
            let ambiguity = Ambiguity::RefusedContents(rule);
            if is_shown {
                self.ambiguous(ambiguity.clone());
            }
            raise(Judgement::Ask, Because::Ambiguity(ambiguity));
        }
        let by_name = self.named(&texts, words);
        let carries = inner_commands(words);
        if let Some(inner) = &carries {
            self.reads_commands |= matches!(
                inner.ambiguity,
                Some(Ambiguity::ShellInput(_) | Ambiguity::WrapperArguments(_))
            );
            self.shell_input |=
                matches!(inner.ambiguity, Some(Ambiguity::ShellInput(_))) && !runs_a_script(words);
            for command in &inner.commands {
                let judgement = self.command(command, &inside);
                let because = self.last_reason(judgement);
                // A command that a rule names in full is allowed together with the commands it runs, unless a rule
                // is about those.
                if by_name.is_none() || matches!(because, Because::Rule(_)) {
                    raise(judgement, because);
                }
            }
            for text in &inner.texts {
                let judgement = self.text(&text.text, &chosen, found.has_input, found.nested + 1);
                raise(judgement, self.last_reason(judgement));
                if !text.exact {
                    raise(Judgement::Ask, Because::Ambiguity(Ambiguity::DynamicName));
                }
            }
            if inner.is_open
                && let Some(rule) = self.inside(words, &texts)
            {
                raise(Judgement::Deny, Because::Rule(rule));
            }
        }
        if let Some(rule) = self.first(Judgement::Ask, &views) {
            self.rule_asks = true;
            raise(Judgement::Ask, Because::Rule(rule));
        }
        if let Some(ambiguity) = carries.as_ref().and_then(|inner| inner.ambiguity.clone())
            && by_name.is_none()
        {
            raise(Judgement::Ask, Because::Ambiguity(ambiguity));
        }
        if !words[0].exact || words[0].text.is_empty() {
            raise(Judgement::Ask, Because::Ambiguity(Ambiguity::DynamicName));
        }
        if is_lost(words, found.directories, self.machine()) {
            self.hidden_moves(words);
            raise(Judgement::Ask, Because::Ambiguity(Ambiguity::Whereabouts));
        }
        if matches!(texts[0], "." | "source") || (texts[0] == "hash" && texts.len() > 2) {
            self.hidden_commands();
        }
        if changes_the_shell(words) {
            raise(
                Judgement::Ask,
                Because::Ambiguity(Ambiguity::ShellState(texts[0].to_owned())),
            );
        }
        if highest.0 > Judgement::Allow {
            return highest;
        }
        // A light wrapper around an allowed command.
        if let Some(inner) = carries
            && by_name.is_none()
            && !(inner.commands.is_empty() && inner.texts.is_empty())
        {
            return (Judgement::Allow, self.last_reason(Judgement::Allow));
        }
        self.allowed(&texts, words, found)
    }

    /// Returns a rule that refuses commands beginning with any of these words, and records words that may be
    /// refused.
    fn inside(&mut self, words: &[Word], texts: &[&str]) -> Option<usize> {
        for at in (1..words.len()).filter(|at| !words[*at].exact) {
            self.hidden(&words[at..]);
        }
        (1..texts.len())
            .take_while(|_| !self.work.is_over())
            .find_map(|at| self.first(Judgement::Deny, &[&texts[at..]]))
    }

    /// Returns a rule that allows a command that runs another, and that names it to the last word, or up to its
    /// subcommand.
    fn named(&self, texts: &[&str], words: &[Word]) -> Option<usize> {
        let exact = words.iter().all(|word| word.exact);
        let rule = self
            .rules
            .command_rule(Judgement::Allow, texts, Reach::Exact, &self.work)
            .filter(|_| exact)?;
        let Kind::Command(pattern) = &self.rules.rules()[rule].subject.0 else {
            return None;
        };
        let has_subcommand = takes_subcommand(texts[0]) && texts.len() > 1 && pattern.says(texts[1]);
        (pattern.is_literal() || has_subcommand).then_some(rule)
    }

    /// Whether a rule, or the table of reading commands, allows a command with no ambiguity.
    fn allowed(
        &mut self,
        texts: &[&str],
        words: &[Word],
        found: &CommandContext<'_>,
    ) -> (Judgement, Because) {
        let context = ReadContext {
            places: self.places,
            directories: found.directories,
            has_input: found.has_input,
            has_path_rules: self.has_path_rules(),
            shows_reserved: Cell::default(),
        };
        let exact = words.iter().all(|word| word.exact);
        let because = if let Some(rule) = self
            .rules
            .command_rule(Judgement::Allow, texts, Reach::Exact, &self.work)
            .filter(|_| exact)
        {
            let names = |word: &str| match &self.rules.rules()[rule].subject.0 {
                Kind::Command(pattern) => pattern.says(word),
                Kind::Path(..) | Kind::Tool(_) => false,
            };
            if let Some(option) = hazard(texts, names) {
                return (
                    Judgement::Ask,
                    Because::Ambiguity(Ambiguity::Hazard(option.to_owned())),
                );
            }
            if found.has_names {
                // Another process may have created the matching files.
                return (Judgement::Ask, Because::Ambiguity(Ambiguity::Pattern));
            }
            Because::Rule(rule)
        } else if exact && is_plain_read(texts, &context) {
            if context.shows_reserved.get() {
                Because::ShowsReserved
            } else {
                Because::PlainRead
            }
        } else {
            return (Judgement::Ask, Because::NoRule);
        };
        if let Some(rule) = self.mentioned(texts) {
            self.rule_asks = true;
            return (Judgement::Ask, Because::Ambiguity(Ambiguity::Mentions(rule)));
        }
        if because == Because::ShowsReserved {
            (Judgement::Ask, because)
        } else if found.plain {
            (Judgement::Allow, because)
        } else {
            // The line needs a question; the command itself has no ambiguity.
            (Judgement::Ask, Because::NoRule)
        }
    }

    /// Returns a refusing or asking rule that fits the end of a command: the program may be an unknown wrapper.
    fn mentioned(&self, texts: &[&str]) -> Option<usize> {
        let mut starts = (1..texts.len()).take_while(|_| !self.work.is_over());
        starts.find_map(|at| {
            let rules = self.rules.rules().iter();
            rules
                .enumerate()
                .find_map(|(rule, known)| match &known.subject.0 {
                    Kind::Command(pattern)
                        if known.judgement > Judgement::Allow
                            && pattern.names_a_program()
                            && pattern.fits(&texts[at..], Reach::Wide, &self.work) =>
                    {
                        Some(rule)
                    }
                    _ => None,
                })
        })
    }

    pub(super) fn first(&self, judgement: Judgement, views: &[&[&str]]) -> Option<usize> {
        let mut views = views.iter().filter(|view| !view.is_empty());
        views.find_map(|view| self.rules.command_rule(judgement, view, Reach::Wide, &self.work))
    }
}
