//! `read README.md`, `show me src/lib.rs`, `cat notes.txt`, `what is in Cargo.toml?`

use crate::instruction::Instruction;
use crate::text::{after_any, is_noise, looks_like_path, path, skip};

const FILLERS: &[&str] = &[
    "me",
    "out",
    "the contents of",
    "the content of",
    "contents of",
    "content of",
    "the file",
    "file",
    "the",
];

pub(super) fn understand(line: &str) -> Option<Instruction> {
    let (rest, sure) = if let Some(rest) = after_any(line, &["read", "cat"]) {
        (rest, true)
    } else {
        let verbs = [
            "show",
            "open",
            "print",
            "display",
            "view",
            "what is in",
            "what's in",
            "what does",
        ];
        (after_any(line, &verbs)?, false)
    };
    let rest = skip(rest, FILLERS);
    let named = path(rest)?;
    // `read this` names no file.
    let names = looks_like_path(&named)
        || (sure && !matches!(named.text.as_str(), "this" | "it" | "that" | "all" | "everything"));
    let rest = after_any(named.rest, &["say", "contain"]).unwrap_or(named.rest);
    (names && is_noise(rest)).then_some(Instruction::Read { path: named.text })
}
