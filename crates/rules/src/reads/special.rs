//! Programs with a language of their own in their words, and the part of that language that only reads.

use super::ReadContext;
use crate::wrapper::hazard;

/// Programs that print their version before they read anything.
const PRINT_THEIR_VERSION: &[&str] = &[
    "bash", "cmake", "gcc", "git", "make", "node", "python", "python3", "ruby", "sqlite3",
];
/// Words of `find` without a value: tests, and printing.
const FIND_FLAGS: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-ls",
    "-mount",
    "-nogroup",
    "-noleaf",
    "-not",
    "-nouser",
    "-o",
    "-or",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
    "-writable",
    "-xdev",
];
/// Words of `find` with a value that is no path it opens.
const FIND_VALUES: &[&str] = &[
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-gid",
    "-group",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-links",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-size",
    "-type",
    "-uid",
    "-user",
    "-wholename",
];
/// Variables that `printenv` may show. Others may have secrets in them.
const VARIABLES: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "PWD",
    "SHELL",
    "TERM",
    "TMPDIR",
    "USER",
    "VIRTUAL_ENV",
];
/// Tests of `test`. `-v` and `-R` evaluate a variable, whose name may contain a command.
const TESTS: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-p", "-r", "-s", "-S", "-u", "-w", "-x",
    "-z", "-a", "-o", "-eq", "-ge", "-gt", "-le", "-lt", "-ne", "-ef", "-nt", "-ot",
];

pub(super) fn prints_its_version(name: &str) -> bool {
    PRINT_THEIR_VERSION.contains(&name)
}

/// Whether a script only prints, and every file is in the workspace.
pub(super) fn awk(rest: &[&str], context: &ReadContext<'_>) -> bool {
    let mut words = rest.iter();
    let mut options = 0;
    // `-v` sets variables, and some variables name files to read.
    while let Some(word) = words.clone().next().filter(|word| word.starts_with("-F")) {
        words.next();
        options += 1;
        if *word == "-F" {
            words.next();
            options += 1;
        }
    }
    let Some((script, files)) = rest.get(options..).and_then(<[_]>::split_first) else {
        return false;
    };
    let is_file = |file: &&str| !file.contains('=') && *file != "-";
    is_harmless("awk", rest)
        && !script.starts_with('-')
        && files.iter().all(is_file)
        && context.may_read(files)
}

/// Whether it only shows names under directories of the workspace.
pub(super) fn find(rest: &[&str], context: &ReadContext<'_>) -> bool {
    let is_expression = |word: &&&str| word.starts_with(['-', '(', ')', '!', ',']);
    let starts = rest.iter().take_while(|word| !is_expression(word)).count();
    let mut words = rest[starts..].iter();
    while let Some(word) = words.next() {
        let known = FIND_FLAGS.contains(word) || (FIND_VALUES.contains(word) && words.next().is_some());
        if !known {
            return false;
        }
    }
    let starts = &rest[..starts];
    starts.iter().all(|start| context.is_inside(start)) && (!starts.is_empty() || context.is_inside("."))
}

/// Whether a filter reads only the given files, all in the workspace.
pub(super) fn jq(rest: &[&str], context: &ReadContext<'_>) -> bool {
    let is_flag = |word: &&&str| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|letter| "acCeMnrsSj".contains(letter))
    };
    let flags = rest.iter().take_while(is_flag).count();
    let Some((filter, files)) = rest[flags..].split_first() else {
        return false;
    };
    let reads_more = ["env", "ENV", "import", "include", "modulemeta", "input_filename"];
    let has_none = !reads_more.iter().any(|name| filter.contains(name)) && !filter.starts_with('-');
    let plain = |file: &&str| !file.starts_with('-');
    has_none && files.iter().all(plain) && context.may_read(files)
}

/// Whether it only shows variables without secrets.
pub(super) fn printenv(rest: &[&str]) -> bool {
    !rest.is_empty() && rest.iter().all(|name| VARIABLES.contains(name))
}

/// Whether a script only prints, deletes and replaces lines, and every file is in the workspace.
pub(super) fn sed(rest: &[&str], context: &ReadContext<'_>) -> bool {
    let (mut files, mut has_script) = (Vec::new(), false);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            Some("e" | "-expression") => {
                has_script = true;
                words.next();
            }
            Some(letters)
                if letters.chars().all(|letter| "nErsuz".contains(letter)) && !letters.is_empty() => {}
            Some(_) => return false,
            None => files.push(*word),
        }
    }
    let files = files.get(usize::from(!has_script)..);
    files.is_some_and(|files| is_harmless("sed", rest) && context.may_read(files))
}

/// Whether it only tests files and compares texts.
pub(super) fn test(name: &str, rest: &[&str]) -> bool {
    let rest = match rest.split_last() {
        Some((&"]", rest)) if name == "[" => rest,
        _ if name == "[" => return false,
        _ => rest,
    };
    // A word with a dash may be an option, and some shells evaluate a word that is compared as a number.
    let plain = |word: &&str| {
        let is_text = !word.starts_with('-') && !word.contains(['[', ']', '$', '`', '(', ')']);
        is_text || TESTS.contains(word)
    };
    rest.iter().all(plain)
}

fn is_harmless(name: &str, rest: &[&str]) -> bool {
    let words: Vec<&str> = std::iter::once(name).chain(rest.iter().copied()).collect();
    hazard(&words, |_| false).is_none()
}
