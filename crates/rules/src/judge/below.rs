//! Files that a command reaches without naming them: what lies below the directories that it is given, or stands in.
//!
//! A rule for paths is held against the words of a command. `grep -r key .` names no file that a rule speaks of, and shows
//! them all. So a directory in which something lies that a rule keeps back is asked about; and where the command is one
//! that is known to show what is in the files below, the rule counts as one the line may have passed by.
//!
//! The list of such programs is one of known cases. What programs read that are not given a directory is not known here.

use std::path::PathBuf;

use super::Judge;
use super::paths::{MAX_LOOKS, named_by};
use crate::rule::Kind;
use crate::shell::Word;
use crate::stands::said;
use crate::{Concern, Judgement, Look, PathUse};

/// Most directories of one line that are looked through.
const MAX_DIRECTORIES: usize = 8;
/// Programs that tell names of files and not what is in them, or do nothing with them.
const NAMES_ONLY: &[&str] = &[
    "basename", "cd", "chdir", "dirname", "du", "echo", "fd", "fdfind", "find", "ls", "mkdir", "printf",
    "pushd", "pwd", "readlink", "realpath", "rmdir", "stat", "test", "touch", "tree", "[",
];
/// Programs that read all that is below where they stand when they are told nothing else.
const SEARCHERS: &[&str] = &["ack", "ag", "rg", "rgrep", "ugrep"];
/// Those that do so when an option tells them.
const GREPS: &[&str] = &["egrep", "fgrep", "grep", "zgrep"];
/// Those that leave out hidden files and those that git does not know, unless an option tells them otherwise.
const MODEST: &[&str] = &["ag", "rg"];
/// Options of searchers and of `grep` that take no value: with no others, it is known which words are paths.
const FLAGS: &str = "chilnorsvwxEFHIR";

/// What is known of a command that searches files.
struct Searcher {
    /// Whether it reads where it stands.
    reads_here: bool,
    look: Look,
}

impl Judge<'_> {
    /// Returns a rule that keeps something back which lies below a directory that a command reads, and whether the
    /// command is known to show it.
    pub(super) fn below(
        &mut self,
        words: &[Word],
        bare: &[&str],
        directories: &[PathBuf],
    ) -> Option<(usize, bool)> {
        let name = program(&words[0].text);
        if !self.has_path_rules() || NAMES_ONLY.contains(&name.as_str()) {
            return None;
        }
        let searcher = searcher(&name, words, bare);
        let look = searcher
            .as_ref()
            .map_or(Look::default(), |searcher| searcher.look);
        let mut places = Vec::new();
        if searcher.as_ref().is_some_and(|searcher| searcher.reads_here) {
            places.extend(directories.iter().cloned());
        }
        for word in &words[1..] {
            for text in named_by(&word.text) {
                let text = said(word, text, self.rules.home());
                for from in directories {
                    // Counted beside the looks for what the words themselves name.
                    if self.looks_below == MAX_LOOKS {
                        self.worry(Concern::TooMuch);
                        return None;
                    }
                    self.looks_below += 1;
                    places.extend(self.places.find(from, &text).map(|place| place.path));
                }
            }
        }
        places.sort_unstable();
        places.dedup();
        for place in places {
            if let Some(rule) = self.kept_back_below(&place, look) {
                return Some((rule, searcher.is_some()));
            }
        }
        None
    }

    fn kept_back_below(&mut self, directory: &std::path::Path, look: Look) -> Option<usize> {
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
            .filter(|(_, pattern)| pattern.may_reach(directory, root))
            .collect();
        let (first, _) = patterns.first()?;
        if !self.places.is_directory(directory) {
            return None;
        }
        if self.walks == MAX_DIRECTORIES {
            // As where there is too much below one.
            return Some(*first);
        }
        self.walks += 1;
        let fits = |path: &std::path::Path| patterns.iter().any(|(_, pattern)| pattern.covers(path, root));
        self.places.holds(directory, look, &fits).then_some(*first)
    }
}

/// Returns the last part of a program's name.
fn program(text: &str) -> String {
    let name = text.rsplit('/').next().unwrap_or(text);
    name.to_ascii_lowercase()
}

fn searcher(name: &str, words: &[Word], bare: &[&str]) -> Option<Searcher> {
    // Without options of git's own there is no other view of the command.
    let subcommand = bare.get(1).copied().or(words.get(1).map(|word| &*word.text));
    let of_git = name == "git" && subcommand == Some("grep");
    let options: Vec<&str> = words[1..]
        .iter()
        .map(|word| word.text.as_str())
        .filter(|text| text.len() > 1 && text.starts_with('-'))
        .collect();
    let short = |letters: &str| {
        let mut short = options.iter().filter(|option| !option.starts_with("--"));
        short.any(|option| option.contains(|letter| letters.contains(letter)))
    };
    let long = |starts: &[&str]| {
        options
            .iter()
            .any(|option| starts.iter().any(|start| option.starts_with(start)))
    };
    let is_searcher = of_git || SEARCHERS.contains(&name);
    if !is_searcher && !(GREPS.contains(&name) && (short("rRd") || long(&["--r", "--de", "--di"]))) {
        return None;
    }
    let told = short("u.")
        || long(&["--hidden", "--no-ig", "--unr", "--ski", "--all"])
        || (name == "ag" && short("at"));
    let links = short("RLSf") || long(&["--fo", "--de"]);
    // A pattern, then paths: where it is known that no other word is the value of an option.
    let is_clear = options
        .iter()
        .all(|option| option[1..].chars().all(|letter| FLAGS.contains(letter)));
    let skipped = if of_git { 2 } else { 1 };
    let operands = words.len() - 1 - options.len();
    Some(Searcher {
        reads_here: !(is_clear && operands > skipped),
        look: Look {
            everything: told || !MODEST.contains(&name),
            links,
        },
    })
}
