//! ``replace `a` with `b` in FILE``, `change all X to Y in FILE`.

use crate::instruction::Instruction;
use crate::text::{after_any, is_noise, path, quoted, skip, split_first, split_last};

pub(super) fn understand(line: &str) -> Option<Instruction> {
    let rest = after_any(line, &["replace", "change", "substitute"])?;
    let every = [
        "all",
        "every",
        "each",
        "all occurrences of",
        "every occurrence of",
        "occurrences of",
        "occurrence of",
    ];
    let mut all = after_any(rest, &every).is_some();
    let rest = skip(
        rest,
        &[
            "all",
            "every",
            "each",
            "occurrences of",
            "occurrence of",
            "the text",
            "the word",
        ],
    );
    let (old, rest) = if let Some(named) = quoted(rest) {
        (named.text, after_any(named.rest, &["with", "by", "to", "for"])?)
    } else {
        let (old, rest) = ["with", "by", "to"]
            .iter()
            .find_map(|word| split_first(rest, word))?;
        (old.to_owned(), rest)
    };
    let (new, place) = if let Some(named) = quoted(rest) {
        (named.text, after_any(named.rest, &["in", "inside"])?)
    } else {
        let (new, place) = split_last(rest, "in")?;
        (new.to_owned(), place)
    };
    let named = path(skip(place, &["the", "file"]))?;
    all |= named.rest.to_ascii_lowercase().contains("everywhere");
    let whole = !old.is_empty() && is_noise(named.rest);
    whole.then_some(Instruction::Replace {
        path: named.text,
        old,
        new,
        all,
    })
}
