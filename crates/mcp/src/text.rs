//! Cuts texts of servers to size and removes secrets from them. Pure.

use std::ops::Range;

use bobbin_model::{Lines, visible};

use crate::Secret;

/// Shortest secret that is removed: shorter ones would remove ordinary words.
const MIN_SECRET: usize = 4;
/// Shortest secret of letters alone that is also removed inside words: many words contain shorter ones.
const MIN_ANYWHERE: usize = 8;
/// Schemes before a secret in a header; texts also contain the secret without its scheme.
const SCHEMES: &[&str] = &["Basic", "Bearer", "Token"];
/// The text in place of a secret.
const HIDDEN: &str = "[hidden]";

/// Returns the beginning of a text, up to `max` bytes, with a sign where something is missing.
pub(crate) fn head(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max)])
}

/// Returns a text without its middle, up to about `max` bytes, with a line that says how much is missing.
pub(crate) fn head_and_tail(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let head = text.floor_char_boundary(max / 2);
    let tail = text.ceil_char_boundary(text.len() - max / 2);
    let missing = tail - head;
    format!(
        "{}\n[... {missing} bytes left out ...]\n{}",
        &text[..head],
        &text[tail..]
    )
}

/// Returns a text without secrets. Call it before cutting: a part of a secret is not found.
pub(crate) fn scrubbed(text: &str, secrets: &[Secret]) -> String {
    let mut hidden: Vec<Range<usize>> = secrets
        .iter()
        .flat_map(|Secret(secret)| std::iter::once(secret.as_str()).chain(credentials(secret)))
        .filter(|secret| secret.len() >= MIN_SECRET)
        .flat_map(|secret| places(text, secret))
        .collect();
    // One secret may lie in another, or overlap it.
    hidden.sort_unstable_by_key(|place| place.start);
    let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
    for place in hidden {
        if place.start >= done {
            clean.push_str(&text[done..place.start]);
            clean.push_str(HIDDEN);
        }
        done = done.max(place.end);
    }
    clean.push_str(&text[done..]);
    clean
}

/// Returns the part after the scheme of the value of an `Authorization` header.
fn credentials(secret: &str) -> Option<&str> {
    let (scheme, rest) = secret.split_once(' ')?;
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    known.then(|| rest.trim())
}

fn places<'a>(text: &'a str, secret: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let may_be_a_word = secret.len() < MIN_ANYWHERE && secret.chars().all(char::is_alphabetic);
    let found = text
        .match_indices(secret)
        .map(move |(at, _)| at..at + secret.len());
    found.filter(move |place| {
        let before = text[..place.start].chars().next_back();
        let behind = text[place.end..].chars().next();
        !may_be_a_word || ![before, behind].into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// Returns a text in one line for the user: without secrets and excess, and with nothing that acts on a terminal.
pub(crate) fn shown(text: &str, secrets: &[Secret], max: usize) -> String {
    head(&visible(scrubbed(text, secrets).trim(), Lines::One), max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle_and_say_so() {
        assert_eq!(head_and_tail("abc".to_owned(), 3), "abc");
        let cut = head_and_tail("äöü".repeat(100), 21);
        assert!(cut.starts_with("äöüäö\n[... "), "{cut}");
        assert!(
            cut.ends_with(" bytes left out ...]\näöüöü") || cut.ends_with("öüäöü"),
            "{cut}"
        );
        assert!(cut.len() < 80, "{cut}");
    }

    #[test]
    fn what_people_are_told_has_no_secrets_and_no_control_characters() {
        let secrets = [Secret("hunter2".to_owned()), Secret("no".to_owned())];
        assert_eq!(
            shown(" bad \u{1b}[31mhunter2\n nothing ", &secrets, 100),
            r"bad \u{1b}[31m[hidden]\n nothing"
        );
        assert_eq!(shown("abcdef", &secrets, 3), "abc…");
    }

    #[test]
    fn secrets_are_found_in_each_other_behind_their_scheme_and_as_words() {
        let secrets = |values: &str| -> Vec<Secret> {
            values.split('|').map(|value| Secret(value.to_owned())).collect()
        };
        for (values, text, clean) in [
            ("abcd|abcd-efgh", "is abcd-efgh", "is [hidden]"),
            ("abcd1|xxab2|d1xxab", "abcd1xxab2", "[hidden]"),
            ("Bearer hunter2", "no hunter2 here", "no [hidden] here"),
            (
                "basic aHVudGVy",
                "aHVudGVy, Basic aHVudGVy",
                "[hidden], Basic [hidden]",
            ),
            ("Bearer no", "no Bearer no", "no [hidden]"),
            ("hidden", "hidden, a hidden", "[hidden], a [hidden]"),
            (
                "test",
                "the test attests: \"test\"",
                "the [hidden] attests: \"[hidden]\"",
            ),
            ("tést", "étést tést", "étést [hidden]"),
            ("pass1", "xpass1x", "x[hidden]x"),
            ("correcthorse", "xcorrecthorsex", "x[hidden]x"),
        ] {
            assert_eq!(scrubbed(text, &secrets(values)), clean, "{values:?}");
        }
    }
}
