//! A short summary of a workspace, made from its list of files and its README.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use bobbin_agent_api::cut::head;

/// Most kinds of files and most directories named.
const MAX_NAMED: usize = 10;
/// Most bytes of the README's first paragraph.
const MAX_PARAGRAPH_BYTES: usize = 800;

/// Splits a result of `FindFiles` into its entries and its note.
pub(super) fn entries(listed: &str) -> (Vec<&str>, &str) {
    let (entries, note) = listed
        .rsplit_once("\n[")
        .or_else(|| Some(("", listed.strip_prefix('[')?)))
        .unwrap_or((listed, ""));
    (
        entries.lines().filter(|line| !line.is_empty()).collect(),
        note.trim_end_matches(']'),
    )
}

/// Returns the README among a workspace's files.
pub(super) fn readme(listed: &str) -> Option<&str> {
    let is_readme = |path: &&&str| {
        let name = path.to_ascii_lowercase();
        let rest = name.strip_prefix("readme");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) && !name.contains('/')
    };
    let (files, _) = entries(listed);
    let found: Vec<&&str> = files.iter().filter(is_readme).collect();
    let markdown = |path: &&&&str| {
        Path::new(path)
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("md"))
    };
    found.iter().find(markdown).or(found.first()).map(|path| **path)
}

/// Returns the summary.
pub(super) fn summary(listed: &str, readme: Option<&str>) -> String {
    let (entries, note) = entries(listed);
    let files: Vec<&str> = entries
        .iter()
        .copied()
        .filter(|entry| !entry.ends_with('/'))
        .collect();
    if files.is_empty() {
        return format!("The workspace is empty as far as I can see ({note}).");
    }
    let is_cut = note.contains("there are more");
    let at_least = if is_cut { "at least " } else { "" };
    let mut text = String::new();
    if let Some(paragraph) = readme.and_then(first_paragraph) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{paragraph}\n\n");
    }
    let _ = writeln!(
        text,
        "The workspace has {at_least}{} files: {}.",
        files.len(),
        named(kinds(&files))
    );
    let directories = top_level(&files);
    if !directories.is_empty() {
        let _ = writeln!(text, "Its directories: {}.", named(directories));
    }
    let top: Vec<&str> = files.iter().copied().filter(|file| !file.contains('/')).collect();
    if !top.is_empty() {
        let shown: Vec<String> = top
            .iter()
            .take(MAX_NAMED)
            .map(|file| format!("`{file}`"))
            .collect();
        let more = if top.len() > shown.len() { ", …" } else { "" };
        let _ = writeln!(text, "At the top: {}{more}.", shown.join(", "));
    }
    if readme.is_none() {
        text.push_str("I found no README.\n");
    }
    if is_cut {
        text.push_str("The list was cut, so the counts are of its first part.\n");
    }
    text.trim_end().to_owned()
}

/// Counts files by extension, most frequent first.
fn kinds(files: &[&str]) -> Vec<(String, usize)> {
    let kind = |file: &str| match Path::new(file).extension() {
        Some(extension) => format!("`.{}`", extension.to_string_lossy()),
        None => "without extension".to_owned(),
    };
    counted(files.iter().map(|file| kind(file)))
}

/// Counts files by their top-level directory.
fn top_level(files: &[&str]) -> Vec<(String, usize)> {
    counted(
        files
            .iter()
            .filter_map(|file| Some(format!("`{}/`", file.split_once('/')?.0))),
    )
}

fn counted(names: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

fn named(counts: Vec<(String, usize)>) -> String {
    let more = counts.len() > MAX_NAMED;
    let names: Vec<String> = counts
        .into_iter()
        .take(MAX_NAMED)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    format!("{}{}", names.join(", "), if more { ", …" } else { "" })
}

/// Returns the first paragraph of prose in a Markdown text.
fn first_paragraph(readme: &str) -> Option<String> {
    let readme = readme.replace("\r\n", "\n");
    let is_prose = |block: &&str| {
        let is_prose = block.chars().next().is_some_and(|c| !"#<[!|`-=*>".contains(c));
        is_prose && !block.contains("\n===") && !block.contains("\n---")
    };
    // A heading directly before its text is no part of it.
    let after_heading = |block: &'_ str| match block.split_once('\n') {
        Some((heading, _)) if heading.starts_with('#') => heading.len(),
        _ => 0,
    };
    let paragraph = readme
        .split("\n\n")
        .map(str::trim)
        .map(|block| block[after_heading(block)..].trim())
        .find(is_prose)?;
    let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let (line, whole) = head(&line, MAX_PARAGRAPH_BYTES);
    Some(format!("{line}{}", if whole { "" } else { " […]" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str =
        "Cargo.toml\nREADME.md\nsrc/\nsrc/lib.rs\nsrc/main.rs\n\n[5 entries; 2 hidden not shown]";

    #[test]
    fn a_list_is_read_again() {
        assert_eq!(entries(LISTED).0.len(), 5);
        assert_eq!(entries(LISTED).1, "5 entries; 2 hidden not shown");
        assert_eq!(entries("[no entries]"), (vec![], "no entries"));
        assert_eq!(readme(LISTED), Some("README.md"));
        assert_eq!(readme("docs/README.md\nreadme\n\n[2 entries]"), Some("readme"));
        assert_eq!(readme("[no entries]"), None);
    }

    #[test]
    fn a_summary_counts_and_quotes() {
        let text = summary(
            LISTED,
            Some("# Kettle\n\n[![badge](x)](y)\n\nBoils\nwater.\n\nMore."),
        );
        assert_eq!(
            text,
            "Boils water.\n\nThe workspace has 4 files: `.rs` 2, `.md` 1, `.toml` 1.\nIts directories: `src/` 2.\n\
             At the top: `Cargo.toml`, `README.md`."
        );
        assert!(summary("[no entries]", None).contains("empty"));
        assert!(summary("a\n\n[the first 1000 entries; there are more]", None).contains("at least 1 files"));
    }

    #[test]
    fn the_first_paragraph_is_prose() {
        assert_eq!(
            first_paragraph("# T\nText here.\n"),
            Some("Text here.".to_owned())
        );
        assert_eq!(first_paragraph("Title\n===\n\nText."), Some("Text.".to_owned()));
        assert_eq!(first_paragraph("# T\n"), None);
        assert_eq!(first_paragraph("<p>x</p>\n\n- a\n\n`code`"), None);
    }
}
