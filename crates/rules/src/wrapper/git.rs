//! Dangerous options of git's subcommands: the same option may be harmless for another subcommand.

use crate::git_settings::SHOWS;

/// A subcommand with such options.
struct Subcommand {
    name: &'static str,
    /// Letters after one dash, alone or among others.
    letters: &'static str,
    /// Whole words.
    words: &'static [&'static str],
}

const fn subcommand(name: &'static str, letters: &'static str, words: &'static [&'static str]) -> Subcommand {
    Subcommand { name, letters, words }
}

const SUBCOMMANDS: &[Subcommand] = &[
    // `-u` names the program at the other end; `-c` sets what a configuration file can set.
    subcommand("clone", "uc", &[]),
    subcommand("ls-remote", "u", &[]),
    subcommand("rebase", "x", &[]),
    subcommand("difftool", "x", &["difftool"]),
    subcommand("mergetool", "", &["mergetool"]),
    subcommand("archive", "o", &[]),
    subcommand("format-patch", "o", &[]),
    subcommand("bisect", "", &["run"]),
    subcommand("submodule", "", &["foreach"]),
    subcommand("filter-branch", "", &["filter-branch"]),
    subcommand("send-email", "", &["send-email"]),
    subcommand("instaweb", "", &["instaweb"]),
    subcommand("hook", "", &["hook"]),
];

/// Returns the words of a git command that are dangerous for its subcommand.
pub(super) fn hazards<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    // Options with a value before the subcommand are hazards themselves, so a wrong subcommand here costs at most
    // an unneeded question.
    let Some(at) = rest.iter().position(|word| !word.starts_with('-')) else {
        return Vec::new();
    };
    let (name, rest) = (rest[at], &rest[at..]);
    if name == "config" && !rest.get(1).is_some_and(|word| SHOWS.contains(word)) {
        return vec![name];
    }
    let Some(known) = SUBCOMMANDS.iter().find(|known| known.name == name) else {
        return Vec::new();
    };
    let is_hazard =
        |word: &&&str| known.words.contains(word) || super::hazards::is_among(word, known.letters);
    rest.iter().filter(is_hazard).copied().collect()
}
