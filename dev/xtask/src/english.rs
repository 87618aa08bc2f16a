//! Counts words and openings of sentences that are hard to read, and compares them with a list that may only shrink.
//!
//! Reads the product's Rust files without their tests, and the page's sources. The list has a line for each crate, so that a
//! failure names few places and moving code inside a crate changes nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

/// Words of this project that a stranger has to learn, each with the field's word instead.
const WORDS: [(&[&str], &str); 12] = [
    (
        &["kept", "keep", "keeps"],
        "stored, cached, retained, or by meaning: `ProviderState`, `Snapshot`",
    ),
    (&["told", "tell", "tells"], "sent, notified, reported"),
    (&["held", "holds"], "sandboxed, confined"),
    (&["below", "above"], "children, parent, subagent"),
    (&["begun", "begin", "begins"], "started, start"),
    (
        &["Standing", "Ground", "Spot", "worry", "worries", "carried"],
        "path status, cwd, context, ambiguity, inner commands",
    ),
    (
        &["everyone", "everybody", "somebody", "whoever"],
        "workspace, broadcast, user, client, caller",
    ),
    (&["stands in"], "is"),
    (&["is let", "are let"], "is allowed"),
    (&["complained of", "complains"], "a warning is printed"),
    (&["summed up"], "compacted"),
    (&["let in", "got in"], "paired, signed in, connected"),
];
/// Words that open a comment with a clause as the subject.
const OPENINGS: [&str; 4] = ["What", "Who", "Whoever", "Where"];
const OPENINGS_INSTEAD: &str = "start a comment with the thing or with a verb";
/// Crates that are no part of the product.
const NOT_PRODUCT: [&str; 3] = ["bench", "testkit", "xtask"];
const LIST: &str = "dev/xtask/english.txt";
const HEAD: &str = "# Hard words and openings by crate; `cargo xtask english` fails when a number grows, and `--write` takes the present ones.\n";

/// Counts by crate and word.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

/// Compares the sources with the list, or writes it.
///
/// # Errors
/// A count has grown, or a file cannot be read or written.
pub(crate) fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    let mut places = BTreeMap::new();
    read(root, &mut places)?;
    let found: Counts = places
        .iter()
        .map(|(part, words)| {
            let counts = words
                .iter()
                .map(|(word, lines): (&String, &Vec<String>)| (word.clone(), lines.len()));
            (part.clone(), counts.collect())
        })
        .collect();
    let list = root.join(LIST);
    if write {
        return fs::write(&list, print(&found)).with_context(|| format!("cannot write {}", list.display()));
    }
    let text = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    let grown = grown(&parse(&text)?, &found);
    let mut report = String::new();
    for (part, word, allowed) in &grown {
        let lines = &places[part][word];
        writeln!(
            report,
            "{part}: {} × `{word}`, {allowed} allowed; {}",
            lines.len(),
            instead(word)
        )?;
        for line in lines {
            writeln!(report, "  {line}")?;
        }
    }
    anyhow::ensure!(
        grown.is_empty(),
        "hard words or openings that {LIST} does not allow:\n{report}"
    );
    Ok(())
}

fn instead(word: &str) -> &'static str {
    let said = WORDS.iter().find(|(words, _)| words.contains(&word));
    said.map_or(OPENINGS_INSTEAD, |(_, instead)| instead)
}

/// Returns each crate and word whose count exceeds the list's, with the allowed count.
fn grown(allowed: &Counts, found: &Counts) -> Vec<(String, String, usize)> {
    let counts = found
        .iter()
        .flat_map(|(part, words)| words.iter().map(move |(word, count)| (part, word, *count)));
    counts
        .filter_map(|(part, word, count)| {
            let limit = allowed
                .get(part)
                .and_then(|words| words.get(word))
                .copied()
                .unwrap_or(0);
            (count > limit).then(|| (part.clone(), word.clone(), limit))
        })
        .collect()
}

fn print(counts: &Counts) -> String {
    let mut text = HEAD.to_owned();
    for (part, words) in counts {
        let words: Vec<String> = words
            .iter()
            .map(|(word, count)| format!("{word} {count}"))
            .collect();
        let _ = writeln!(text, "{part}: {}", words.join(", "));
    }
    text
}

fn parse(text: &str) -> anyhow::Result<Counts> {
    let mut counts = Counts::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (part, words) = line
            .split_once(": ")
            .with_context(|| format!("{LIST}: no crate in {line:?}"))?;
        for word in words.split(", ") {
            let (word, count) = word
                .rsplit_once(' ')
                .with_context(|| format!("{LIST}: no count in {word:?}"))?;
            let count = count
                .parse()
                .with_context(|| format!("{LIST}: no number in {word:?}"))?;
            counts
                .entry(part.to_owned())
                .or_default()
                .insert(word.to_owned(), count);
        }
    }
    Ok(counts)
}

/// Places by crate and word, as `path:line: text`.
type Places = BTreeMap<String, BTreeMap<String, Vec<String>>>;

fn read(root: &Path, places: &mut Places) -> anyhow::Result<()> {
    for entry in fs::read_dir(root.join("crates")).context("cannot list crates")? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !NOT_PRODUCT.contains(&name.as_str()) {
            read_into(root, &path.join("src"), &name, places)?;
        }
    }
    read_into(root, &root.join("clients/page/src"), "clients/page", places)
}

fn read_into(root: &Path, dir: &Path, part: &str, places: &mut Places) -> anyhow::Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if name != "tests" {
                read_into(root, &path, part, places)?;
            }
        } else if is_product(&name) {
            let text =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            for (number, line, word) in found(&text) {
                let place = format!("{shown}:{number}: {}", line.trim());
                places
                    .entry(part.to_owned())
                    .or_default()
                    .entry(word.to_owned())
                    .or_default()
                    .push(place);
            }
        }
    }
    Ok(())
}

fn is_product(name: &str) -> bool {
    let is_source = [".rs", ".ts", ".tsx"].iter().any(|ending| name.ends_with(ending));
    is_source && name != "tests.rs" && !name.ends_with("_tests.rs")
}

/// Returns the number, the text and the word of each hit before the tests of a file.
fn found(text: &str) -> Vec<(usize, &str, &'static str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let mut hits = Vec::new();
    for (index, line) in lines.enumerate() {
        let opening = opening(line).into_iter();
        let small = line.to_lowercase();
        // A word in capitals is the name of a type.
        let text = |word: &str| {
            if word.starts_with(char::is_uppercase) {
                line
            } else {
                small.as_str()
            }
        };
        let words = WORDS.iter().flat_map(|(words, _)| words.iter().copied());
        let words = words.flat_map(|word| std::iter::repeat_n(word, count(text(word), word)));
        hits.extend(opening.chain(words).map(|word| (index + 1, line, word)));
    }
    hits
}

/// Returns the word of a documentation comment that opens with a clause.
fn opening(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let comment = ["/// ", "//! ", "/** ", "* "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))?;
    let first = comment.split(|letter: char| !letter.is_alphabetic()).next()?;
    OPENINGS.into_iter().find(|word| *word == first)
}

/// Returns how often a line has the word. A single word is found inside a name in `snake_case` too.
fn count(line: &str, word: &str) -> usize {
    let is_end = |letter: Option<char>| {
        letter.is_none_or(|letter| !letter.is_alphanumeric() && (letter != '_' || !word.contains(' ')))
    };
    let hits = line.match_indices(word).filter(|(at, _)| {
        is_end(line[..*at].chars().next_back()) && is_end(line[at + word.len()..].chars().next())
    });
    hits.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_no_more_hard_words_than_the_list_allows() {
        run(&crate::root(), false).unwrap();
    }

    #[test]
    fn words_are_found_whole_and_only_before_the_tests() {
        let text = "/// What a cursor has kept.\nlet kept_back = upkeep; // Told, TOLD\n//! Whatever\n#[cfg(test)]\n// kept\n";
        let words: Vec<(usize, &str)> = found(text)
            .iter()
            .map(|(number, _, word)| (*number, *word))
            .collect();
        assert_eq!(
            words,
            [(1, "What"), (1, "kept"), (2, "kept"), (2, "told"), (2, "told")]
        );
    }

    #[test]
    fn counts_may_shrink_and_not_grow() {
        let list = parse(&format!("{HEAD}agent: kept 2, summed up 1\n")).unwrap();
        assert_eq!(parse(&print(&list)).unwrap(), list);
        let of = |text: &str| grown(&list, &parse(text).unwrap());
        assert_eq!(of("agent: kept 1"), []);
        assert_eq!(of("agent: kept 3"), [("agent".to_owned(), "kept".to_owned(), 2)]);
        assert_eq!(of("core: kept 1"), [("core".to_owned(), "kept".to_owned(), 0)]);
    }
}
