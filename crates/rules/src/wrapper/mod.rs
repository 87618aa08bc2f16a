//! Commands that run other commands: which ones, as far as their arguments say.

mod git;
mod grammar;
mod hazards;
mod more;
mod scripts;
mod shells;
mod table;
mod values;

pub(crate) use hazards::hazard;
pub(crate) use shells::{changes_the_shell, runs_a_script};

use crate::Ambiguity;
use crate::shell::Word;

/// The commands that a command runs besides itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct InnerCommands {
    /// Commands, as words.
    pub(crate) commands: Vec<Vec<Word>>,
    /// Texts for a shell.
    pub(crate) texts: Vec<Word>,
    /// The ambiguity about it beyond the commands it runs.
    pub(crate) ambiguity: Option<Ambiguity>,
    /// Whether its arguments are unknown: any of them may start a command.
    pub(crate) is_open: bool,
}

/// Returns the commands that a command runs; `None` for one that runs no argument.
pub(crate) fn inner_commands(words: &[Word]) -> Option<InnerCommands> {
    let name = name(words.first()?);
    if let Some(inner) = shells::inner_commands(&name, words) {
        return Some(inner);
    }
    // The dynamic loader runs programs too.
    if name.starts_with("ld-") && name.contains(".so") {
        return Some(InnerCommands {
            ambiguity: Some(Ambiguity::WrapperArguments(name)),
            is_open: true,
            ..InnerCommands::default()
        });
    }
    let known = table::WRAPPERS.iter().find(|known| known.name == name)?;
    let mut inner = grammar::unwrap(known, words);
    if name == "xargs" {
        inner.commands.iter_mut().for_each(grammar::add_input);
    }
    Some(inner)
}

/// Whether a program runs others only under some of its subcommands, its second words.
pub(crate) fn takes_subcommand(program: &str) -> bool {
    matches!(program, "docker" | "podman" | "kubectl")
}

/// Returns the last part of a program's name in lower case.
pub(crate) fn name(word: &Word) -> String {
    let name = word.text.rsplit('/').next().unwrap_or_default();
    name.to_ascii_lowercase()
}

/// Returns a git command in its usual form: its own subcommand, without options before it. `None` if it already has
/// that form.
pub(crate) fn without_git_options(words: &[Word]) -> Option<Vec<Word>> {
    let program = name(words.first()?);
    // `/usr/lib/git-core/git-push`
    let (words, own) = match program.strip_prefix("git-") {
        Some(own) => {
            let mut whole = vec![Word::exact("git"), Word::exact(own)];
            whole.extend_from_slice(&words[1..]);
            (whole, true)
        }
        None if program == "git" => (words.to_vec(), false),
        None => return None,
    };
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
    let does_the_same = |word: &Word| matches!(word.text.as_str(), "send-pack" | "http-push");
    if at >= words.len() || (at == 1 && !own && !does_the_same(&words[at])) {
        return None;
    }
    let mut bare = vec![words[0].clone()];
    bare.extend_from_slice(&words[at..]);
    if does_the_same(&bare[1]) {
        bare[1] = Word::exact("push");
    }
    Some(bare)
}
