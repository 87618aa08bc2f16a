//! Where the shell stands: what `cd` and its relatives do to the commands behind them.
//!
//! A shell follows `cd` by names: `..` takes the last name off, whatever link that was. A command follows what the
//! names lead to. Where both come to the same place, that place is known. Everywhere else there are only guesses,
//! which count for rules that refuse or ask: by the name, and by what it leads to. Bounds: [`MAX_DIRECTORIES`].

use std::path::{Component, Path, PathBuf};

use crate::Places;
use crate::shell::{Word, guesses};
use crate::wrapper::{carried, name};

/// Most directories a command may be standing in; each `cd` that may not have happened doubles them, and every path
/// is looked up from each.
pub(crate) const MAX_DIRECTORIES: usize = 32;
/// Those of them that are kept where there are more: the line is not allowed then anyway.
const KEPT: usize = 8;
/// Most texts within texts that are searched for a `cd`.
const MAX_NESTED: usize = 4;
/// What moves the shell.
const MOVERS: &[&str] = &["cd", "chdir", "pushd", "popd"];
/// What runs a part of the shell in the shell itself.
const IN_THE_SHELL: &[&str] = &["command", "builtin", "exec", "time", "noglob", "nocorrect", "-"];
/// Beginnings of words that stand for the directory the shell is in, or was in.
const HERE: &[&str] = &["$PWD", "${PWD}", "~+", "$OLDPWD", "${OLDPWD}", "~-"];
/// Options by which a program goes elsewhere before it does anything, when the directory is the next word.
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

/// What a command does to where the shell stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Nothing.
    No,
    /// It goes to these, one for each it came from.
    To(Vec<PathBuf>),
    /// It may go to any of these, or elsewhere.
    Perhaps(Vec<PathBuf>),
}

/// What is known of the machine.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// Tells where paths lead.
    pub(crate) places: &'a dyn Places,
    /// Where `~` is; `None` where nobody asks.
    pub(crate) home: Option<&'a Path>,
}

/// Returns the path that a word says: where it is not known as it stands, what its first part stands for most often.
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

/// Returns what a command does to a shell that stands in one of these.
pub(crate) fn moved(words: &[Word], from: &[PathBuf], ground: Ground<'_>) -> Move {
    let Ground { places, home } = ground;
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

/// Whether a command moves the shell, and nobody knows where to.
pub(crate) fn is_lost(words: &[Word], from: &[PathBuf], ground: Ground<'_>) -> bool {
    targets(words, 0).is_some() && known(words, from, ground.places).is_none()
}

/// Returns where `cd` leads from each of these, if its names say so and nothing else is in the way.
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

/// Returns every directory that any of these commands may be standing in, whatever runs in which order, and whether
/// those are all.
pub(crate) fn everywhere(
    commands: &[Vec<Word>],
    from: &[PathBuf],
    ground: Ground<'_>,
) -> (Vec<PathBuf>, bool) {
    let mut all = from.to_vec();
    for words in commands {
        let (Move::To(more) | Move::Perhaps(more)) = moved(words, &all, ground) else {
            continue;
        };
        for directory in more {
            if all.contains(&directory) {
                continue;
            }
            if all.len() == MAX_DIRECTORIES {
                all.truncate(KEPT.max(from.len()));
                return (all, false);
            }
            all.push(directory);
        }
    }
    (all, true)
}

/// Returns the directories that a command's own options take it to, beside those it is started in.
pub(crate) fn chosen(words: &[Word], from: &[PathBuf], ground: Ground<'_>) -> Vec<PathBuf> {
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
        let text = said(word, text, ground.home);
        for directory in from {
            if let Some(place) = ground.places.find(directory, &text)
                && all.len() < MAX_DIRECTORIES
                && !all.contains(&place.path)
            {
                all.push(place.path);
            }
        }
    }
    all
}

/// Returns what a command that moves the shell names; `None` for one that does not move it.
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
        for text in carried(words)?.texts {
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

/// Returns where a path leads by its names alone, as `cd` understands it.
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
