//! Shells and builtins that run a text.

use super::InnerCommands;
use crate::Ambiguity;
use crate::shell::Word;

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"];
/// Programs with a `-c` text that are no POSIX shells, and shells of other languages.
const TEXT_RUNNERS: &[&str] = &[
    "su", "sg", "script", "flock", "watch", "fish", "csh", "tcsh", "nu", "pwsh", "xonsh", "elvish",
];
/// Builtins that change how the shell treats later commands.
const STATE: &[&str] = &[
    ".",
    "source",
    "alias",
    "unalias",
    "set",
    "shopt",
    "enable",
    "hash",
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "read",
    "mapfile",
    "readarray",
    "unset",
    "bind",
    "complete",
    "compgen",
    "let",
    "getopts",
    "umask",
    "ulimit",
    "pushd",
    "popd",
    "fc",
    "history",
    "return",
    "exit",
    "shift",
    "times",
    "wait",
    "jobs",
    "fg",
    "bg",
    "disown",
    "suspend",
    "logout",
    "caller",
    "dirs",
    "emulate",
    "autoload",
    "zmodload",
];

/// Whether a command is a builtin that changes how the shell goes on.
pub(crate) fn changes_the_shell(words: &[Word]) -> bool {
    let Some(first) = words.first() else {
        return false;
    };
    let name = super::name(first);
    // `printf -v PATH %s x`
    let sets = matches!(name.as_str(), "printf" | "print")
        && words[1..].iter().any(|word| word.text.starts_with("-v"));
    sets || STATE.contains(&name.as_str())
}

/// Whether a shell gets a script after its options: `bash -x script.sh`.
pub(crate) fn runs_a_script(words: &[Word]) -> bool {
    let rest = &words[1..];
    let reads_input = |word: &Word| word.text.starts_with('-') && word.text.contains(['s', 'o', 'O', 'i']);
    let exact = rest.iter().all(|word| word.exact);
    let operand = rest.iter().any(|word| !word.text.starts_with(['-', '+', '/']));
    exact && operand && !rest.iter().any(reads_input)
}

/// Returns the commands that a shell or a builtin runs.
pub(super) fn inner_commands(name: &str, words: &[Word]) -> Option<InnerCommands> {
    let rest = &words[1..];
    if SHELLS.contains(&name) {
        return Some(shell(name, &words[0], rest));
    }
    match name {
        "eval" => Some(InnerCommands {
            texts: vec![joined(rest)],
            ambiguity: Some(Ambiguity::ShellState(name.to_owned())),
            ..InnerCommands::default()
        }),
        "alias" => {
            let values = rest.iter().filter_map(|word| {
                let (_, text) = word.text.split_once('=')?;
                Some(Word {
                    exact: word.exact,
                    ..Word::exact(text)
                })
            });
            Some(InnerCommands {
                texts: values.collect(),
                ambiguity: Some(Ambiguity::ShellState(name.to_owned())),
                ..InnerCommands::default()
            })
        }
        "trap" => Some(InnerCommands {
            texts: rest.first().cloned().into_iter().collect(),
            ambiguity: Some(Ambiguity::ShellState(name.to_owned())),
            is_open: rest.iter().any(|word| !word.exact),
            ..InnerCommands::default()
        }),
        name if TEXT_RUNNERS.contains(&name) => Some(InnerCommands {
            // Any of its words may be the text, and a refusing rule must not miss it.
            texts: rest
                .iter()
                .filter(|word| word.text.contains(' '))
                .cloned()
                .collect(),
            ambiguity: Some(Ambiguity::WrapperArguments(name.to_owned())),
            is_open: true,
            ..InnerCommands::default()
        }),
        "env" => split_string(rest),
        _ => None,
    }
}

fn shell(name: &str, program: &Word, rest: &[Word]) -> InnerCommands {
    let options = rest
        .iter()
        .take_while(|word| word.text.starts_with(['-', '+']) && word.text.len() > 1)
        .count();
    let takes_text =
        |word: &Word| !word.text.starts_with("--") && word.text.starts_with('-') && word.text.contains('c');
    if options == 0
        && rest
            .first()
            .is_some_and(|script| script.exact && script.text.len() > 1)
    {
        // A script is a program like any other: rules name this very command.
        return InnerCommands::default();
    }
    if !rest.iter().any(takes_text) {
        return InnerCommands {
            ambiguity: Some(Ambiguity::ShellInput(name.to_owned())),
            is_open: rest.iter().any(|word| !word.exact),
            ..InnerCommands::default()
        };
    }
    let plain =
        *program == Word::exact(name) && options == 1 && rest[0] == Word::exact("-c") && rest.len() == 2;
    InnerCommands {
        // After options with a value the text comes later, so every word counts as a text.
        texts: if plain {
            vec![rest[1].clone()]
        } else {
            rest[options..].to_vec()
        },
        ambiguity: (!plain).then(|| Ambiguity::Wrapper(name.to_owned())),
        is_open: rest.iter().any(|word| !word.exact),
        ..InnerCommands::default()
    }
}

/// `env -S 'text'` splits a text into words and runs them.
fn split_string(rest: &[Word]) -> Option<InnerCommands> {
    let splits = |word: &Word| {
        let letters = word.text.strip_prefix('-').filter(|text| !text.starts_with('-'));
        letters.is_some_and(|text| text.contains('S')) || word.text.starts_with("--s")
    };
    let at = rest.iter().position(splits)?;
    let attached = rest[at].text.split_once(['S', '=']).map(|(_, text)| Word {
        exact: rest[at].exact,
        ..Word::exact(text)
    });
    let texts = attached.into_iter().chain([joined(&rest[at + 1..])]);
    Some(InnerCommands {
        texts: texts.filter(|text| !text.text.trim().is_empty()).collect(),
        ambiguity: Some(Ambiguity::Wrapper("env".to_owned())),
        is_open: true,
        ..InnerCommands::default()
    })
}

fn joined(words: &[Word]) -> Word {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    Word {
        exact: words.iter().all(|word| word.exact),
        ..Word::exact(texts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::inner_commands;
    use super::*;

    fn run(words: &[&str]) -> InnerCommands {
        let words: Vec<Word> = words.iter().copied().map(Word::exact).collect();
        inner_commands(&words).unwrap()
    }

    #[rstest]
    #[case(&["sh", "-c", "rm x"], true)]
    #[case(&["/bin/sh", "-c", "rm x"], false)]
    #[case(&["bash", "-lc", "rm x"], false)]
    #[case(&["bash", "-o", "pipefail", "-c", "rm x"], false)]
    #[case(&["env", "-S", "rm x"], false)]
    #[case(&["env", "-Srm x"], false)]
    #[case(&["env", "--split-string=rm x"], false)]
    #[case(&["eval", "rm", "x"], false)]
    #[case(&["trap", "rm x", "EXIT"], false)]
    #[case(&["su", "-c", "rm x"], false)]
    fn texts_are_found(#[case] words: &[&str], #[case] light: bool) {
        let inner = run(words);
        let found = inner.texts.iter().any(|text| text.text == "rm x");
        assert_eq!(inner.ambiguity.is_none(), light);
        assert!(found, "{inner:?}");
    }

    #[rstest]
    #[case(&["sh"])]
    #[case(&["bash", "-s"])]
    #[case(&["bash", "-"])]
    #[case(&["bash", "-x", "script.sh"])]
    fn a_shell_without_a_text_takes_commands_from_elsewhere(#[case] words: &[&str]) {
        assert!(matches!(run(words).ambiguity, Some(Ambiguity::ShellInput(_))));
    }
}
