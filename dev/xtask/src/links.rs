//! Whether links of the documentation lead somewhere: files, headings, places that sources cite, and the book's contents.
//!
//! Looks at files of this repository alone; addresses of the web are not asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The list of contents of the book, and what it is about.
const SUMMARY: &str = "docs/SUMMARY.md";
/// Where sections of the protocol's pages are explained.
const SECTIONS: &str = "docs/protocol/sections.md";
/// Directories that are not the repository's own, or whose links are those of other files.
const SKIPPED: [&str; 7] = [
    "target",
    "node_modules",
    ".git",
    "corpus",
    "dist",
    ".venv",
    "heads",
];

/// One Markdown file.
struct Page {
    anchors: BTreeSet<String>,
    /// Targets of links, each with its line.
    links: Vec<(usize, String)>,
}

/// Returns each link that leads nowhere, as `FILE:LINE: what is wrong`.
///
/// # Errors
/// A file could not be read.
pub(crate) fn dead(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    walk(root, Path::new(""), &mut files)?;
    let mut pages = BTreeMap::new();
    let mut sources = Vec::new();
    for path in files {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("md") => drop(pages.insert(path.clone(), page(&read(root, &path)?))),
            // Tests make up paths.
            Some("rs") if !is_test(&path) => sources.push(path),
            _ => {}
        }
    }
    let mut dead = Vec::new();
    for (path, page) in &pages {
        for (line, target) in &page.links {
            if let Some(why) = wrong(root, &pages, path, target) {
                dead.push(format!("{}:{line}: {target}: {why}", path.display()));
            }
        }
    }
    let sections = sections(&read(root, Path::new(SECTIONS))?);
    for path in sources {
        for (line, text) in code(&read(root, &path)?) {
            for target in cited_pages(text) {
                if let Some(why) = wrong(root, &pages, Path::new("README.md"), target) {
                    dead.push(format!("{}:{line}: {target}: {why}", path.display()));
                }
            }
            for section in cited_sections(text) {
                if !sections.contains(&section) {
                    dead.push(format!(
                        "{}:{line}: {section} is not in {SECTIONS}",
                        path.display()
                    ));
                }
            }
        }
    }
    dead.extend(left_out(&pages));
    Ok(dead)
}

fn is_test(path: &Path) -> bool {
    let name = path
        .file_stem()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    name.ends_with("tests") || path.components().any(|part| part.as_os_str() == "tests")
}

fn read(root: &Path, path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {}", path.display()))
}

fn walk(root: &Path, directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(root.join(directory))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = directory.join(&name);
        if entry.file_type()?.is_dir() {
            if !SKIPPED.iter().any(|skipped| name == *skipped) {
                walk(root, &path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads headings and links.
fn page(text: &str) -> Page {
    let mut page = Page {
        anchors: BTreeSet::new(),
        links: Vec::new(),
    };
    let mut heading: Option<String> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let again = (1..).map(|number| format!("{name}-{number}"));
                let free = std::iter::once(name.clone())
                    .chain(again)
                    .find(|name| !page.anchors.contains(name));
                page.anchors.extend(free);
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let ids = html
                    .split("id=\"")
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next());
                page.anchors.extend(ids.map(str::to_owned));
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = text[..range.start].matches('\n').count() + 1;
                page.links.push((line, dest_url.into_string()));
            }
            _ => {}
        }
    }
    page
}

/// Returns the name by which a heading is linked to, the same at code hosts and in mdBook.
fn anchor(heading: &str) -> String {
    let kept = |c: char| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    };
    heading
        .trim()
        .chars()
        .filter_map(kept)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Says what is wrong with a link of a file, if something is.
fn wrong(root: &Path, pages: &BTreeMap<PathBuf, Page>, from: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => from.to_owned(),
        path => plain(&from.parent().unwrap_or(Path::new("")).join(path))?,
    };
    if !root.join(&path).exists() {
        return Some("there is no such file".to_owned());
    }
    let is_missing = |page: &Page| !anchor.is_empty() && !page.anchors.contains(anchor);
    pages
        .get(&path)
        .filter(|page| is_missing(page))
        .map(|_| "there is no such heading".to_owned())
}

/// Returns a path without `..`; `None` where it leaves the repository.
pub(crate) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    Some(plain)
}

/// Returns the lines of a source, with their numbers, up to its tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_code = |line: &&str| line.trim() != "#[cfg(test)]" && line.trim() != "#[test]";
    (1..).zip(text.lines().take_while(is_code))
}

/// Returns the pages of `docs` that a line names, with the heading if it names one.
fn cited_pages(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-./#@".contains(c);
    let words = line
        .split(|c| !is_part(c))
        .map(|word| word.trim_end_matches(['.', '/']));
    words
        .filter(|word| word.starts_with("docs/") && word.contains(".md"))
        .collect()
}

/// Returns the sections that a line cites, as `03 §7`: the page and the number before the first dot.
fn cited_sections(line: &str) -> Vec<String> {
    let mut cited = Vec::new();
    for (at, _) in line.match_indices(" §") {
        let page = &line[..at];
        let Some(page) = page.get(page.len().saturating_sub(2)..) else {
            continue;
        };
        let is_page = page.len() == 2 && page.starts_with('0') && page.chars().all(|c| c.is_ascii_digit());
        let number = number(&line[at + 3..]);
        if is_page {
            cited.push(format!("{page} §{number}"));
        }
    }
    cited
}

/// Returns the number before the first dot, or the letter of a part.
fn number(text: &str) -> String {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    match text.chars().next() {
        Some(letter) if digits.is_empty() => letter.to_string(),
        _ => digits,
    }
}

/// Returns the sections of the table: rows of a page, and sections as `§1`, `§1, §2` or `§1 to §3`.
fn sections(text: &str) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for line in text.lines() {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(page), Some(list)) = (cells.next(), cells.next()) else {
            continue;
        };
        let mut last = 0_u32;
        for (at, _) in list.match_indices('§') {
            let digits = number(&list[at + '§'.len_utf8()..]);
            known.insert(format!("{page} §{digits}"));
            let Ok(number) = digits.parse::<u32>() else {
                continue;
            };
            let is_range = list[..at].trim_end().ends_with("to");
            let first = if is_range { last } else { number };
            known.extend((first..=number).map(|number| format!("{page} §{number}")));
            last = number;
        }
    }
    known
}

/// Returns the pages of `docs/` that the book leaves out.
fn left_out(pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let Some(summary) = pages.get(Path::new(SUMMARY)) else {
        return vec![format!("{SUMMARY} is missing")];
    };
    let listed: BTreeSet<PathBuf> = summary
        .links
        .iter()
        .filter_map(|(_, target)| plain(&Path::new("docs").join(target)))
        .collect();
    let of_book = pages
        .keys()
        .filter(|path| path.starts_with("docs") && *path != Path::new(SUMMARY));
    of_book
        .filter(|path| !listed.contains(*path))
        .map(|path| format!("{}: {SUMMARY} does not list it", path.display()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_files_and_headings() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "docs/SUMMARY.md",
            "- [Tea](tea.md)\n- [Sections](protocol/sections.md)\n",
        );
        write(
            "docs/tea.md",
            "# Tea\n## The `thread/start` pot\n## Tea\n[a](#the-threadstart-pot) [b](#tea-1)\n[c](#cup) [d](cup.md) [e](../src/a.rs) [f](https://tea.example/)\n",
        );
        write(
            "docs/protocol/sections.md",
            "| page | sections | here |\n|---|---|---|\n| 03 | §1, §4 to §6 | x |\n",
        );
        write("docs/more.md", "");
        write(
            "src/a.rs",
            "// See docs/tea.md#tea, docs/cup.md. 03 §5.2, 03 §4, 03 §2, RFC 6455 §3\n#[test]\n// docs/x.md\n",
        );
        assert_eq!(
            dead(root.path()).unwrap(),
            [
                "docs/tea.md:5: #cup: there is no such heading",
                "docs/tea.md:5: cup.md: there is no such file",
                "src/a.rs:1: docs/cup.md: there is no such file",
                "src/a.rs:1: 03 §2 is not in docs/protocol/sections.md",
                "docs/more.md: docs/SUMMARY.md does not list it",
            ]
        );
    }

    #[test]
    fn no_link_of_this_repository_is_dead() {
        let dead = dead(&crate::root()).unwrap();
        assert!(dead.is_empty(), "{}", dead.join("\n"));
    }
}
