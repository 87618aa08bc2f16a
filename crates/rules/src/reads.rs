//! Commands that can do no more than the reading tools may do anyway.
//!
//! Such a command runs without a question. It passes only when its program is listed, every flag of it is, and
//! every path leads into the workspace, wherever the command may be standing by then.

use std::path::PathBuf;

use crate::shell::Word;
use crate::stands::{Ground, is_lost};
use crate::{Places, Standing};

/// What a program that only reads may be given.
struct Program {
    name: &'static str,
    /// Letters that may follow one dash, alone or together.
    letters: &'static str,
    /// Flags that take a number, as the same or the next word.
    counted: &'static str,
    operands: Operands,
}

/// What its other words are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// There are none.
    None,
    /// Paths, or none.
    Paths,
    /// Paths; without one it reads its input.
    PathsOrInput,
    /// A pattern, then paths or its input.
    PatternThenPaths,
}

const fn program(
    name: &'static str,
    letters: &'static str,
    counted: &'static str,
    operands: Operands,
) -> Program {
    Program {
        name,
        letters,
        counted,
        operands,
    }
}

/// No letter here follows links, recurses, executes, writes or waits.
const PROGRAMS: &[Program] = &[
    program("ls", "1aAdFhlrSt", "", Operands::Paths),
    program("pwd", "", "", Operands::None),
    program("cat", "bns", "", Operands::PathsOrInput),
    program("head", "qv", "nc", Operands::PathsOrInput),
    program("tail", "qv", "nc", Operands::PathsOrInput),
    program("wc", "clmwL", "", Operands::PathsOrInput),
    program("grep", "cEFhHilnoqsvwx", "", Operands::PatternThenPaths),
];

/// Where a command runs.
pub(crate) struct Spot<'a> {
    /// Tells where paths lead.
    pub(crate) places: &'a dyn Places,
    /// Every directory it may be standing in.
    pub(crate) directories: &'a [PathBuf],
    /// Whether its input is another command's output, or a file that was looked at.
    pub(crate) has_input: bool,
}

impl Spot<'_> {
    /// Whether a path leads into the workspace from everywhere.
    pub(crate) fn is_inside(&self, text: &str) -> bool {
        !self.directories.is_empty()
            && self.directories.iter().all(|directory| {
                let place = self.places.find(directory, text);
                place.is_some_and(|place| place.standing == Standing::Inside)
            })
    }
}

/// Whether a command only reads inside of the workspace.
pub(crate) fn is_plain_read(words: &[&str], spot: &Spot<'_>) -> bool {
    let Some((name, rest)) = words.split_first() else {
        return false;
    };
    // To stand in another directory is no more than to look at it; what follows is judged from there.
    if *name == "cd" {
        let words: Vec<Word> = words.iter().copied().map(Word::exact).collect();
        let ground = Ground {
            places: spot.places,
            home: None,
        };
        let stays_known = !is_lost(&words, spot.directories, ground);
        return matches!(rest, [path] if stays_known && spot.is_inside(path));
    }
    let Some(program) = PROGRAMS.iter().find(|known| known.name == *name) else {
        return false;
    };
    let mut operands = Vec::new();
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            Some(flag) => match program.flag(flag) {
                Flag::Whole => {}
                Flag::WantsCount if rest.next().is_some_and(|word| is_count(word)) => {}
                Flag::WantsCount | Flag::Unknown => return false,
            },
            None => operands.push(*word),
        }
    }
    let paths: &[&str] = match program.operands {
        Operands::None if operands.is_empty() => &[],
        Operands::None => return false,
        Operands::PathsOrInput if operands.is_empty() => return spot.has_input,
        Operands::Paths | Operands::PathsOrInput => &operands,
        Operands::PatternThenPaths => match operands.as_slice() {
            [] => return false,
            [_] => return spot.has_input,
            [_, paths @ ..] => paths,
        },
    };
    // Without a path it looks at where it stands, which may be a part that is not to be read.
    let stands = || spot.is_inside(".");
    paths.iter().all(|path| spot.is_inside(path))
        && (!paths.is_empty() || program.operands != Operands::Paths || stands())
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

fn is_count(word: &str) -> bool {
    let digits = word.strip_prefix('+').unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}
