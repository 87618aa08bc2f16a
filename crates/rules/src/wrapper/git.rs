//! What the subcommands of git do that nobody expects of them: options with one meaning here and another there.

/// A subcommand of this kind.
struct Subcommand {
    name: &'static str,
    /// Letters after one dash, alone or among others.
    letters: &'static str,
    /// Whole words.
    words: &'static [&'static str],
}

const fn subcommand(name: &'static str, letters: &'static str, words: &'static [&'static str]) -> Subcommand {
    Subcommand { name, letters, words }
}

const SUBCOMMANDS: &[Subcommand] = &[
    // `-u` names the program at the other end, `-c` sets what a configuration file can.
    subcommand("clone", "uc", &[]),
    subcommand("ls-remote", "u", &[]),
    subcommand("rebase", "x", &[]),
    subcommand("difftool", "x", &["difftool"]),
    subcommand("mergetool", "", &["mergetool"]),
    subcommand("archive", "o", &[]),
    subcommand("format-patch", "o", &[]),
    subcommand("bisect", "", &["run"]),
    subcommand("submodule", "", &["foreach"]),
    subcommand("filter-branch", "", &["filter-branch"]),
    subcommand("send-email", "", &["send-email"]),
    subcommand("instaweb", "", &["instaweb"]),
    subcommand("hook", "", &["hook"]),
];
/// Words with which `git config` only tells.
const TELLS: &[&str] = &[
    "get",
    "list",
    "--get",
    "--get-all",
    "--get-regexp",
    "--list",
    "-l",
];

/// Returns the words of a command of git that its subcommand makes dangerous.
pub(super) fn hazards<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    // Options before it that take a value are hazards themselves: a word taken for the subcommand by mistake makes a
    // question more.
    let Some(at) = rest.iter().position(|word| !word.starts_with('-')) else {
        return Vec::new();
    };
    let (name, rest) = (rest[at], &rest[at..]);
    if name == "config" && !rest.get(1).is_some_and(|word| TELLS.contains(word)) {
        return vec![name];
    }
    let Some(known) = SUBCOMMANDS.iter().find(|known| known.name == name) else {
        return Vec::new();
    };
    let is_hazard =
        |word: &&&str| known.words.contains(word) || super::hazards::is_among(word, known.letters);
    rest.iter().filter(is_hazard).copied().collect()
}
