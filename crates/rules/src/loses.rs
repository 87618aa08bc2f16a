//! Lines that take away what an undo of the Turn cannot bring back: a repository, or what only git has.
//!
//! Not a barrier: a script can do the same. Bobbin asks about a line that is known here, also where everything that the
//! sandbox confines runs unasked.

use std::path::{Path, PathBuf};

use crate::cwd::{Machine, said};
use crate::shell::Word;
use crate::wrapper::{name, without_git_options};

/// Programs that remove or move the files that they name.
const REMOVERS: &[&str] = &["mv", "rm", "rmdir", "shred", "trash", "truncate", "unlink"];
/// Words with which `find` selects files by name or kind.
const SELECTS: &[&str] = &[
    "-iname",
    "-ipath",
    "-iregex",
    "-name",
    "-path",
    "-regex",
    "-wholename",
];
/// Words that negate the next test of `find`.
const NEGATES: &[&str] = &["!", "-not"];
/// Words with which `find` removes files or runs a program.
const ACTS: &[&str] = &["-delete", "-exec", "-execdir"];
const GIT: &str = ".git";

/// Returns whether a command that runs in one of these directories takes away what cannot be brought back.
pub(crate) fn loses(words: &[Word], directories: &[PathBuf], machine: Machine<'_>) -> bool {
    let Some(program) = words.first().map(name) else {
        return false;
    };
    let has_git = |word: &Word| {
        directories
            .iter()
            .any(|directory| covers_git(word, directory, machine))
    };
    match program.as_str() {
        "find" => find(words, has_git),
        _ if REMOVERS.contains(&program.as_str()) => words[1..].iter().any(has_git),
        _ => git(words),
    }
}

/// Whether a word names a `.git`, something in it, or a directory around it. Locks in it are left behind by programs
/// that failed, and are nothing to lose.
fn covers_git(word: &Word, directory: &Path, machine: Machine<'_>) -> bool {
    let places = machine.places;
    let last = word.text.rsplit('/').next().unwrap_or_default();
    if word.text.starts_with('-') || last.rsplit('.').next() == Some("lock") {
        return false;
    }
    // `.*`
    if !word.exact && last.starts_with('.') && last.contains(['*', '?', '[']) {
        return true;
    }
    let text = said(word, &word.text, machine.home);
    let Some(place) = places.find(directory, &text) else {
        return false;
    };
    let is_around = || places.is_directory(&place.path.join(GIT)) || places.root().starts_with(&place.path);
    place.path.iter().any(|part| part == GIT) || is_around()
}

/// Whether `find` removes a repository, as far as its words say.
fn find(words: &[Word], has_git: impl Fn(&Word) -> bool) -> bool {
    let rest = &words[1..];
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    let acts = texts.contains(&ACTS[0])
        || texts
            .windows(2)
            .any(|pair| ACTS[1..].contains(&pair[0]) && REMOVERS.contains(&pair[1]));
    if !acts {
        return false;
    }
    let tests = || {
        texts
            .iter()
            .enumerate()
            .filter(|(_, text)| SELECTS.contains(text))
    };
    let is_selected = |at: usize| at == 0 || !NEGATES.contains(&texts[at - 1]);
    let names_git = |at: usize| texts.get(at + 1).is_some_and(|name| name.contains(GIT));
    let starts = rest
        .iter()
        .take_while(|word| !word.text.starts_with(['-', '(', '!']))
        .collect::<Vec<_>>();
    let in_all = tests().filter(|(at, _)| is_selected(*at)).count() == 0
        && !tests().any(|(at, _)| !is_selected(at) && names_git(at))
        && !texts
            .windows(2)
            .any(|pair| pair == ["-type", "d"] || pair == ["-type", "l"]);
    tests().any(|(at, _)| is_selected(at) && names_git(at))
        || (in_all && (starts.is_empty() || starts.into_iter().any(has_git)))
}

/// Whether a command of git drops what only git has.
fn git(words: &[Word]) -> bool {
    let bare = without_git_options(words);
    let words = bare.as_deref().unwrap_or(words);
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let [program, subcommand, rest @ ..] = texts.as_slice() else {
        return false;
    };
    if program.rsplit('/').next() != Some("git") {
        return false;
    }
    let has = |wanted: &[&str]| rest.iter().any(|word| wanted.contains(word));
    let letter = |wanted: &[char]| {
        let clusters = rest.iter().filter(|word| !word.starts_with("--"));
        let mut clusters = clusters.filter_map(|word| word.strip_prefix('-'));
        clusters.any(|letters| letters.contains(wanted))
    };
    let any_starts = |start: &str| rest.iter().any(|word| word.starts_with(start));
    match *subcommand {
        "clean" => letter(&['x', 'X']) && !letter(&['n']) && !any_starts("--dry"),
        "stash" => has(&["drop", "clear"]),
        "branch" => {
            let deletes = letter(&['d']) || any_starts("--del");
            letter(&['D']) || (deletes && (letter(&['f']) || any_starts("--forc")))
        }
        "reflog" => has(&["expire", "delete"]),
        "gc" => any_starts("--prune"),
        "prune" => !letter(&['n']),
        "tag" => letter(&['d']) || any_starts("--del"),
        "update-ref" => letter(&['d']) || any_starts("--stdin"),
        "filter-branch" | "filter-repo" => true,
        _ => false,
    }
}
