//! Which command lines can do no more than the reading tools may do anyway.
//!
//! Such a line runs without a question. The check fails closed: a line passes only when every character,
//! word, flag and path of it is known to be harmless; whatever is not understood is asked about. Nothing
//! here tries to understand a shell.

use std::path::Path;

use crate::tools::paths::{Standing, resolve, standing};

/// What a program that only reads may be given.
struct Program {
    name: &'static str,
    /// Letters that may follow one dash, alone or together.
    letters: &'static str,
    /// Flags that take a number, as the same or the next word.
    counted: &'static str,
    /// Whether it needs a path: without one it would read standard input.
    needs_path: bool,
    /// Whether it takes paths at all.
    takes_paths: bool,
}

/// No letter here follows links, recurses, executes, writes or waits.
const PROGRAMS: &[Program] = &[
    Program {
        name: "ls",
        letters: "1aAdFhlrSt",
        counted: "",
        needs_path: false,
        takes_paths: true,
    },
    Program {
        name: "pwd",
        letters: "",
        counted: "",
        needs_path: false,
        takes_paths: false,
    },
    Program {
        name: "cat",
        letters: "bns",
        counted: "",
        needs_path: true,
        takes_paths: true,
    },
    Program {
        name: "head",
        letters: "qv",
        counted: "nc",
        needs_path: true,
        takes_paths: true,
    },
    Program {
        name: "tail",
        letters: "qv",
        counted: "nc",
        needs_path: true,
        takes_paths: true,
    },
    Program {
        name: "wc",
        letters: "clmwL",
        counted: "",
        needs_path: true,
        takes_paths: true,
    },
];

/// Whether a command line only reads inside the workspace `root`, where it would run.
pub(crate) fn is_plain_read(command: &str, root: &Path) -> bool {
    if !command.chars().all(is_plain) {
        return false;
    }
    let mut words = command.split(' ').filter(|word| !word.is_empty());
    let Some(program) = words
        .next()
        .and_then(|name| PROGRAMS.iter().find(|known| known.name == name))
    else {
        return false;
    };
    let mut paths = 0_usize;
    while let Some(word) = words.next() {
        if let Some(flag) = word.strip_prefix('-') {
            match program.flag(flag) {
                Flag::Whole => {}
                Flag::WantsCount if words.next().is_some_and(is_count) => {}
                Flag::WantsCount | Flag::Unknown => return false,
            }
        } else if program.takes_paths && is_plain_path(word, root) {
            paths += 1;
        } else {
            return false;
        }
    }
    paths > 0 || !program.needs_path
}

enum Flag {
    Whole,
    WantsCount,
    Unknown,
}

impl Program {
    fn flag(&self, flag: &str) -> Flag {
        let Some(first) = flag.chars().next() else {
            return Flag::Unknown;
        };
        let rest = &flag[first.len_utf8()..];
        if self.counted.contains(first) {
            return match rest {
                "" => Flag::WantsCount,
                count if is_count(count) => Flag::Whole,
                _ => Flag::Unknown,
            };
        }
        // `head -5`
        let short_count = !self.counted.is_empty() && flag.bytes().all(|b| b.is_ascii_digit());
        if short_count || flag.chars().all(|letter| self.letters.contains(letter)) {
            Flag::Whole
        } else {
            Flag::Unknown
        }
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || " _./=,:@%+-".contains(c)
}

fn is_count(word: &str) -> bool {
    let digits = word.strip_prefix('+').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn is_plain_path(word: &str, root: &Path) -> bool {
    // Some shells expand a leading `=`.
    !word.starts_with('=') && resolve(root, word).is_ok_and(|path| standing(root, &path) == Standing::Inside)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rstest::rstest;

    use super::*;
    use crate::tools::testing::Workspace;

    fn workspace() -> Workspace {
        let workspace = Workspace::new();
        let root = workspace.root();
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir_all(root.join(".craft")).unwrap();
        std::fs::write(root.join("src/lib.rs"), "l").unwrap();
        std::fs::write(workspace.outside().join("secret"), "s").unwrap();
        symlink(workspace.outside(), root.join("leak")).unwrap();
        workspace
    }

    #[rstest]
    #[case("ls")]
    #[case("ls -la src")]
    #[case("ls  -1  .")]
    #[case("pwd")]
    #[case("cat src/lib.rs")]
    #[case("cat -n src/lib.rs src/../src/lib.rs")]
    #[case("head -5 src/lib.rs")]
    #[case("head -n 5 src/lib.rs")]
    #[case("tail -n +2 src/lib.rs")]
    #[case("tail -c100 src/lib.rs")]
    #[case("wc -lw src/lib.rs")]
    #[case("cat a=b")]
    fn plain_reads_pass(#[case] command: &str) {
        assert!(is_plain_read(command, workspace().root()), "{command}");
    }

    #[rstest]
    #[case("")]
    #[case(" ")]
    #[case("cat")]
    #[case("cat -")]
    #[case("cat --")]
    #[case("ls /")]
    #[case("ls /etc")]
    #[case("cat /etc/passwd")]
    #[case("cat ../x")]
    #[case("cat src/../../x")]
    #[case("cat missing/../../x")]
    #[case("ls ~")]
    #[case("ls ~root")]
    #[case("cat $HOME/x")]
    #[case("cat ${HOME}")]
    #[case("cat `id`")]
    #[case("cat $(id)")]
    #[case("ls *")]
    #[case("ls ?")]
    #[case("ls [a-z]")]
    #[case("ls {a,b}")]
    #[case("ls; id")]
    #[case("ls & id")]
    #[case("ls && id")]
    #[case("ls | sh")]
    #[case("ls || id")]
    #[case("ls > x")]
    #[case("cat < /etc/passwd")]
    #[case("cat <(id)")]
    #[case("ls\nid")]
    #[case("ls\rid")]
    #[case("ls\tsrc")]
    #[case("ls \\\n/etc")]
    #[case("cat 'src/lib.rs'")]
    #[case("cat \"src/lib.rs\"")]
    #[case("ls # x")]
    #[case("! ls")]
    #[case("A=b ls")]
    #[case("PATH=. ls")]
    #[case("LD_PRELOAD=./x.so ls")]
    #[case("env ls")]
    #[case("./ls")]
    #[case("/bin/ls")]
    #[case("src/ls")]
    #[case("LS")]
    #[case("cat leak/secret")]
    #[case("ls leak")]
    #[case("ls -L leak")]
    #[case("ls -R")]
    #[case("ls -aR")]
    #[case("ls --color=auto")]
    #[case("cat .craft/bobbin.db")]
    #[case("ls .craft")]
    #[case("cat .git/config")]
    #[case("cat .GIT/config")]
    #[case("tail -f src/lib.rs")]
    #[case("tail -F src/lib.rs")]
    #[case("tail -nf src/lib.rs")]
    #[case("tail -n")]
    #[case("tail -n src/lib.rs")]
    #[case("tail --follow src/lib.rs")]
    #[case("tail --pid=1 src/lib.rs")]
    #[case("wc --files0-from=list")]
    #[case("cat --x=/etc/passwd")]
    #[case("cat =id")]
    #[case("pwd /etc")]
    #[case("pwd -P")]
    #[case("less src/lib.rs")]
    #[case("find . -exec id")]
    #[case("rm src/lib.rs")]
    #[case("сat src/lib.rs")] // a Cyrillic first letter
    #[case("cat src/lib.rs\0")]
    #[case("cat\u{a0}src/lib.rs")]
    fn everything_else_is_asked_about(#[case] command: &str) {
        assert!(!is_plain_read(command, workspace().root()), "{command:?}");
    }
}
