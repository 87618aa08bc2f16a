//! Git commands that run without a question: those that show a repository whose configuration runs nothing.
//!
//! Only at the top of the workspace: in a directory under it, files that an agent may write could form a repository
//! of their own.

use super::ReadContext;

/// A subcommand that only reads.
struct Subcommand {
    name: &'static str,
    /// Allowed options. After one that ends with `=` the value is the next word; after one that ends with `*`, the
    /// rest of the same word.
    options: &'static [&'static str],
    operands: Operands,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// No operands.
    None,
    /// This word only.
    Word(&'static str),
    /// Revisions, and paths in the workspace; the command does not show file contents.
    Names,
    /// As `Names`, but the command may show file contents.
    Contents,
}

const fn subcommand(name: &'static str, options: &'static [&'static str], operands: Operands) -> Subcommand {
    Subcommand {
        name,
        options,
        operands,
    }
}

const DIFF: &[&str] = &[
    "--",
    "--cached",
    "--staged",
    "--stat",
    "--stat=*",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--summary",
    "--patch",
    "-p",
    "-u",
    "--no-patch",
    "-s",
    "--raw",
    "--check",
    "--quiet",
    "--exit-code",
    "--color",
    "--color=*",
    "--no-color",
    "--word-diff",
    "--word-diff=*",
    "-w",
    "-b",
    "--ignore-all-space",
    "--ignore-space-change",
    "--ignore-blank-lines",
    "-U*",
    "--unified=*",
    "-M",
    "-C",
    "--find-renames",
    "--no-renames",
    "--diff-filter=*",
    "--no-ext-diff",
    "--no-textconv",
    "-R",
    "-z",
    "--minimal",
    "--patience",
    "--histogram",
    "--merge-base",
    "--relative",
    "--full-index",
    "--abbrev",
    "--abbrev=*",
];
const LOG: &[&str] = &[
    "--oneline",
    "--graph",
    "--all",
    "--decorate",
    "--decorate=*",
    "--no-decorate",
    "-n=",
    "-n*",
    "--max-count=*",
    "--since=*",
    "--until=*",
    "--after=*",
    "--before=*",
    "--author=*",
    "--committer=*",
    "--grep=*",
    "-i",
    "-E",
    "--no-merges",
    "--merges",
    "--first-parent",
    "--reverse",
    "--follow",
    "--abbrev-commit",
    "--date=*",
    "--format=*",
    "--pretty",
    "--pretty=*",
    "--tags",
    "--branches",
    "--remotes",
    "--source",
    "--topo-order",
    "--date-order",
    "-S*",
    "-G*",
    "-L=",
    "-L*",
    "--full-history",
    "--left-right",
    "--cherry-pick",
    "--skip=*",
    "--simplify-by-decoration",
];
const SUBCOMMANDS: &[Subcommand] = &[
    subcommand(
        "status",
        &[
            "--",
            "-s",
            "--short",
            "-b",
            "-sb",
            "--branch",
            "--porcelain",
            "--porcelain=*",
            "--long",
            "-v",
            "-u*",
            "--untracked-files",
            "--untracked-files=*",
            "--ignored",
            "-z",
            "--show-stash",
            "--ahead-behind",
        ],
        Operands::Names,
    ),
    subcommand("diff", &[], Operands::Contents),
    subcommand("log", &[], Operands::Contents),
    subcommand("show", &[], Operands::Contents),
    subcommand(
        "branch",
        &[
            "-a",
            "-r",
            "-v",
            "-vv",
            "-av",
            "-avv",
            "--all",
            "--remotes",
            "--list",
            "-l",
            "--show-current",
            "--no-color",
        ],
        Operands::None,
    ),
    subcommand("tag", &["-l", "--list", "-n"], Operands::None),
    subcommand("remote", &["-v", "--verbose"], Operands::None),
    subcommand("stash", &[], Operands::Word("list")),
    subcommand(
        "rev-parse",
        &[
            "--abbrev-ref",
            "--short",
            "--short=*",
            "--verify",
            "-q",
            "--quiet",
            "--show-toplevel",
            "--show-prefix",
            "--show-cdup",
            "--git-dir",
            "--is-inside-work-tree",
            "--symbolic-full-name",
        ],
        Operands::Names,
    ),
    subcommand(
        "ls-files",
        &[
            "--",
            "-c",
            "-d",
            "-m",
            "-o",
            "-s",
            "-t",
            "-z",
            "--cached",
            "--deleted",
            "--modified",
            "--others",
            "--stage",
            "--exclude-standard",
            "--full-name",
            "--error-unmatch",
        ],
        Operands::Names,
    ),
    subcommand(
        "blame",
        &[
            "--",
            "-L=",
            "-L*",
            "-w",
            "-M",
            "-C",
            "-e",
            "-s",
            "-l",
            "-t",
            "--date=*",
            "--porcelain",
        ],
        Operands::Contents,
    ),
    subcommand(
        "describe",
        &[
            "--tags",
            "--always",
            "--dirty",
            "--long",
            "--all",
            "--abbrev=*",
            "--match=*",
        ],
        Operands::Names,
    ),
    subcommand("version", &[], Operands::None),
];

/// Whether git only reads in the workspace; `rest` are the words after the program.
pub(super) fn is_plain_read(rest: &[&str], context: &ReadContext<'_>) -> bool {
    if rest == ["--version"] {
        return true;
    }
    let global = rest
        .iter()
        .take_while(|word| matches!(**word, "--no-pager" | "-P" | "--no-optional-locks"))
        .count();
    let Some((name, rest)) = rest[global..].split_first() else {
        return false;
    };
    let Some(known) = SUBCOMMANDS.iter().find(|known| known.name == *name) else {
        return false;
    };
    if context.has_path_rules && known.operands == Operands::Contents {
        // The output may include files that a rule for paths refuses.
        return false;
    }
    let Some(operands) = operands(known, rest) else {
        return false;
    };
    let fits = match known.operands {
        Operands::None => operands.is_empty(),
        Operands::Word(word) => operands == [word],
        // A revision is a path that does not exist.
        Operands::Names | Operands::Contents => operands.iter().all(|operand| context.is_inside(operand)),
    };
    fits && context.directories == [context.places.root().to_owned()] && context.places.is_plain_repository()
}

/// Returns the operands; `None` if an option is not listed.
fn operands<'a>(known: &Subcommand, rest: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut operands = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if !word.starts_with('-') {
            operands.push(*word);
            continue;
        }
        let more: [&[&str]; 2] = match known.name {
            "diff" => [DIFF, &[]],
            "log" | "show" => [DIFF, LOG],
            _ => [&[], &[]],
        };
        let all = || known.options.iter().chain(more[0]).chain(more[1]);
        let counts =
            matches!(known.name, "log" | "show") && word[1..].bytes().all(|byte| byte.is_ascii_digit());
        // Git runs a program to check a signature.
        let checks = word.contains("%G");
        if checks {
            return None;
        }
        if all().any(|option| {
            option.strip_suffix('=').is_some_and(|option| option == *word) && !option.starts_with("--")
        }) {
            words.next()?;
            continue;
        }
        let fits = |option: &&&str| match option.strip_suffix('*') {
            Some(start) => word.len() > start.len() && word.starts_with(start),
            None => *option == word,
        };
        if !counts && !all().any(|option| fits(&option)) {
            return None;
        }
    }
    Some(operands)
}
