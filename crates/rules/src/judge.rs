//! The judgement of a line: everything that was found in it, held against the rules.

mod below;
mod options;
mod paths;
mod searcher;

use std::path::PathBuf;

use crate::pattern::Reach;
use crate::reads::{Spot, is_plain_read};
use crate::rule::Kind;
use crate::shell::{Link, Reading, Redirect, Step, Word, guesses, read, steps};
use crate::stands::{Ground, Move, chosen, everywhere, is_lost, moved};
use crate::work::Work;
use crate::wrapper::{carried, changes_the_shell, hazard, without_git_options};
use crate::{Because, Concern, Judgement, Part, Places, RuleSet, Verdict};

/// Most texts within texts that are read.
const MAX_NESTED: usize = 4;
/// Most commands that are judged, all texts together.
const MAX_PARTS: usize = 256;
/// Most words of what may be a command, from wherever it may begin: each beginning is tried.
const MAX_GUESSED: usize = 256;
/// Characters of a command that are shown.
const SHOWN: usize = 200;

/// Judges a line.
pub(crate) fn line(rules: &RuleSet, line: &str, places: &dyn Places) -> Verdict {
    let mut judge = Judge {
        rules,
        places,
        parts: Vec::new(),
        concerns: Vec::new(),
        looks: 0,
        looks_below: 0,
        walks: 0,
        reads_commands: false,
        work: Work::default(),
        programs: Vec::new(),
        rule_asks: false,
    };
    let judgement = judge.text(line, &[places.root().to_owned()], false, 0);
    if judge.work.is_over() {
        judge.worry(Concern::TooMuch);
    }
    judge.verdict(judgement)
}

struct Judge<'a> {
    rules: &'a RuleSet,
    places: &'a dyn Places,
    parts: Vec<Part>,
    concerns: Vec<Concern>,
    looks: usize,
    /// Looks for directories.
    looks_below: usize,
    /// Directories that were looked through.
    walks: usize,
    /// Whether something in the text at hand may take commands from its input.
    reads_commands: bool,
    /// What may still be compared.
    work: Work,
    /// Programs whose names are known; no more than there are parts.
    programs: Vec<String>,
    /// Whether a rule asks about something, or may be about it.
    rule_asks: bool,
}

/// Where a command was found.
struct Found<'a> {
    directories: &'a [PathBuf],
    has_input: bool,
    /// Whether the line is plain: nothing in one that is not is allowed.
    plain: bool,
    nested: usize,
}

impl Judge<'_> {
    fn ground(&self) -> Ground<'_> {
        Ground {
            places: self.places,
            home: self.rules.home(),
        }
    }

    /// Judges a text for a shell.
    fn text(&mut self, text: &str, directories: &[PathBuf], has_input: bool, nested: usize) -> Judgement {
        if nested > MAX_NESTED {
            return self.worry(Concern::TooMuch);
        }
        let reading = read(text);
        let plain = if reading.concerns.is_empty() {
            steps(text)
        } else {
            None
        };
        let plain = plain.filter(|steps| agree(steps, &reading));
        match plain {
            Some(steps) => self.plain(&steps, directories, has_input, nested),
            None => self.rough(text, &reading, directories, nested),
        }
    }

    /// Judges a line that both readers understand.
    fn plain(
        &mut self,
        steps: &[Step],
        directories: &[PathBuf],
        has_input: bool,
        nested: usize,
    ) -> Judgement {
        let mut judgement = Judgement::Allow;
        let all: Vec<Vec<Word>> = steps
            .iter()
            .map(|step| step.words.iter().map(Word::exact).collect())
            .collect();
        let (everywhere, whole) = everywhere(&all, directories, self.ground());
        if !whole {
            judgement = judgement.max(self.worry(Concern::TooMuch));
        }
        // Where one step is not known, none behind it is.
        let lost = !whole || all.iter().any(|words| is_lost(words, &everywhere, self.ground()));
        let mut standing = if lost { everywhere } else { directories.to_vec() };
        let straight = steps
            .iter()
            .all(|step| matches!(step.link, Link::First | Link::And));
        for (step, words) in steps.iter().zip(&all) {
            let spot = Spot {
                places: self.places,
                directories: &standing,
                has_input: false,
            };
            let reads_inside = step.reads.iter().all(|path| spot.is_inside(path));
            if !reads_inside {
                judgement = judgement.max(self.worry(Concern::Redirection));
            }
            for path in &step.reads {
                judgement = judgement.max(self.redirect(&Redirect::reading(path), &standing));
            }
            let found = Found {
                directories: &standing,
                has_input: step.link == Link::Pipe
                    || !step.reads.is_empty()
                    || (has_input && step.link == Link::First),
                plain: true,
                nested,
            };
            judgement = judgement.max(self.command(words, &found));
            if !lost && let Move::To(moved) = moved(words, &standing, self.ground()) {
                standing = if straight { moved } else { joined(standing, moved) };
            }
        }
        judgement
    }

    /// Judges what was found in a line that is not plain: nothing of it is allowed.
    fn rough(&mut self, text: &str, reading: &Reading, directories: &[PathBuf], nested: usize) -> Judgement {
        let mut judgement = Judgement::Ask;
        for concern in &reading.concerns {
            self.worry(concern.clone());
        }
        if reading.concerns.is_empty() {
            self.worry(Concern::Disagreement);
        }
        let guessed = if reading
            .concerns
            .iter()
            .any(|concern| matches!(concern, Concern::Unreadable | Concern::TooMuch))
        {
            guesses(text)
        } else {
            Vec::new()
        };
        // What runs in which order, and what moves the shell for what, is not told apart.
        let (standing, whole) = everywhere(&reading.commands, directories, self.ground());
        let (standing, more) = everywhere(&guessed, &standing, self.ground());
        if !whole || !more {
            self.worry(Concern::TooMuch);
        }
        let outer = std::mem::take(&mut self.reads_commands);
        for words in &reading.commands {
            let found = Found {
                directories: &standing,
                has_input: true,
                plain: false,
                nested,
            };
            judgement = judgement.max(self.command(words, &found));
        }
        for words in &guessed {
            judgement = judgement.max(self.guess(words, &standing));
        }
        for redirect in &reading.redirects {
            judgement = judgement.max(self.redirect(redirect, &standing));
        }
        if std::mem::replace(&mut self.reads_commands, outer) {
            for input in &reading.inputs {
                judgement = judgement.max(self.text(input, &standing, false, nested + 1));
            }
        }
        judgement
    }

    /// Judges what may be a command: only what refuses it is kept.
    fn guess(&mut self, words: &[Word], directories: &[PathBuf]) -> Judgement {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let mut starts = (0..texts.len()).take_while(|_| !self.work.is_over());
        let refused = starts.find_map(|at| {
            let end = texts.len().min(at + MAX_GUESSED);
            self.first(Judgement::Deny, &[&texts[at..end]])
        });
        let paths = self
            .paths_of(words, directories)
            .filter(|(judgement, _)| *judgement == Judgement::Deny);
        let Some(rule) = refused.or(paths.map(|(_, rule)| rule)) else {
            return Judgement::Ask;
        };
        self.parts.push(Part {
            text: shown(words),
            judgement: Judgement::Deny,
            because: Because::Rule(rule),
        });
        Judgement::Deny
    }

    /// Judges one command and what it runs, and keeps that for the explanation.
    fn command(&mut self, words: &[Word], found: &Found<'_>) -> Judgement {
        if self.parts.len() >= MAX_PARTS {
            return self.worry(Concern::TooMuch);
        }
        if words[0].exact && !self.programs.contains(&words[0].text) {
            self.programs.push(words[0].text.clone());
        }
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

    fn decide(&mut self, words: &[Word], found: &Found<'_>) -> (Judgement, Because) {
        let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        let bare = without_git_options(words).unwrap_or_default();
        let bare: Vec<&str> = bare.iter().map(|word| word.text.as_str()).collect();
        let views: [&[&str]; 2] = [&texts, &bare];

        if let Some(rule) = self.first(Judgement::Deny, &views) {
            return (Judgement::Deny, Because::Rule(rule));
        }
        let mut highest = (Judgement::Allow, Because::NoRule);
        let mut raise = |judgement: Judgement, because: Because| {
            if judgement > highest.0 {
                highest = (judgement, because);
            }
        };
        let chosen = if self.has_path_rules() {
            chosen(words, found.directories, self.ground())
        } else {
            found.directories.to_vec()
        };
        let inside = Found {
            directories: &chosen,
            ..*found
        };
        if let Some((judgement, rule)) = self.paths_of(words, &chosen) {
            self.rule_asks = true;
            raise(judgement, Because::Rule(rule));
        }
        if let Some((rule, is_shown)) = self.below(words, &bare, &chosen) {
            self.rule_asks = true;
            let concern = Concern::Below(rule);
            if is_shown {
                self.worry(concern.clone());
            }
            raise(Judgement::Ask, Because::Concern(concern));
        }
        let carries = carried(words);
        if let Some(carried) = &carries {
            self.reads_commands |= matches!(
                carried.concern,
                Some(Concern::ShellInput(_) | Concern::WrapperArguments(_))
            );
            for command in &carried.commands {
                let judgement = self.command(command, &inside);
                raise(judgement, self.last_reason(judgement));
            }
            for text in &carried.texts {
                let judgement = self.text(&text.text, &chosen, found.has_input, found.nested + 1);
                raise(judgement, self.last_reason(judgement));
                if !text.exact {
                    raise(Judgement::Ask, Because::Concern(Concern::DynamicName));
                }
            }
            if carried.is_open {
                // A command may begin with any word.
                let rule = (1..texts.len())
                    .take_while(|_| !self.work.is_over())
                    .find_map(|at| self.first(Judgement::Deny, &[&texts[at..]]));
                if let Some(rule) = rule {
                    raise(Judgement::Deny, Because::Rule(rule));
                }
            }
        }
        if let Some(rule) = self.first(Judgement::Ask, &views) {
            self.rule_asks = true;
            raise(Judgement::Ask, Because::Rule(rule));
        }
        if let Some(concern) = carries.as_ref().and_then(|carried| carried.concern.clone()) {
            raise(Judgement::Ask, Because::Concern(concern));
        }
        if !words[0].exact || words[0].text.is_empty() {
            raise(Judgement::Ask, Because::Concern(Concern::DynamicName));
        }
        if is_lost(words, found.directories, self.ground()) {
            raise(Judgement::Ask, Because::Concern(Concern::Whereabouts));
        }
        if changes_the_shell(words) {
            raise(
                Judgement::Ask,
                Because::Concern(Concern::ShellState(texts[0].to_owned())),
            );
        }
        if highest.0 > Judgement::Allow {
            return highest;
        }
        // A light wrapper around something that is allowed.
        if let Some(carried) = carries
            && !(carried.commands.is_empty() && carried.texts.is_empty())
        {
            return (Judgement::Allow, self.last_reason(Judgement::Allow));
        }
        self.allowed(&texts, words, found)
    }

    /// Whether a rule, or what the reading tools may do, allows a command that nothing speaks against.
    fn allowed(&mut self, texts: &[&str], words: &[Word], found: &Found<'_>) -> (Judgement, Because) {
        let spot = Spot {
            places: self.places,
            directories: found.directories,
            has_input: found.has_input,
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
                    Because::Concern(Concern::Hazard(option.to_owned())),
                );
            }
            Because::Rule(rule)
        } else if exact && is_plain_read(texts, &spot) {
            Because::PlainRead
        } else {
            return (Judgement::Ask, Because::NoRule);
        };
        if let Some(rule) = self.mentioned(texts) {
            self.rule_asks = true;
            return (Judgement::Ask, Because::Concern(Concern::Mentions(rule)));
        }
        if found.plain {
            (Judgement::Allow, because)
        } else {
            // Its line is asked about; by itself there is nothing to say against it.
            (Judgement::Ask, Because::NoRule)
        }
    }

    /// Returns a rule that refuses or asks and that fits the end of a command: the program may be a wrapper
    /// that nobody has heard of.
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

    fn first(&self, judgement: Judgement, views: &[&[&str]]) -> Option<usize> {
        let mut views = views.iter().filter(|view| !view.is_empty());
        views.find_map(|view| self.rules.command_rule(judgement, view, Reach::Wide, &self.work))
    }

    fn worry(&mut self, concern: Concern) -> Judgement {
        if !self.concerns.contains(&concern) && self.concerns.len() < MAX_PARTS {
            self.concerns.push(concern);
        }
        Judgement::Ask
    }

    /// Returns the reason of the last part with this judgement.
    fn last_reason(&self, judgement: Judgement) -> Because {
        let part = self.parts.iter().rev().find(|part| part.judgement == judgement);
        part.map_or(Because::NoRule, |part| part.because.clone())
    }

    fn verdict(self, judgement: Judgement) -> Verdict {
        // Whatever was not looked at to its end is not allowed, wherever that was noticed.
        let judgement = if self.concerns.is_empty() {
            judgement
        } else {
            judgement.max(Judgement::Ask)
        };
        let part = |wanted: fn(&Because) -> bool| {
            let mut parts = self.parts.iter().filter(|part| part.judgement == judgement);
            parts
                .find(|part| wanted(&part.because))
                .map(|part| part.because.clone())
        };
        // A rule says more than a concern, and a concern more than nothing.
        let by_rule = part(|because| matches!(because, Because::Rule(_)));
        let by_concern = part(|because| matches!(because, Because::Concern(_)));
        let concern = self.concerns.first().cloned().map(Because::Concern);
        let because = match judgement {
            Judgement::Deny => by_rule,
            Judgement::Ask => by_rule.or(by_concern).or(concern),
            Judgement::Allow => by_rule.or_else(|| part(|_| true)),
        };
        Verdict {
            judgement,
            because: because.unwrap_or(Because::NoRule),
            parts: self.parts,
            concerns: self.concerns,
            programs: self.programs,
            rule_asks: self.rule_asks,
            head: None,
        }
    }
}

/// Whether both readers found the same commands.
fn agree(steps: &[Step], reading: &Reading) -> bool {
    steps.len() == reading.commands.len()
        && steps.iter().zip(&reading.commands).all(|(step, command)| {
            step.words.len() == command.len()
                && step
                    .words
                    .iter()
                    .zip(command)
                    .all(|(mine, theirs)| theirs.exact && *mine == theirs.text)
        })
        && steps
            .iter()
            .flat_map(|step| &step.reads)
            .eq(reading.redirects.iter().map(|redirect| &redirect.target.text))
}

fn joined(mut directories: Vec<PathBuf>, more: Vec<PathBuf>) -> Vec<PathBuf> {
    for directory in more {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories
}

fn shown(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word.text);
        if text.len() > SHOWN * 4 {
            break;
        }
    }
    text.chars().take(SHOWN).collect()
}
