//! The shell's directory: what `cd` and similar commands do to later commands.
//!
//! A shell follows `cd` by names: `..` removes the last name, even if that name was a link. A command follows the
//! links. If both give the same place, the directory is known. Otherwise there are only guesses, by name and by
//! links, which count for rules that refuse or ask. Limit: [`MAX_DIRECTORIES`].

use std::path::{Component, Path, PathBuf};

use crate::Places;
use crate::shell::{Word, guesses};
use crate::wrapper::{inner_commands, name};

/// Most directories in which a command may run. Each `cd` that may not happen doubles them, and every path is
/// resolved from each.
pub(crate) const MAX_DIRECTORIES: usize = 32;
/// How many of them stay when there are more: the line is not allowed then anyway.
const REMAINING: usize = 8;
/// Most texts within texts, such as `sh -c` in `sh -c`.
pub(crate) const MAX_NESTED: usize = 4;
/// Commands that change the shell's directory.
const MOVERS: &[&str] = &["cd", "chdir", "pushd", "popd"];
/// Commands that run a builtin in the shell itself.
const IN_THE_SHELL: &[&str] = &["command", "builtin", "exec", "time", "noglob", "nocorrect", "-"];
/// Prefixes of words that mean the shell's current or previous directory.
const HERE: &[&str] = &["$PWD", "${PWD}", "~+", "$OLDPWD", "${OLDPWD}", "~-"];
/// Options with which a program changes its directory first; the directory is the next word.
const GOES_TO: &[&str] = &[
    "-C",
    "-D",
    "--chdir",
    "--directory",
    "--cwd",
    "--dir",
    "--wd",
    "--working-directory",
    "--base-directory",
    "--work-tree",
    "--prefix",
];

/// The effect of a command on the shell's directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Nothing.
    No,
    /// It goes to these directories, one for each it came from.
    To(Vec<PathBuf>),
    /// It may go to any of these directories, or to an unknown one.
    Perhaps(Vec<PathBuf>),
}

/// Facts about the machine.
#[derive(Clone, Copy)]
pub(crate) struct Machine<'a> {
    /// Resolves paths.
    pub(crate) places: &'a dyn Places,
    /// The home directory; `None` if unknown.
    pub(crate) home: Option<&'a Path>,
}

/// Returns the path that a word means. An unknown first part is replaced by its most likely value.
pub(crate) fn said(word: &Word, text: &str, home: Option<&Path>) -> String {
    if word.exact {
        return text.to_owned();
    }
    let behind = |start: &str| {
        let rest = text.strip_prefix(start)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    if let Some(rest) = ["~", "$HOME", "${HOME}"].into_iter().find_map(behind)
        && let Some(home) = home
    {
        return home.join(rest).to_string_lossy().into_owned();
    }
    match HERE.iter().find_map(|start| behind(start)) {
        Some("") => ".".to_owned(),
        Some(rest) => rest.to_owned(),
        None => text.to_owned(),
    }
}

/// Returns the effect of a command on a shell in one of these directories.
pub(crate) fn moved(words: &[Word], from: &[PathBuf], machine: Machine<'_>) -> Move {
    let Machine { places, home } = machine;
    let Some(targets) = targets(words, 0) else {
        return Move::No;
    };
    if let Some(known) = known(words, from, places) {
        return Move::To(known);
    }
    let mut perhaps = Vec::new();
    if targets.is_empty() {
        perhaps.extend(home.map(Path::to_owned));
    }
    for target in &targets {
        let target = said(target, &target.text, home);
        for directory in from {
            let place = places.find(directory, &target);
            perhaps.extend(place.map(|place| place.path));
            perhaps.push(by_name(directory, &target));
        }
    }
    Move::Perhaps(perhaps)
}

/// Whether a command moves the shell to an unknown directory.
pub(crate) fn is_lost(words: &[Word], from: &[PathBuf], machine: Machine<'_>) -> bool {
    targets(words, 0).is_some() && known(words, from, machine.places).is_none()
}

/// Returns the directories to which `cd` leads from each of these, if its names and the links agree.
fn known(words: &[Word], from: &[PathBuf], places: &dyn Places) -> Option<Vec<PathBuf>> {
    let [cd, path] = words else { return None };
    if *cd != Word::exact("cd") || !path.exact || path.text.starts_with(['-', '+']) {
        return None;
    }
    let known = from.iter().map(|directory| {
        let place = places.find(directory, &path.text)?;
        (place.path == by_name(directory, &path.text)).then_some(place.path)
    });
    known.collect()
}

/// Returns every directory in which any of these commands may run, in any order, and whether the list is complete.
pub(crate) fn everywhere(
    commands: &[Vec<Word>],
    from: &[PathBuf],
    machine: Machine<'_>,
) -> (Vec<PathBuf>, bool) {
    let mut all = from.to_vec();
    for words in commands {
        let (Move::To(more) | Move::Perhaps(more)) = moved(words, &all, machine) else {
            continue;
        };
        for directory in more {
            if all.contains(&directory) {
                continue;
            }
            if all.len() == MAX_DIRECTORIES {
                all.truncate(REMAINING.max(from.len()));
                return (all, false);
            }
            all.push(directory);
        }
    }
    (all, true)
}

/// Returns the directories to which a command's own options take it, besides its starting directories.
pub(crate) fn chosen(words: &[Word], from: &[PathBuf], machine: Machine<'_>) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let text = word.text.as_str();
        if GOES_TO.contains(&text) {
            named.extend(words.get(at + 1).map(|word| (word, word.text.as_str())));
        } else if let Some((option, value)) = text.split_once('=') {
            named.extend(GOES_TO.contains(&option).then_some((word, value)));
        } else if let Some(value) = text.strip_prefix("-C") {
            named.push((word, value));
        } else if text == "-execdir" || text == "-okdir" {
            let starts = words[1..at].iter().take_while(|word| !word.text.starts_with('-'));
            named.extend(starts.map(|word| (word, word.text.as_str())));
        }
    }
    let mut all = from.to_vec();
    for (word, text) in named {
        let text = said(word, text, machine.home);
        for directory in from {
            if let Some(place) = machine.places.find(directory, &text)
                && all.len() < MAX_DIRECTORIES
                && !all.contains(&place.path)
            {
                all.push(place.path);
            }
        }
    }
    all
}

/// Returns the targets of a command that moves the shell; `None` for other commands.
fn targets(words: &[Word], nested: usize) -> Option<Vec<Word>> {
    let first = name(words.first()?);
    if MOVERS.contains(&first.as_str()) {
        let mut options = true;
        let mut named = Vec::new();
        for word in &words[1..] {
            if options && word.text.starts_with('-') {
                options = word.text != "--";
            } else {
                named.push(word.clone());
            }
        }
        return Some(named);
    }
    if IN_THE_SHELL.contains(&first.as_str()) {
        let at = words
            .iter()
            .position(|word| MOVERS.contains(&name(word).as_str()) || name(word) == "eval")?;
        return targets(&words[at..], nested);
    }
    if matches!(first.as_str(), "eval" | "trap") && nested < MAX_NESTED {
        let mut all: Option<Vec<Word>> = None;
        for text in inner_commands(words)?.texts {
            for words in guesses(&text.text) {
                if let Some(more) = targets(&words, nested + 1) {
                    all.get_or_insert_default().extend(more);
                }
            }
        }
        return all;
    }
    None
}

/// Returns the directory to which a path leads by its names alone, as `cd` reads it.
fn by_name(directory: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in directory.join(text).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}
