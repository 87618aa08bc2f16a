//! The beginning of a line that an answer for a session may cover as a kind: `git diff`, `cargo test`.
//!
//! A line has a head only if it is one plain command of a listed program and subcommand. None of its options may
//! run or write something else, and none of its words may lead out of the workspace, by spelling or by links. All
//! other lines (interpreters, scripts, wrappers, several commands) have no head.

use crate::shell::{Link, steps};
use crate::wrapper::hazard;
use crate::{PathStatus, Places};

/// Programs with their subcommands whose lines differ in their subject and not in what they can do. An empty list
/// means that the program has no subcommands.
const HEADS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "add",
            "blame",
            "commit",
            "describe",
            "diff",
            "log",
            "ls-files",
            "rev-parse",
            "shortlog",
            "show",
            "status",
        ],
    ),
    (
        "cargo",
        &[
            "bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree",
        ],
    ),
    ("go", &["build", "fmt", "list", "test", "vet"]),
    ("mkdir", &[]),
    ("touch", &[]),
];

/// Returns the head of a line, if it has one.
pub(crate) fn head(line: &str, places: &dyn Places) -> Option<String> {
    let [step] = <[_; 1]>::try_from(steps(line)?).ok()?;
    if step.link != Link::First || !step.redirects.is_empty() || step.words.iter().any(|word| !word.exact) {
        return None;
    }
    let words: Vec<&str> = step.words.iter().map(|word| word.text.as_str()).collect();
    of_words(&words, places)
}

/// Returns the head of a plain command.
pub(crate) fn of_words(words: &[&str], places: &dyn Places) -> Option<String> {
    let (head, words) = spelled(words)?;
    let is_inside = |part: &str| {
        let place = places.find(places.root(), part);
        // A path that cannot exist is opened by no program either.
        place.is_none_or(|place| place.status == PathStatus::Inside)
    };
    let mut parts = words.iter().flat_map(|word| word.split(['=', ':']));
    parts
        .all(|part| part.is_empty() || is_inside(part))
        .then_some(head)
}

/// Returns the head of a command by its spelling, and the remaining words.
fn spelled<'a>(words: &'a [&'a str]) -> Option<(String, &'a [&'a str])> {
    let (program, rest) = words.split_first()?;
    let (_, subcommands) = HEADS.iter().find(|(known, _)| known == program)?;
    let (head, rest) = if subcommands.is_empty() {
        ((*program).to_owned(), rest)
    } else {
        let (subcommand, rest) = rest.split_first()?;
        subcommands
            .contains(subcommand)
            .then(|| (format!("{program} {subcommand}"), rest))?
    };
    let stays = rest.iter().all(|word| stays_inside(word));
    (stays && hazard(words, |_| false).is_none()).then_some((head, rest))
}

/// Whether a word, by its spelling, stays in the directory in which the command runs.
fn stays_inside(word: &str) -> bool {
    let leads_out = word.starts_with(['/', '~'])
        || word.split(['/', '=', ':']).any(|part| part == "..")
        || (word.starts_with('-') && word.contains('/'))
        // The option may be abbreviated.
        || word.starts_with("--no-i");
    !leads_out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Look, ResolvedPath};

    /// A disk on which no path of these lines can exist: the spelling decides.
    struct Spelled;

    impl Places for Spelled {
        fn root(&self) -> &Path {
            Path::new("/w")
        }

        fn find(&self, _directory: &Path, _text: &str) -> Option<ResolvedPath> {
            None
        }

        fn is_directory(&self, _path: &Path) -> bool {
            false
        }

        fn names(&self, _directory: &Path) -> Option<Vec<String>> {
            None
        }

        fn is_reserved(&self, _path: &Path) -> bool {
            false
        }

        fn is_plain_repository(&self) -> bool {
            false
        }

        fn contains(&self, _directory: &Path, _look: Look, _fits: &dyn Fn(&Path) -> bool) -> bool {
            false
        }
    }

    #[test]
    fn only_plain_commands_of_listed_programs_have_a_head() {
        for (line, wanted) in [
            ("git diff", "git diff"),
            (" git diff --stat main..feature -- src/lib.rs ", "git diff"),
            ("git commit -m 'a b'", "git commit"),
            ("cargo test -p a -- --nocapture", "cargo test"),
            ("touch a/b 2>/dev/null", "touch"),
            ("mkdir -p a", "mkdir"),
        ] {
            let head = head(line, &Spelled);
            assert_eq!(head.as_deref(), Some(wanted), "{line}");
        }
        for line in [
            "git",
            "git push",
            "git -C sub diff",
            "git -c core.pager=x diff",
            "git diff --output=x",
            "git diff --no-index a b",
            "git diff --no-in a b",
            "git diff /etc/passwd x",
            "git diff ../other",
            "git log --ext-diff",
            "git commit -F/etc/passwd",
            "git commit --file=/etc/passwd",
            "git commit --file=../x",
            "cargo run",
            "cargo test --config x",
            "cargo +nightly test",
            "cargo test > out",
            "cargo test && rm -rf a",
            "cargo test; rm a",
            "git diff | sh",
            "git diff < x",
            "nice git diff",
            "./git diff",
            "sh -c 'git diff'",
            "python x.py",
            "npm test",
            "make",
            "rm a",
            "touch /etc/x",
            "touch ~/x",
            "touch $(x)",
            "touch *",
            "",
        ] {
            assert_eq!(head(line, &Spelled), None, "{line}");
        }
    }
}
