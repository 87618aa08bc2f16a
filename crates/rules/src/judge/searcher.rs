//! Programs that show what is in the files below a directory, and what their options say about which files those are.
//!
//! A list of known cases, and so are the letters. A letter that is missing among `flags` and `valued` costs a question too
//! many: then it is not known which words are paths. One that wrongly stands there may cost a question that was needed.

use std::ffi::OsStr;
use std::path::Path;

use super::options::Options;
use crate::{LeavesOut, Look};

/// A program that searches files.
struct Program {
    names: &'static [&'static str],
    /// Whether it reads all that is below where it stands when it is told nothing else.
    always: bool,
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with one.
    valued: &'static str,
    /// Letters with which it follows symbolic links; nothing where it always does.
    links: Option<&'static str>,
    /// What it leaves out when no option says otherwise.
    leaves_out: LeavesOut,
}

/// Ripgrep's options that say which files are read, `-g` in full.
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
        // `S` is BSD's; GNU's has none.
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
/// `git grep`, which follows no links. It reads what git knows, which may be ignored all the same.
const GIT_GREP: Program = Program {
    names: &[],
    always: true,
    flags: "achilnopqrvwzEFGHILPW",
    valued: "ABCefm",
    links: Some(""),
    leaves_out: LeavesOut::Nothing,
};

/// Programs that are no searchers and follow symbolic links below a directory: letters and beginnings of names of options
/// with which they do.
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

/// What is known of a command that searches files.
#[derive(Debug)]
pub(super) struct Searcher<'a> {
    /// Whether it reads where it stands.
    pub(super) reads_here: bool,
    pub(super) look: Look,
    /// What the names of files end with that it reads; of all where there is nothing.
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

/// Returns what is known of a command that searches files. `words` are those behind the program, `bare` those behind git's
/// subcommand where there is one; `exact` says whether they are all that the program is given.
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
    let goes_down = program.always || options.letter("rRd") || options.begins(&["rec", "der", "di"]);
    if !goes_down {
        return None;
    }
    // A pattern, then paths.
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
        || (!of_git && options.begins(&["fo", "der"]));
    Some(Searcher {
        reads_here: !(is_clear && names_paths),
        look: Look {
            leaves_out,
            links: follows,
        },
        tails,
    })
}

/// Whether words of `git grep` are paths, and not revisions, which it would read from here on down.
fn names_paths_of_git(options: &Options<'_>, paths: &[&str], is_directory: impl Fn(&str) -> bool) -> bool {
    // In front of a pattern they say nothing about what stands behind it.
    let dashes = options.before_dashes.filter(|at| *at > 0 || options.has_pattern);
    let behind = dashes.map(|at| options.operands.get(at..).unwrap_or_default());
    // Without `--` it takes no word that may be both, and nothing behind a path for a revision.
    let known = match behind {
        Some(behind) => behind,
        None if paths.first().is_some_and(|first| is_directory(first)) => paths,
        None => &[],
    };
    let is_plain = |path: &&str| !path.is_empty() && !path.contains(['*', '?', '[', '\\', ':']);
    !known.is_empty() && known.iter().all(is_plain)
}

/// Whether options have a program read what it leaves out otherwise.
fn lifts(leaves_out: LeavesOut, options: &Options<'_>) -> bool {
    match leaves_out {
        LeavesOut::Nothing => false,
        // Whatever fits a glob, a type or a line with `!` is read although it is hidden.
        LeavesOut::AsRipgrep => {
            let mut globs = options.values('g', GLOBS);
            options.letter("u.t")
                || options.begins(&["no-ig"])
                || options.named(&["hidden", "ignore-file", "type", "unrestricted"])
                || globs.any(|glob| !glob.starts_with('!'))
        }
        // Its names may be cut short.
        LeavesOut::AsAg => options.letter("uUatp") || options.begins(&["ag", "al", "hi", "pat", "sk", "u"]),
    }
}

/// Returns what all names end with that fit one of these globs; nothing where that cannot be said of one of them.
fn tails<'a>(globs: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let special = ['*', '?', '[', ']', '{', '}', ',', '/', '\\'];
    let tail = |glob: &'a str| {
        // As lines of such a file: what is a remark there stands for nothing.
        let said = glob.trim_end();
        let tail = said.rsplit(special).next().filter(|tail| !tail.is_empty());
        tail.filter(|_| !said.starts_with('#'))
    };
    let fitting = globs.filter(|glob| !glob.starts_with('!'));
    fitting.map(tail).collect::<Option<_>>().unwrap_or_default()
}

/// Whether a program that is no searcher follows symbolic links below a directory.
pub(super) fn follows(name: &str, words: &[&str]) -> bool {
    let Some((_, letters, names)) = FOLLOWERS.iter().find(|(known, ..)| *known == name) else {
        return false;
    };
    let keeps_links = |word: &&str| {
        word.strip_prefix('-')
            .is_some_and(|letters| letters.contains('y') && letters.chars().all(|c| "rqy9".contains(c)))
    };
    if name == "zip" && words.iter().any(keeps_links) {
        return false;
    }
    let options = Options::read(words.iter().copied(), letters, "");
    // `tar chf`: the first word may do without its dash.
    let bundle = words
        .first()
        .filter(|first| name.ends_with("tar") && !first.starts_with('-'));
    options.letter(letters)
        || options.begins(names)
        || bundle.is_some_and(|first| first.contains(|letter| letters.contains(letter)))
}
