//! Lines of git that change the settings of a repository: its configuration, its hooks, or what its work trees are.
//!
//! Not a barrier: sandboxed commands cannot write settings, whatever a line says. Bobbin asks about a line that is known
//! here, and it can write them once it is allowed.

use crate::shell::Word;
use crate::wrapper::without_git_options;

/// Subcommands with the words that make them change settings.
const CHANGES: &[(&str, &[&str])] = &[
    (
        "branch",
        &[
            "-u",
            "--set-upstream-to",
            "--unset-upstream",
            "--edit-description",
            "-m",
            "-M",
            "--move",
            "-c",
            "-C",
            "--copy",
        ],
    ),
    ("fetch", &["--set-upstream"]),
    ("flow", &["init"]),
    ("lfs", &["install", "uninstall", "update"]),
    ("maintenance", &["register", "unregister", "start", "stop"]),
    ("pull", &["--set-upstream"]),
    ("push", &["-u", "--set-upstream"]),
    (
        "remote",
        &["add", "rename", "rm", "remove", "set-branches", "set-url"],
    ),
    ("sparse-checkout", &["init", "set", "add", "reapply", "disable"]),
    (
        "submodule",
        &[
            "add",
            "init",
            "update",
            "sync",
            "deinit",
            "absorbgitdirs",
            "set-branch",
            "set-url",
        ],
    ),
    ("worktree", &["move", "remove", "repair", "prune"]),
];
/// Words with which `git config` only shows settings.
pub(crate) const SHOWS: &[&str] = &[
    "get",
    "list",
    "--get",
    "--get-all",
    "--get-regexp",
    "--list",
    "-l",
];

/// Returns whether a command changes the settings of a git repository.
pub(crate) fn changes_git_settings(words: &[Word]) -> bool {
    let bare = without_git_options(words);
    let words = bare.as_deref().unwrap_or(words);
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let [program, subcommand, rest @ ..] = texts.as_slice() else {
        return false;
    };
    if program.rsplit('/').next() != Some("git") {
        return false;
    }
    if *subcommand == "config" {
        return match rest {
            // `git config user.name` shows one.
            [] => false,
            [name] if !name.starts_with('-') => false,
            [first, ..] => !SHOWS.contains(first),
        };
    }
    let words = CHANGES.iter().find(|(name, _)| name == subcommand);
    let is_change = |word: &&str| {
        let word = word.split_once('=').map_or(*word, |(option, _)| option);
        words.is_some_and(|(_, words)| words.contains(&word))
    };
    rest.iter().any(is_change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_change_settings_are_told_from_those_that_do_not() {
        let changes =
            |line: &str| changes_git_settings(&line.split(' ').map(Word::exact).collect::<Vec<_>>());
        for line in [
            "git config core.fsmonitor ./x",
            "git config --unset a.b",
            "git config --global a.b c",
            "git config set a.b c",
            "git -C sub -c x=y remote add up /srv/up",
            "/usr/lib/git-core/git-remote add up /srv/up",
            "/usr/bin/git remote add up /srv/up",
            "git remote -v set-url up /srv/up",
            "git branch -u up/main",
            "git branch --set-upstream-to=up/main",
            "git branch -m old new",
            "git push -u up main",
            "git push up main --set-upstream",
            "git submodule update --init",
            "git worktree remove x",
            "git sparse-checkout set a",
        ] {
            assert!(changes(line), "{line}");
        }
        for line in [
            "git",
            "git config",
            "git config --list",
            "git config user.name",
            "git config --get user.name",
            "git remote -v",
            "git branch new",
            "git branch -d old",
            "git push up main",
            "git commit -m add",
            "git checkout -b new",
            "git submodule status",
            "git worktree add ../x",
            "hg config a b",
            "echo git config a b",
        ] {
            assert!(!changes(line), "{line}");
        }
    }
}
