//! `Summarize this repository.`, `what is this?`, `give me an overview`.

use crate::instruction::Instruction;
use crate::text::{after_any, is_noise, skip};

const NOUNS: &[&str] = &[
    "repository",
    "repo",
    "project",
    "workspace",
    "codebase",
    "code base",
    "code",
    "directory",
    "folder",
    "app",
    "application",
    "program",
];

pub(super) fn understand(line: &str) -> Option<Instruction> {
    let line = line.trim_end_matches(['?', '.', '!']).trim_end();
    let verbs = [
        "summarize",
        "summarise",
        "describe",
        "explain",
        "give me an overview of",
        "give me a summary of",
        "overview of",
        "summary of",
        "tell me about",
        "what is in",
        "what's in",
        "what is",
        "what's",
        "what does",
    ];
    let bare = [
        "overview",
        "give me an overview",
        "summarize",
        "summarise",
        "what is this",
        "what's this",
    ];
    if after_any(line, &bare).is_some_and(is_noise) {
        return Some(Instruction::Summarize);
    }
    let rest = after_any(line, &verbs)?;
    let rest = skip(
        rest,
        &["what", "this", "the", "my", "our", "whole", "entire", "about"],
    );
    let rest = after_any(rest, NOUNS)?;
    let rest = skip(rest, &["is", "about", "does", "do", "for", "here"]);
    is_noise(rest).then_some(Instruction::Summarize)
}
