//! Reads the arguments of a program that runs another one.

use super::InnerCommands;
use crate::Ambiguity;
use crate::shell::{Piece, Word};

/// How much a program changes the command that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// Nothing that matters: the command is judged as if it were alone.
    Light,
    /// Nothing that matters, if the program gets no option and no variable.
    LightIfBare,
    /// The user is asked, whatever the command is.
    Heavy,
    /// As `Heavy`, and the program's arguments are not read.
    Open,
}

/// A program that runs a command from its arguments.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    pub(super) weight: Severity,
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with one.
    pub(super) values: &'static str,
    pub(super) long_flags: &'static [&'static str],
    pub(super) long_values: &'static [&'static str],
    /// Number of words before the command.
    pub(super) operands: usize,
    /// Whether `NAME=value` may come before the command.
    pub(super) assignments: bool,
    /// Words that start a command; if there are any, nothing else does.
    pub(super) marks: &'static [&'static str],
    /// Words that end a command started so.
    pub(super) until: &'static [&'static str],
}

/// Finds the commands that a command of this program runs.
pub(super) fn unwrap(wrapper: &Wrapper, words: &[Word]) -> InnerCommands {
    if wrapper.weight == Severity::Open {
        return open(wrapper, words);
    }
    if !wrapper.marks.is_empty() {
        return marked(wrapper, words);
    }
    let Some(start) = command_index(wrapper, words) else {
        return open(wrapper, words);
    };
    let command = &words[start..];
    // Under another path or spelling, it may be another program.
    let bare = start == 1 + wrapper.operands;
    let known = words[0] == Word::exact(wrapper.name);
    let light = known
        && match wrapper.weight {
            Severity::Light => true,
            Severity::LightIfBare => bare,
            Severity::Heavy | Severity::Open => false,
        };
    // An option from a variable may be another option, or a command.
    let exact = words[..start].iter().all(|word| word.exact);
    InnerCommands {
        commands: if command.is_empty() {
            Vec::new()
        } else {
            vec![command.to_vec()]
        },
        texts: Vec::new(),
        ambiguity: (!light || command.is_empty()).then(|| Ambiguity::Wrapper(wrapper.name.to_owned())),
        is_open: !exact,
    }
}

fn open(wrapper: &Wrapper, words: &[Word]) -> InnerCommands {
    // Each of them may be a text for a shell: `ssh host 'a; b'`.
    let texts = words[1..]
        .iter()
        .filter(|word| word.exact && word.text.contains(' '));
    InnerCommands {
        texts: texts.cloned().collect(),
        ambiguity: Some(Ambiguity::WrapperArguments(wrapper.name.to_owned())),
        is_open: true,
        ..InnerCommands::default()
    }
}

/// Returns the index of the command; `None` if an option is unknown.
fn command_index(wrapper: &Wrapper, words: &[Word]) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(name, value)| (name, Some(value)));
            if wrapper.long_flags.contains(&name) {
                at += 1;
            } else if wrapper.long_values.contains(&name) {
                at += 1 + usize::from(value.is_none());
            } else {
                return None;
            }
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            // `nice -10`
            if wrapper.name == "nice" && letters.bytes().all(|byte| byte.is_ascii_digit()) {
                at += 1;
                continue;
            }
            at += 1 + usize::from(short(wrapper, letters)? == Value::Next);
        } else {
            break;
        }
    }
    while wrapper.assignments && words.get(at).is_some_and(|word| is_assignment(&word.text)) {
        at += 1;
    }
    Some((at + wrapper.operands).min(words.len()))
}

/// Adds the words that `xargs` reads to its command: at the end, or in place of the braces.
pub(super) fn add_input(command: &mut Vec<Word>) {
    for word in command.iter_mut().filter(|word| word.text.contains("{}")) {
        *word = Word {
            text: word.text.clone(),
            ..Word::of(vec![Piece::Unknown])
        };
    }
    command.push(Word::of(vec![Piece::Unknown]));
}

#[derive(PartialEq, Eq)]
enum Value {
    Here,
    Next,
}

/// Reads letters after one dash; `None` if a letter is unknown.
fn short(wrapper: &Wrapper, letters: &str) -> Option<Value> {
    for (at, letter) in letters.char_indices() {
        if wrapper.values.contains(letter) {
            let rest = &letters[at + letter.len_utf8()..];
            return Some(if rest.is_empty() { Value::Next } else { Value::Here });
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
        // Options with an optional value in the same word.
        if wrapper.name == "xargs" && "ile".contains(letter) {
            return Some(Value::Here);
        }
    }
    Some(Value::Here)
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty())
}

fn marked(wrapper: &Wrapper, words: &[Word]) -> InnerCommands {
    let mut inner = InnerCommands::default();
    let mut rest = &words[1..];
    while let Some(mark) = rest
        .iter()
        .position(|word| wrapper.marks.contains(&word.text.as_str()))
    {
        let command = &rest[mark + 1..];
        let end = command
            .iter()
            .position(|word| wrapper.until.contains(&word.text.as_str()));
        let end = end.unwrap_or(command.len());
        if end > 0 {
            inner.commands.push(command[..end].to_vec());
        }
        inner.ambiguity = Some(Ambiguity::Wrapper(wrapper.name.to_owned()));
        rest = &command[end..];
    }
    inner.is_open = words[1..].iter().any(|word| !word.exact);
    inner
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::inner_commands;
    use super::*;

    fn words(line: &str) -> Vec<Word> {
        line.split(' ').map(Word::exact).collect()
    }

    #[rstest]
    #[case("nice -n 10 rm x", "rm x", true)]
    #[case("nice -10 rm x", "rm x", true)]
    #[case("/usr/bin/nice rm x", "rm x", false)]
    #[case("timeout -k 5 -s KILL 10 rm x", "rm x", true)]
    #[case("timeout --signal=KILL 10 rm x", "rm x", true)]
    #[case("env rm x", "rm x", true)]
    #[case("env A=b rm x", "rm x", false)]
    #[case("env -i -u B A=b rm x", "rm x", false)]
    #[case("sudo -u root -E A=b rm x", "rm x", false)]
    #[case("sudo -uroot -- rm x", "rm x", false)]
    #[case("chroot --skip-chdir / rm x", "rm x", false)]
    #[case("find . -name a -exec rm x ;", "rm x", false)]
    #[case("find . -execdir rm x +", "rm x", false)]
    #[case("busybox rm x", "rm x", false)]
    #[case("command rm x", "rm x", true)]
    #[case("command -p rm x", "rm x", false)]
    #[case("exec -a ls rm x", "rm x", false)]
    fn what_is_run_is_found(#[case] line: &str, #[case] expected: &str, #[case] light: bool) {
        let inner = inner_commands(&words(line)).unwrap();
        assert_eq!(inner.commands, [words(expected)]);
        assert_eq!((inner.ambiguity.is_none(), inner.is_open), (light, false));
    }

    #[rstest]
    #[case("nice --unknown rm x")]
    #[case("env -S rm")]
    #[case("sudo --new-option rm x")]
    #[case("ssh host rm x")]
    fn what_is_not_understood_is_open(#[case] line: &str) {
        let inner = inner_commands(&words(line)).unwrap();
        assert!(inner.is_open && inner.ambiguity.is_some());
    }

    #[test]
    fn each_command_behind_a_mark_is_found_and_none_is_made_of_nothing() {
        let inner = |line: &str| inner_commands(&words(line)).unwrap();
        let two = inner("find . -exec cat {} ; -name a -exec rm x ; -print");
        assert_eq!(two.commands, [words("cat {}"), words("rm x")]);
        assert_eq!(inner("find . -exec sync ;").commands, [words("sync")]);
        let cut = inner("find . -exec rm x");
        assert_eq!(cut.commands, [words("rm x")]);
        for line in ["find . -exec", "find . -exec ;"] {
            let nothing = inner(line);
            assert_eq!(nothing.commands, Vec::<Vec<Word>>::new(), "{line}");
            assert!(nothing.ambiguity.is_some() && !nothing.is_open, "{line}");
        }
        // A word that is not known may be a mark.
        let mut unknown = words("find . x rm y");
        unknown[2].exact = false;
        assert!(inner_commands(&unknown).unwrap().is_open);
        unknown[2].exact = true;
        assert!(!inner_commands(&unknown).unwrap().is_open);
    }

    #[test]
    fn what_runs_nothing_it_was_given_is_no_wrapper() {
        assert!(inner_commands(&words("rm x")).is_none());
        assert_eq!(
            inner_commands(&words("find . -name x")),
            Some(InnerCommands::default())
        );
    }
}
