//! A preprocessor of mdBook: links that leave `docs/` become the names of files of the repository, since the book has only
//! `docs/`.
//!
//! mdBook calls it as `book.toml` says, with the whole book as JSON on stdin, and reads the changed book from stdout.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;

use crate::links::plain;

/// Arguments of mdBook.
#[derive(Debug, clap::Args)]
pub(crate) struct Book {
    /// `supports` and the name of a renderer, when mdBook asks whether that is supported.
    #[arg(value_name = "QUESTION")]
    question: Vec<String>,
}

/// Reads a book and writes it changed.
pub(crate) fn run(book: &Book) -> anyhow::Result<()> {
    if !book.question.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut input: Value = serde_json::from_str(&text).context("mdBook starts this")?;
    let mut book = input[1].take();
    change(&mut book);
    serde_json::to_writer(std::io::stdout().lock(), &book)?;
    Ok(std::io::stdout().flush()?)
}

/// Changes every chapter in a part of the book.
fn change(part: &mut Value) {
    match part {
        Value::Array(parts) => parts.iter_mut().for_each(change),
        Value::Object(members) => {
            let path = members.get("path").and_then(Value::as_str).map(PathBuf::from);
            if let (Some(path), Some(Value::String(content))) = (path, members.get_mut("content")) {
                *content = without_outside(&path, content);
            }
            members.values_mut().for_each(change);
        }
        _ => {}
    }
}

fn without_outside(chapter: &Path, content: &str) -> String {
    let directory = Path::new("docs").join(chapter.parent().unwrap_or(Path::new("")));
    let mut changed = String::new();
    let mut done = 0;
    for (event, range) in Parser::new_ext(content, Options::ENABLE_TABLES).into_offset_iter() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else {
            continue;
        };
        if dest_url.contains("://") || dest_url.starts_with('#') {
            continue;
        }
        let target = dest_url.split('#').next().unwrap_or_default();
        let Some(target) = plain(&directory.join(target)).filter(|target| !target.starts_with("docs")) else {
            continue;
        };
        let link = &content[range.clone()];
        let label = link
            .strip_prefix('[')
            .and_then(|rest| rest.rsplit_once("]("))
            .map_or(link, |(label, _)| label);
        let (before, file) = (&content[done..range.start], target.display());
        // Writing to a text does not fail.
        let _ = write!(changed, "{before}{label} (`{file}` in the repository)");
        done = range.end;
    }
    changed + &content[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_become_names_of_files() {
        let content = "See [the map](../../ARCHITECTURE.md#the-crates), [here](a.md), [there](../b.md#x), [web](https://tea.example/).";
        assert_eq!(
            without_outside(Path::new("protocol/c.md"), content),
            "See the map (`ARCHITECTURE.md` in the repository), [here](a.md), [there](../b.md#x), [web](https://tea.example/)."
        );
    }

    #[test]
    fn every_chapter_is_changed() {
        let chapter = |path: &str, inner: Value| serde_json::json!({ "Chapter": { "path": path, "content": "[x](../y.md)", "sub_items": inner } });
        let mut book = serde_json::json!({ "items": [chapter("a.md", serde_json::json!([chapter("b.md", Value::Array(Vec::new()))]))] });
        change(&mut book);
        assert_eq!(
            book.to_string().matches("x (`y.md` in the repository)").count(),
            2
        );
    }
}
