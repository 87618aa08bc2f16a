//! Commands that run other commands: what is run, as far as their arguments say.

mod git;
mod grammar;
mod hazards;
mod more;
mod scripts;
mod shells;
mod table;
mod values;

pub(crate) use hazards::hazard;
pub(crate) use shells::changes_the_shell;

use crate::Concern;
use crate::shell::Word;

/// What a command runs beside itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    /// Commands, word for word.
    pub(crate) commands: Vec<Vec<Word>>,
    /// Texts for a shell.
    pub(crate) texts: Vec<Word>,
    /// What keeps it from being as good as what it runs.
    pub(crate) concern: Option<Concern>,
    /// Its arguments are not understood: any of them may begin a command.
    pub(crate) is_open: bool,
}

/// Returns what a command runs; `None` for one that runs nothing it was given.
pub(crate) fn carried(words: &[Word]) -> Option<Carried> {
    let name = name(words.first()?);
    if let Some(carried) = shells::carried(&name, words) {
        return Some(carried);
    }
    let known = table::WRAPPERS.iter().find(|known| known.name == name)?;
    Some(grammar::unwrap(known, words))
}

/// Returns the last part of a program's name, in small letters.
pub(crate) fn name(word: &Word) -> String {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Returns a command of git without the options that stand before its subcommand; `None` where there are none.
pub(crate) fn without_git_options(words: &[Word]) -> Option<Vec<Word>> {
    if name(words.first()?) != "git" {
        return None;
    }
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if !word.text.starts_with('-') {
            break;
        }
        let takes_next = matches!(
            word.text.as_str(),
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--namespace"
                | "--super-prefix"
                | "--config-env"
                | "--exec-path"
                | "--attr-source"
                | "--list-cmds"
        );
        at += 1 + usize::from(takes_next);
    }
    if at == 1 || at >= words.len() {
        return None;
    }
    let mut bare = vec![words[0].clone()];
    bare.extend_from_slice(&words[at..]);
    Some(bare)
}
