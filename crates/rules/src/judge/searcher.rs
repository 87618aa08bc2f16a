//! Programs that show the content of files under a directory, and which files their options select.
//!
//! The programs and letters are known cases only. A letter missing in `flags` and `valued` costs an unneeded
//! question, because the paths are then unknown. A wrong letter may cost a needed one.

use std::ffi::OsStr;
use std::path::Path;

use super::options::Options;
use crate::{LeavesOut, Look};

/// A program that searches files.
struct Program {
    names: &'static [&'static str],
    /// Whether it reads its current directory when given no path.
    always: bool,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with one.
    valued: &'static str,
    /// Letters with which it follows symbolic links; `None` if it always does.
    links: Option<&'static str>,
    /// Entries that it skips by default.
    leaves_out: LeavesOut,
}

/// Ripgrep's options that select files, long forms of `-g`.
const GLOBS: &[&str] = &["glob", "iglob"];
const GREP_FLAGS: &str = "abchilnoqrsvwxEFGHILPR";
const GREP_VALUED: &str = "ABCDdefm";
const PROGRAMS: &[Program] = &[
    Program {
        names: &["rg", "rga"],
        always: true,
        flags: "abchilnopqsuvwxzFHILNPSUV.",
        valued: "ABCEMTdefgjmrt",
        links: Some("L"),
        leaves_out: LeavesOut::AsRipgrep,
    },
    Program {
        names: &["ag"],
        always: true,
        flags: "acfhilnorstuvwzDFHLQRSUV",
        valued: "ABCGgmpW",
        links: Some("f"),
        leaves_out: LeavesOut::AsAg,
    },
    Program {
        names: &["ack"],
        always: true,
        flags: "chilnorsvwHIR",
        valued: "ABCm",
        links: Some(""),
        leaves_out: LeavesOut::Nothing,
    },
    Program {
        names: &["rgrep", "ug", "ugrep"],
        always: true,
        flags: GREP_FLAGS,
        valued: GREP_VALUED,
        links: Some("RS"),
        leaves_out: LeavesOut::Nothing,
    },
    Program {
        names: &["egrep", "fgrep", "grep", "zgrep"],
        always: false,
        flags: GREP_FLAGS,
        valued: GREP_VALUED,
        // `S` is an option of BSD's grep; GNU's has none.
        links: Some("RS"),
        leaves_out: LeavesOut::Nothing,
    },
    Program {
        names: &["pcre2grep", "pcregrep"],
        always: false,
        flags: GREP_FLAGS,
        valued: GREP_VALUED,
        links: None,
        leaves_out: LeavesOut::Nothing,
    },
];
/// `git grep`, which follows no links. It reads tracked files, which may be ignored files too.
const GIT_GREP: Program = Program {
    names: &[],
    always: true,
    flags: "achilnopqrvwzEFGHILPW",
    valued: "ABCefm",
    links: Some(""),
    leaves_out: LeavesOut::Nothing,
};

/// Programs that are no searchers but follow symbolic links under a directory, with the letters and option prefixes
/// that make them do so.
const FOLLOWERS: &[(&str, &str, &[&str])] = &[
    ("bsdtar", "hL", &[]),
    ("cp", "L", &["der"]),
    ("diff", "r", &["rec"]),
    ("gtar", "h", &["der"]),
    ("rsync", "Lk", &["copy-"]),
    ("scp", "r", &[]),
    ("tar", "hL", &["der"]),
    ("zip", "rR", &["rec"]),
];

/// A command that searches files.
#[derive(Debug)]
pub(super) struct Searcher<'a> {
    /// Whether it reads its current directory.
    pub(super) reads_here: bool,
    pub(super) look: Look,
    /// The endings of the file names it reads; empty for all names.
    pub(super) tails: Vec<&'a str>,
}

impl Searcher<'_> {
    /// Whether it may read a file of this name.
    pub(super) fn may_read(&self, path: &Path) -> bool {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        let name = name.to_lowercase();
        let mut tails = self.tails.iter();
        self.tails.is_empty() || tails.any(|tail| name.ends_with(&tail.to_lowercase()))
    }
}

/// Returns the facts about a command that searches files. `words` follow the program, `bare` follow git's
/// subcommand if there is one; `exact` says whether these are all arguments.
pub(super) fn searcher<'a>(
    name: &str,
    words: &[&'a str],
    git: Option<&[&'a str]>,
    exact: bool,
    is_directory: impl Fn(&str) -> bool,
) -> Option<Searcher<'a>> {
    let of_git = git.is_some();
    let program = if of_git {
        &GIT_GREP
    } else {
        PROGRAMS.iter().find(|program| program.names.contains(&name))?
    };
    let words = git.unwrap_or(words).iter().copied();
    let options = Options::read(words, program.flags, program.valued);
    let goes_down = program.always || options.letter("rRd") || options.has_prefix(&["rec", "der", "di"]);
    if !goes_down {
        return None;
    }
    // A pattern comes first, then paths.
    let pattern = usize::from(!options.has_pattern);
    let paths = options.operands.get(pattern..).unwrap_or_default();
    let names_paths = if of_git {
        names_paths_of_git(&options, paths, is_directory)
    } else {
        !paths.is_empty()
    };
    let is_clear = exact && options.is_clear;
    let tails = match program.leaves_out {
        LeavesOut::AsRipgrep if is_clear => tails(options.values('g', GLOBS)),
        _ => Vec::new(),
    };
    let leaves_out = if lifts(program.leaves_out, &options) {
        LeavesOut::Nothing
    } else {
        program.leaves_out
    };
    let follows = program.links.is_none_or(|letters| options.letter(letters))
        || (!of_git && options.has_prefix(&["fo", "der"]));
    Some(Searcher {
        reads_here: !(is_clear && names_paths),
        look: Look {
            leaves_out,
            links: follows,
        },
        tails,
    })
}

/// Whether words of `git grep` are paths and not revisions.
fn names_paths_of_git(options: &Options<'_>, paths: &[&str], is_directory: impl Fn(&str) -> bool) -> bool {
    // `--` before the pattern says nothing about words after the pattern.
    let dashes = options.before_dashes.filter(|at| *at > 0 || options.has_pattern);
    let behind = dashes.map(|at| options.operands.get(at..).unwrap_or_default());
    // Without `--`, git refuses an ambiguous word, and a revision after a path.
    let known = match behind {
        Some(behind) => behind,
        None if paths.first().is_some_and(|first| is_directory(first)) => paths,
        None => &[],
    };
    let is_plain = |path: &&str| !path.is_empty() && !path.contains(['*', '?', '[', '\\', ':']);
    !known.is_empty() && known.iter().all(is_plain)
}

/// Whether options make a program read entries that it skips by default.
fn lifts(leaves_out: LeavesOut, options: &Options<'_>) -> bool {
    match leaves_out {
        LeavesOut::Nothing => false,
        // A glob, a type or a line with `!` can include hidden files.
        LeavesOut::AsRipgrep => {
            let mut globs = options.values('g', GLOBS);
            options.letter("u.t")
                || options.has_prefix(&["no-ig"])
                || options.named(&["hidden", "ignore-file", "type", "unrestricted"])
                || globs.any(|glob| !glob.starts_with('!'))
        }
        // Its option names may be abbreviated.
        LeavesOut::AsAg => {
            options.letter("uUatp") || options.has_prefix(&["ag", "al", "hi", "pat", "sk", "u"])
        }
    }
}

/// Returns the endings of all names that match one of these globs; empty if a glob has no fixed ending.
fn tails<'a>(globs: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let special = ['*', '?', '[', ']', '{', '}', ',', '/', '\\'];
    let tail = |glob: &'a str| {
        // Read as lines of an ignore file, where a comment matches nothing.
        let said = glob.trim_end();
        let tail = said.rsplit(special).next().filter(|tail| !tail.is_empty());
        tail.filter(|_| !said.starts_with('#'))
    };
    let fitting = globs.filter(|glob| !glob.starts_with('!'));
    fitting.map(tail).collect::<Option<_>>().unwrap_or_default()
}

/// Whether a program that is no searcher follows symbolic links under a directory.
pub(super) fn follows(name: &str, words: &[&str]) -> bool {
    let Some((_, letters, names)) = FOLLOWERS.iter().find(|(known, ..)| *known == name) else {
        return false;
    };
    let stores_links = |word: &&str| {
        word.strip_prefix('-')
            .is_some_and(|letters| letters.contains('y') && letters.chars().all(|c| "rqy9".contains(c)))
    };
    if name == "zip" && words.iter().any(stores_links) {
        return false;
    }
    let options = Options::read(words.iter().copied(), letters, "");
    // `tar chf`: the first word may lack its dash.
    let bundle = words
        .first()
        .filter(|first| name.ends_with("tar") && !first.starts_with('-'));
    options.letter(letters)
        || options.has_prefix(names)
        || bundle.is_some_and(|first| first.contains(|letter| letters.contains(letter)))
}
