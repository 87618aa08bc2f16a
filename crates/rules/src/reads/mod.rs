//! Commands that can do no more than the reading tools.
//!
//! Such a command runs without a question. Its program and every option must be listed, and every path must lead
//! into the workspace, from every directory in which the command may run.

mod git;
mod special;
mod table;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::cwd::{Machine, is_lost};
use crate::shell::Word;
use crate::{LeavesOut, Look, PathStatus, Places};
use table::{Operands, PROGRAMS, Program};

/// The context of a command.
pub(crate) struct ReadContext<'a> {
    /// Resolves paths.
    pub(crate) places: &'a dyn Places,
    /// Every directory in which it may run.
    pub(crate) directories: &'a [PathBuf],
    /// Whether its input is another command's output, or a file that was already checked.
    pub(crate) has_input: bool,
    /// Whether rules refuse some files.
    pub(crate) has_path_rules: bool,
    /// Whether a search of a directory would show something reserved; found out while a command is judged. A command that
    /// only reads apart from that can run where these entries are hidden.
    pub(crate) shows_reserved: Cell<bool>,
}

impl ReadContext<'_> {
    /// Whether a path leads into the workspace from every directory.
    pub(crate) fn is_inside(&self, text: &str) -> bool {
        self.all(text, |place| place.status == PathStatus::Inside)
    }

    /// Whether a path leads to something in the workspace that is no directory.
    fn is_file(&self, text: &str) -> bool {
        self.is_inside(text) && self.all(text, |place| !self.places.is_directory(&place.path))
    }

    fn all(&self, text: &str, fits: impl Fn(&crate::ResolvedPath) -> bool) -> bool {
        !self.directories.is_empty()
            && self.directories.iter().all(|directory| {
                let place = self.places.find(directory, text);
                place.is_some_and(|place| fits(&place))
            })
    }

    /// Notes whether an entry under a path is reserved: a search shows all of them.
    fn search(&self, text: &str, leaves_out: LeavesOut) {
        let look = Look {
            leaves_out,
            links: false,
        };
        let is_reserved = |path: &Path| self.places.is_reserved(path);
        let is_open = self.all(text, |place| {
            !(self.places.is_directory(&place.path) && self.places.contains(&place.path, look, &is_reserved))
        });
        self.shows_reserved.set(self.shows_reserved.get() || !is_open);
    }

    /// Whether these files may be read, or the input if there are none.
    fn may_read(&self, paths: &[&str]) -> bool {
        if paths.is_empty() {
            return self.has_input;
        }
        paths.iter().all(|path| self.is_inside(path))
    }
}

/// Whether a command only reads inside of the workspace.
pub(crate) fn is_plain_read(words: &[&str], context: &ReadContext<'_>) -> bool {
    let Some((name, rest)) = words.split_first() else {
        return false;
    };
    match *name {
        // Changing the directory only reads; later commands are judged from the new directory.
        "cd" => {
            let words: Vec<Word> = words.iter().copied().map(Word::exact).collect();
            let machine = Machine {
                places: context.places,
                home: None,
            };
            let stays_known = !is_lost(&words, context.directories, machine);
            matches!(rest, [path] if stays_known && context.is_inside(path))
        }
        "awk" => special::awk(rest, context),
        "find" => special::find(rest, context),
        "git" => git::is_plain_read(rest, context),
        "jq" => special::jq(rest, context),
        "printenv" => special::printenv(rest),
        "sed" => special::sed(rest, context),
        "[" | "test" => special::test(name, rest),
        _ if rest == ["--version"] => special::prints_its_version(name),
        _ => {
            let program = PROGRAMS.iter().find(|known| known.names.contains(name));
            program.is_some_and(|program| program.is_plain_read(rest, context))
        }
    }
}

impl Program {
    fn is_plain_read(&self, rest: &[&str], context: &ReadContext<'_>) -> bool {
        let Some(given) = self.given(rest) else {
            return false;
        };
        let operands = given.operands.as_slice();
        let files = |files: &[&str]| files.len() > 1 && files.iter().all(|file| context.is_file(file));
        match self.operands {
            Operands::None => operands.is_empty(),
            Operands::Texts => true,
            Operands::Format => operands.iter().all(|operand| operand.starts_with('+')),
            Operands::Input => !operands.is_empty() && context.has_input,
            // Without a path it reads the current directory, which may be reserved.
            Operands::Paths if operands.is_empty() => context.is_inside("."),
            Operands::Paths | Operands::PathsOrInput => context.may_read(operands),
            Operands::OnePathOrInput => operands.len() < 2 && context.may_read(operands),
            Operands::Files => files(operands),
            Operands::PatternThenPaths | Operands::Search => {
                let behind = usize::from(!given.has_pattern);
                let Some(paths) = operands.get(behind..) else {
                    return false;
                };
                let searches = self.operands == Operands::Search || given.goes_down;
                if !searches {
                    return context.may_read(paths);
                }
                let leaves_out = match self.operands {
                    // A glob or a type may include hidden files.
                    Operands::Search if !given.lifts => LeavesOut::AsRipgrep,
                    _ => LeavesOut::Nothing,
                };
                let here = ["."];
                let paths = if paths.is_empty() { &here[..] } else { paths };
                let is_inside = paths.iter().all(|path| context.is_inside(path));
                if is_inside {
                    for path in paths {
                        context.search(path, leaves_out);
                    }
                }
                is_inside
            }
        }
    }

    /// Reads the words as this program does; `None` if a word is not known to be harmless.
    fn given<'a>(&self, rest: &[&'a str]) -> Option<Given<'a>> {
        let mut given = Given::default();
        let mut words = rest.iter();
        let texts_only = self.names.contains(&"echo");
        while let Some(word) = words.next() {
            if texts_only {
                // For some programs, such a word is a text and no option.
                given.operands.push(word);
            } else if *word == "--" {
                given.operands.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, ""), |(name, _)| (name, "="));
                if !self
                    .long
                    .iter()
                    .any(|known| known.strip_prefix(name) == Some(value))
                {
                    return None;
                }
                given.goes_down |= name == "recursive";
                given.lifts |= matches!(name, "glob" | "type");
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                self.letters(letters, &mut words, &mut given)?;
            } else if *word == "-" {
                // `-` is its input, which is unknown here.
                return None;
            } else {
                given.operands.push(word);
            }
        }
        Some(given)
    }

    fn letters<'a>(
        &self,
        letters: &str,
        words: &mut std::slice::Iter<'_, &'a str>,
        given: &mut Given<'a>,
    ) -> Option<()> {
        // `head -5`
        if self.counted.contains(['n', 'C']) && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(());
        }
        for (at, letter) in letters.char_indices() {
            let value = &letters[at + letter.len_utf8()..];
            if self.counted.contains(letter) {
                let count = if value.is_empty() { words.next()? } else { value };
                return is_count(count).then_some(());
            }
            if self.texts.contains(letter) {
                if value.is_empty() {
                    words.next()?;
                }
                given.has_pattern |= letter == 'e';
                given.lifts |= matches!(letter, 'g' | 't');
                return Some(());
            }
            if !self.letters.contains(letter) {
                return None;
            }
            given.goes_down |= letter == 'r' && self.operands == Operands::PatternThenPaths;
        }
        Some(())
    }
}

/// The parsed words of a program.
#[derive(Default)]
struct Given<'a> {
    operands: Vec<&'a str>,
    /// Whether an option gave the pattern.
    has_pattern: bool,
    /// Whether it reads the entries under directories.
    goes_down: bool,
    /// Whether it may show entries that it skips by default.
    lifts: bool,
}

fn is_count(word: &str) -> bool {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let digits = digits.trim_end_matches(['k', 'K', 'M']);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}
