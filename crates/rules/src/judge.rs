//! Judges a line: compares everything found in it with the rules.

mod decide;
mod directory_contents;
mod expand;
mod hidden;
mod options;
mod paths;
mod searcher;

use std::cell::Cell;
use std::path::PathBuf;

use expand::Variables;

use crate::cwd::{MAX_NESTED, Machine, Move, everywhere, is_lost, moved};
use crate::reads::ReadContext;
use crate::shell::{Link, Reading, Redirect, Step, Word, guesses, read, steps};
use crate::work::Work;
use crate::{Ambiguity, Because, Judgement, Part, Places, RuleSet, Verdict};

/// Most bytes of a line and the texts in it: each of them is parsed.
const MAX_BYTES: usize = 3 * (64 << 10);
/// Most commands judged, of all texts together.
const MAX_PARTS: usize = 256;
/// Most words of a possible command whose beginning is unknown: each beginning is tried.
const MAX_GUESSED: usize = 256;
/// Options that make a shell expand `*` to hidden files too.
const SHOWS_ALL: &[&str] = &[
    "dotglob",
    "GLOBIGNORE",
    "globdots",
    "glob_dots",
    "nocaseglob",
    "extglob",
];
/// Characters of a command that are shown.
const SHOWN: usize = 200;

/// Judges a line.
pub(crate) fn line(rules: &RuleSet, line: &str, places: &dyn Places) -> Verdict {
    let mut judge = Judge {
        rules,
        places,
        parts: Vec::new(),
        ambiguities: Vec::new(),
        looks: 0,
        contents_lookups: 0,
        walks: 0,
        reads_commands: false,
        shell_input: false,
        bytes_read: 0,
        work: Work::default(),
        programs: Vec::new(),
        rule_asks: false,
        changes_git_settings: false,
        loses: false,
        variables: Variables::default(),
        shows_all: SHOWS_ALL.iter().any(|option| line.contains(option)),
        names_found: 0,
        listed: 0,
    };
    let root = [places.root().to_owned()];
    let mut judgement = judge.text(line, &root, false, 0);
    if line.contains("\\\n") {
        // The shell removes these before it reads anything else, also inside words.
        judgement = judgement.max(judge.text(&line.replace("\\\n", ""), &root, false, 1));
    }
    if judge.work.is_over() {
        judge.ambiguous(Ambiguity::TooMuch);
    }
    judge.verdict(judgement)
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is one fact about the line"
)]
struct Judge<'a> {
    rules: &'a RuleSet,
    places: &'a dyn Places,
    parts: Vec<Part>,
    ambiguities: Vec<Ambiguity>,
    looks: usize,
    /// Number of searched directories.
    contents_lookups: usize,
    /// Number of directories walked through.
    walks: usize,
    /// Whether a command in the current text may take commands from its input.
    reads_commands: bool,
    /// Whether a shell in it certainly does.
    shell_input: bool,
    /// Bytes of the line and its texts so far.
    bytes_read: usize,
    /// Comparisons left.
    work: Work,
    /// Known names of programs; at most as many as parts.
    programs: Vec<String>,
    /// Whether a rule asks about a part of the line, or may.
    rule_asks: bool,
    /// Whether a command in the line changes the settings of a git repository.
    changes_git_settings: bool,
    /// Whether a command in the line takes away what an undo cannot bring back.
    loses: bool,
    variables: Variables,
    /// Whether `*` may match hidden files too.
    shows_all: bool,
    /// Number of file names that words were expanded to.
    names_found: usize,
    /// Number of directories listed for that.
    listed: usize,
}

/// The place of a command in the line.
struct CommandContext<'a> {
    directories: &'a [PathBuf],
    has_input: bool,
    /// Whether the line is plain. Only plain lines can be allowed.
    plain: bool,
    /// Whether some of its words are file names expanded from a pattern.
    has_names: bool,
    nested: usize,
}

impl Judge<'_> {
    fn machine(&self) -> Machine<'_> {
        Machine {
            places: self.places,
            home: self.rules.home(),
        }
    }

    /// Judges a text for a shell.
    fn text(&mut self, text: &str, directories: &[PathBuf], has_input: bool, nested: usize) -> Judgement {
        self.bytes_read += text.len();
        if nested > MAX_NESTED || self.bytes_read > MAX_BYTES {
            return self.ambiguous(Ambiguity::TooMuch);
        }
        let reading = read(text);
        let plain = if reading.ambiguities.is_empty() {
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
        let all: Vec<Vec<Word>> = steps.iter().map(|step| step.words.clone()).collect();
        let is_wild_move = |words: &Vec<Word>| {
            words.iter().any(|word| !word.exact) && is_lost(words, directories, self.machine())
        };
        if all.iter().any(is_wild_move) {
            judgement = self.ambiguous(Ambiguity::Whereabouts);
        }
        let all = self.moves(all, directories);
        let (everywhere, whole) = everywhere(&all, directories, self.machine());
        if !whole {
            judgement = judgement.max(self.ambiguous(Ambiguity::TooMuch));
        }
        // After a step that moves to an unknown directory, all directories are unknown.
        let lost = !whole
            || all
                .iter()
                .any(|words| is_lost(words, &everywhere, self.machine()));
        let mut cwds = if lost { everywhere } else { directories.to_vec() };
        let straight = steps
            .iter()
            .all(|step| matches!(step.link, Link::First | Link::And));
        for step in steps {
            for redirect in &step.redirects {
                let context = ReadContext {
                    places: self.places,
                    directories: &cwds,
                    has_input: false,
                    has_path_rules: false,
                    shows_reserved: Cell::default(),
                };
                if redirect.reads && !context.is_inside(&redirect.target.text) {
                    judgement = judgement.max(self.ambiguous(Ambiguity::Redirection));
                }
                judgement = judgement.max(self.redirect(redirect, &cwds));
            }
            let mut words = self.with_names(&step.words, &cwds);
            let has_names = words.len() != step.words.len() || words != step.words;
            if words.iter().any(|word| !word.exact) {
                judgement = judgement.max(self.live(&words, &cwds, nested));
                words = words.into_iter().map(|word| Word::exact(word.text)).collect();
            }
            let words = &words;
            let found = CommandContext {
                directories: &cwds,
                has_input: step.link == Link::Pipe
                    || step.redirects.iter().any(|redirect| redirect.reads)
                    || (has_input && step.link == Link::First),
                plain: true,
                has_names,
                nested,
            };
            judgement = judgement.max(self.command(words, &found));
            if std::mem::take(&mut self.shell_input) {
                self.hidden_commands();
            }
            if !lost && let Move::To(moved) = moved(words, &cwds, self.machine()) {
                cwds = if straight { moved } else { joined(cwds, moved) };
            }
        }
        judgement
    }

    /// Judges a command of a plain line with its patterns expanded to file names.
    fn live(&mut self, words: &[Word], directories: &[PathBuf], nested: usize) -> Judgement {
        let found = CommandContext {
            directories,
            has_input: true,
            plain: false,
            has_names: false,
            nested,
        };
        let at = self.parts.len();
        let judgement = self.command(words, &found);
        if judgement < Judgement::Deny {
            self.parts.truncate(at);
            return Judgement::Allow;
        }
        judgement
    }

    /// Judges the findings in a line that is not plain: no part of it can be allowed.
    fn rough(&mut self, text: &str, reading: &Reading, directories: &[PathBuf], nested: usize) -> Judgement {
        let mut judgement = Judgement::Ask;
        for ambiguity in &reading.ambiguities {
            self.ambiguous(ambiguity.clone());
        }
        if reading.ambiguities.is_empty() {
            let is_live = reading.commands.iter().flatten().any(|word| !word.exact);
            self.ambiguous(if is_live {
                Ambiguity::Pattern
            } else {
                Ambiguity::Disagreement
            });
        }
        self.variables.learn(reading);
        let guessed = if reading
            .ambiguities
            .iter()
            .any(|ambiguity| matches!(ambiguity, Ambiguity::Unreadable | Ambiguity::TooMuch))
        {
            guesses(text)
        } else {
            Vec::new()
        };
        let commands: Vec<_> = reading
            .commands
            .iter()
            .flat_map(|words| self.alternatives(words))
            .collect();
        // The order of commands is ignored, and so is which of them change the shell's directory.
        let moves = self.moves(commands.clone(), directories);
        let (cwds, whole) = everywhere(&moves, directories, self.machine());
        let (cwds, more) = everywhere(&guessed, &cwds, self.machine());
        if !whole || !more {
            self.ambiguous(Ambiguity::TooMuch);
        }
        let outer = std::mem::take(&mut self.reads_commands);
        for words in &commands {
            let found = CommandContext {
                directories: &cwds,
                has_input: true,
                plain: false,
                has_names: true,
                nested,
            };
            let words = self.with_names(words, &cwds);
            judgement = judgement.max(self.command(&words, &found));
        }
        for words in &guessed {
            judgement = judgement.max(self.guess(words, &cwds));
        }
        for redirect in &reading.redirects {
            for words in self.alternatives(std::slice::from_ref(&redirect.target)) {
                for target in self.with_names(&words, &cwds) {
                    self.hidden_path(&target);
                    let redirect = Redirect {
                        target,
                        ..redirect.clone()
                    };
                    judgement = judgement.max(self.redirect(&redirect, &cwds));
                }
            }
        }
        if std::mem::replace(&mut self.reads_commands, outer) {
            let has_more = text.contains('|') || reading.redirects.iter().any(|redirect| redirect.reads);
            if self.shell_input && (reading.inputs.is_empty() || has_more) {
                self.hidden_commands();
            }
            for input in &reading.inputs {
                judgement = judgement.max(self.text(input, &cwds, false, nested + 1));
            }
        }
        judgement
    }

    /// Judges a possible command; only refusals count.
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

    fn ambiguous(&mut self, ambiguity: Ambiguity) -> Judgement {
        if !self.ambiguities.contains(&ambiguity) && self.ambiguities.len() < MAX_PARTS {
            self.ambiguities.push(ambiguity);
        }
        Judgement::Ask
    }

    /// Returns the reason of the last part with this judgement.
    fn last_reason(&self, judgement: Judgement) -> Because {
        let part = self.parts.iter().rev().find(|part| part.judgement == judgement);
        part.map_or(Because::NoRule, |part| part.because.clone())
    }

    fn verdict(self, judgement: Judgement) -> Verdict {
        // A line that was not checked to its end is not allowed, wherever the check stopped.
        let judgement = if self.ambiguities.is_empty() {
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
        // A rule is a better reason than a ambiguity, and a ambiguity better than none.
        let by_rule = part(|because| matches!(because, Because::Rule(_)));
        let by_concern = part(|because| matches!(because, Because::Ambiguity(_)));
        let ambiguity = self.ambiguities.first().cloned().map(Because::Ambiguity);
        let because = match judgement {
            Judgement::Deny => by_rule,
            Judgement::Ask => by_rule
                .or(by_concern)
                .or(ambiguity)
                .or_else(|| part(|because| *because == Because::ShowsReserved)),
            Judgement::Allow => by_rule.or_else(|| part(|_| true)),
        };
        let only_reads = |part: &Part| matches!(part.because, Because::PlainRead | Because::ShowsReserved);
        let shows_reserved = judgement == Judgement::Ask
            && self.ambiguities.is_empty()
            && !self.rule_asks
            && self.parts.iter().all(only_reads);
        Verdict {
            judgement,
            because: because.unwrap_or(Because::NoRule),
            shows_reserved,
            parts: self.parts,
            ambiguities: self.ambiguities,
            programs: self.programs,
            rule_asks: self.rule_asks,
            changes_git_settings: self.changes_git_settings,
            loses: self.loses,
            project_programs: None,
            head: None,
            single_program: false,
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
                    .all(|(mine, theirs)| mine == theirs && (theirs.exact || theirs.is_wild()))
        })
        && steps
            .iter()
            .flat_map(|step| &step.redirects)
            .eq(&reading.redirects)
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
