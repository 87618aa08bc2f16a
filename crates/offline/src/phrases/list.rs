//! `list files in src`, `ls -R src`, `find *.rs`, `what files are here?`

use crate::instruction::Instruction;
use crate::text::{after_any, is_noise, looks_like_path, path, quoted, skip};

/// Words between the verb and the place that have no meaning.
const FILLERS: &[&str] = &[
    "me",
    "all",
    "the",
    "files",
    "file",
    "directory",
    "directories",
    "folder",
    "folders",
    "content",
    "contents",
    "of",
    "entries",
    "everything",
    "in",
    "inside",
    "under",
    "from",
    "matching",
    "named",
    "called",
    "here",
    "this",
    "current",
    "workspace",
    "repository",
    "repo",
    "project",
    "and",
    "please",
    "there",
    "are",
];

pub(super) fn understand(line: &str) -> Option<Instruction> {
    let rest = what_to_list(line)?;
    place(rest.trim_start_matches([':', ',']).trim_start())
}

/// Returns the text after the words that ask for a list.
fn what_to_list(line: &str) -> Option<&str> {
    if let Some(rest) = after_any(line, &["list", "ls", "dir"]) {
        return Some(rest);
    }
    if let Some(rest) = after_any(line, &["what is in", "what's in"]) {
        let named = path(skip(rest, &["the"]))?;
        // Any other name is a file, which `read` handles.
        return (named.text.ends_with('/') || !looks_like_path(&named)).then_some(rest);
    }
    if let Some(rest) = after_any(line, &["show", "give", "which", "what"]) {
        // `show files`, and not `show FILE`.
        let word = |word: &&str| !matches!(*word, "me" | "all" | "the" | "a" | "list" | "of");
        let first = rest.split_whitespace().find(word)?;
        let first = first.trim_end_matches(['?', '.', '!']);
        return first.eq_ignore_ascii_case("files").then_some(rest);
    }
    let rest = after_any(line, &["find"])?;
    let is_list = after_any(rest, &["files", "all files", "the files"]).is_some() || is_bare_glob(rest);
    is_list.then_some(rest)
}

/// Reads the place and the options: fillers, flags, and at most one path or glob.
fn place(mut rest: &str) -> Option<Instruction> {
    let (mut found, mut recursive): (Option<String>, bool) = (None, false);
    while !rest.is_empty() {
        let word = rest.split_whitespace().next()?;
        let plain = word.trim_end_matches([',', '.', '!', '?']).to_ascii_lowercase();
        let skipped = rest[word.len()..].trim_start();
        if quoted(rest).is_none() {
            match plain.as_str() {
                "recursively" | "recursive" | "tree" | "subdirectories" => recursive = true,
                // A flag of `ls`.
                flag if flag.len() > 1 && flag.starts_with('-') => recursive |= word.contains('R'),
                filler if FILLERS.contains(&filler) || filler == "a" || filler == "list" => {}
                "" if is_noise(word) => {}
                _ => {
                    let named = path(rest)?;
                    if found.replace(named.text).is_some() {
                        return None;
                    }
                    rest = named
                        .rest
                        .trim_start_matches([',', ';', ':', '!', '?', '.'])
                        .trim_start();
                    continue;
                }
            }
            rest = skipped;
        } else {
            let named = path(rest)?;
            if found.replace(named.text).is_some() {
                return None;
            }
            rest = named.rest;
        }
    }
    let is_glob = found
        .as_deref()
        .is_some_and(|text| text.contains(['*', '?', '[', '{']));
    let (path, glob) = if is_glob { (None, found) } else { (found, None) };
    Some(Instruction::List {
        path: path.filter(|path| path != "."),
        glob,
        recursive,
    })
}

fn is_bare_glob(text: &str) -> bool {
    path(text).is_some_and(|named| named.text.contains('*') && is_noise(named.rest))
}
