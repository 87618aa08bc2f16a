//! Finds the place of a hunk in a file, and applies the hunk.
//!
//! Lines are compared exactly first, then without trailing blanks, then without blanks at both ends, then with plain
//! characters in place of typographic ones. The text and line ends of unchanged lines stay as in the file, and added lines
//! get the indentation of the lines around them. A hunk without a number or an anchor that fits in several places has no
//! place.

use super::{Hunk, Mark};

/// Lines of a hunk shown when it is not found.
const SHOWN_LINES: usize = 6;
/// Lines compared to find where a hunk nearly fits.
const MAX_COMPARED: usize = 40;
/// The likeness of two equal lines.
const SAME: usize = 100;
/// Characters of each such line.
const SHOWN_CHARS: usize = 120;

/// Returns the content of a file after its hunks.
///
/// # Errors
/// A hunk has no place; the sentence names the hunk and the reason.
pub(crate) fn patched(content: &str, hunks: &[Hunk]) -> Result<String, String> {
    let file = File::of(content);
    let mut out = Vec::new();
    let (mut seen, mut ended) = (0, file.ended);
    for (number, hunk) in hunks.iter().enumerate() {
        let place = file.find(hunk, seen).map_err(|why| {
            let of = if hunks.len() == 1 {
                String::new()
            } else {
                format!(" {} of {}", number + 1, hunks.len())
            };
            format!("hunk{of}: {why}")
        })?;
        out.extend(file.lines[seen..place].iter().map(|line| (*line).to_owned()));
        seen = place;
        let indents = Indents::of(hunk, &file.lines[place..]);
        for (mark, text) in &hunk.lines {
            match mark {
                Mark::Context => {
                    out.extend(file.lines.get(seen).map(|line| (*line).to_owned()));
                    seen += 1;
                }
                Mark::Remove => seen += 1,
                Mark::Add => out.push(indents.applied(text)),
            }
        }
        seen = seen.min(file.lines.len());
        if seen == file.lines.len() && hunk.line.is_some() {
            // A unified diff that changes the last line also decides whether the file ends with a line end.
            let last_changes = hunk.lines.last().is_some_and(|(mark, _)| *mark != Mark::Context);
            if hunk.no_newline || last_changes {
                ended = !hunk.no_newline;
            }
        }
    }
    out.extend(file.lines[seen..].iter().map(|line| (*line).to_owned()));
    let mut text = out.join(file.end);
    if !out.is_empty() && (ended || file.lines.is_empty()) {
        text.push_str(file.end);
    }
    Ok(text)
}

struct File<'a> {
    lines: Vec<&'a str>,
    /// The line end of the file.
    end: &'static str,
    /// Whether the last line has a line end.
    ended: bool,
}

impl<'a> File<'a> {
    fn of(content: &'a str) -> Self {
        let all = content.matches('\n').count();
        let crlf = all > 0 && content.matches("\r\n").count() == all;
        let end = if crlf { "\r\n" } else { "\n" };
        let mut lines: Vec<&str> = content.split(end).collect();
        // The part after the last line end.
        let ended = lines.last() == Some(&"");
        if ended {
            lines.pop();
        }
        Self { lines, end, ended }
    }

    /// Returns the first line of a hunk's place, from 0, at or after `from`.
    fn find(&self, hunk: &Hunk, from: usize) -> Result<usize, String> {
        let mut from = from;
        for anchor in &hunk.anchors {
            let found = LEVELS.iter().find_map(|same| {
                let rest = self.lines.get(from..)?;
                rest.iter().position(|line| same(line, anchor))
            });
            let Some(found) = found else {
                return Err(format!(
                    "the line after @@ does not stand in the file{}: {}; read the file again",
                    if from == 0 { "" } else { " where it is looked for" },
                    cut(anchor)
                ));
            };
            from += found + 1;
        }
        let old = |(mark, text): &'_ (Mark, String)| (*mark != Mark::Add).then(|| text.clone());
        let wanted: Vec<String> = hunk.lines.iter().filter_map(old).collect();
        if wanted.is_empty() {
            return Ok(self.insertion(hunk, from));
        }
        let shown = |wanted: &[String]| {
            let lines: Vec<String> = wanted
                .iter()
                .take(SHOWN_LINES)
                .map(|line| format!("  {}", cut(line)))
                .collect();
            let more = if wanted.len() > SHOWN_LINES { "\n  …" } else { "" };
            format!("{}{more}", lines.join("\n"))
        };
        for same in LEVELS {
            let fits = |at: &usize| {
                let lines = self.lines.get(*at..at + wanted.len());
                let at_end = !hunk.at_end || at + wanted.len() == self.lines.len();
                at_end
                    && lines.is_some_and(|lines| {
                        lines.iter().zip(&wanted).all(|(line, wanted)| same(line, wanted))
                    })
            };
            let last = self.lines.len().saturating_sub(wanted.len());
            let mut places = (from..=last).filter(fits);
            let Some(first) = places.next() else { continue };
            if let Some(hint) = hunk.line {
                let hint = hint - 1;
                let nearest = places.fold(first, |best, place| {
                    if place.abs_diff(hint) < best.abs_diff(hint) {
                        place
                    } else {
                        best
                    }
                });
                return Ok(nearest);
            }
            let others = places.count();
            if others > 0 && hunk.anchors.is_empty() && !hunk.at_end {
                return Err(format!(
                    "these lines occur in {} places; add lines around them, or a line \"@@ \" with one before \
                     them:\n{}",
                    others + 1,
                    shown(&wanted)
                ));
            }
            return Ok(first);
        }
        let whole = LEVELS.iter().any(|same| {
            let last = self.lines.len().saturating_sub(wanted.len());
            (0..=last.min(from)).any(|at| {
                let lines = self.lines.get(at..at + wanted.len());
                lines.is_some_and(|lines| lines.iter().zip(&wanted).all(|(line, wanted)| same(line, wanted)))
            })
        });
        let why = if whole && from > 0 {
            "these lines stand only before the place that comes before them in the patch; hunks come in the order of \
             the file"
        } else if hunk.at_end {
            "these lines are not the last of the file"
        } else {
            "these lines are not in the file; read it again"
        };
        let near = self.nearest(&wanted).map(|near| format!("\n{near}"));
        Err(format!("{why}:\n{}{}", shown(&wanted), near.unwrap_or_default()))
    }

    /// Returns a sentence on the place that is most similar to these lines. `None` if no place is similar enough.
    fn nearest(&self, wanted: &[String]) -> Option<String> {
        let wanted = &wanted[..wanted.len().min(MAX_COMPARED)];
        let last = self.lines.len().saturating_sub(wanted.len());
        let score = |at: usize| -> usize {
            let lines = self.lines[at..].iter().zip(wanted);
            lines.map(|(line, wanted)| likeness(line, wanted)).sum()
        };
        let places = (0..=last).map(|at| (score(at), std::cmp::Reverse(at)));
        let (best, std::cmp::Reverse(at)) = places.max()?;
        if best < SAME * wanted.len() / 2 {
            return None;
        }
        let other = |(line, wanted): &(&&str, &String)| !plain(line).eq(plain(wanted));
        let (offset, line) = self.lines[at..]
            .iter()
            .zip(wanted)
            .enumerate()
            .find(|(_, pair)| other(pair))
            .map(|(offset, (line, _))| (offset, cut(line)))?;
        Some(format!(
            "They nearly fit at line {}. Line {} of the file is:\n  {line}",
            at + 1,
            at + offset + 1
        ))
    }

    /// Returns the place of added lines in a hunk without other lines.
    fn insertion(&self, hunk: &Hunk, from: usize) -> usize {
        match hunk.line {
            Some(line) => (line - 1).clamp(from, self.lines.len().max(from)),
            None if hunk.anchors.is_empty() || hunk.at_end => self.lines.len(),
            None => from,
        }
    }
}

/// Compares a line of the file with one of the patch.
type Same = fn(&str, &str) -> bool;

const LEVELS: [Same; 4] = [
    |line, wanted| line == wanted,
    |line, wanted| line.trim_end() == wanted.trim_end(),
    |line, wanted| line.trim() == wanted.trim(),
    |line, wanted| plain(line).eq(plain(wanted)),
];

/// Returns the characters of a trimmed line, with typographic characters replaced by plain ones.
fn plain(line: &str) -> impl Iterator<Item = char> {
    line.trim().chars().map(|c| match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{3000}' => ' ',
        c => c,
    })
}

/// Returns how much two lines have in common, up to [`SAME`]: the share of their words.
fn likeness(line: &str, wanted: &str) -> usize {
    if plain(line).eq(plain(wanted)) {
        return SAME;
    }
    let words = |text: &'_ str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        words
            .filter(|word| !word.is_empty())
            .map(ToOwned::to_owned)
            .collect()
    };
    let (has, wants) = (words(line), words(wanted));
    let common = wants.iter().filter(|word| has.contains(word)).count();
    SAME * common / has.len().max(wants.len()).max(1)
}

/// How the indentation of a hunk's lines differs from that of the file's lines.
#[derive(Debug, Default)]
struct Indents(Vec<(String, String)>);

impl Indents {
    /// Compares the unchanged and removed lines of a hunk with the file's lines at its place. The result is empty if one
    /// indentation of the hunk corresponds to several in the file.
    fn of(hunk: &Hunk, lines: &[&str]) -> Self {
        let old = hunk.lines.iter().filter(|(mark, _)| *mark != Mark::Add);
        let mut known: Vec<(String, String)> = Vec::new();
        for ((_, wanted), line) in old.zip(lines) {
            if wanted.trim().is_empty() {
                continue;
            }
            let pair = (indent(wanted).to_owned(), indent(line).to_owned());
            match known.iter().find(|(from, _)| *from == pair.0) {
                Some((_, to)) if *to != pair.1 => return Self::default(),
                Some(_) => {}
                None => known.push(pair),
            }
        }
        // The longest comes first.
        known.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Self(known)
    }

    /// Returns an added line with the indentation of the file.
    fn applied(&self, line: &str) -> String {
        let own = indent(line);
        let known = self.0.iter().find(|(from, _)| own.starts_with(from.as_str()));
        match known.filter(|_| own.len() < line.len()) {
            Some((from, to)) => format!("{to}{}", &line[from.len()..]),
            None => line.to_owned(),
        }
    }
}

/// Returns the blanks at the beginning of a line.
fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn cut(line: &str) -> String {
    let mut text: String = line.chars().take(SHOWN_CHARS).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}
