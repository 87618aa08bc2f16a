//! Cutting texts of strangers to size, and keeping secrets out of them. Pure.

use crate::Secret;

/// Shortest secret that is looked for: shorter ones would take ordinary words with them.
const MIN_SECRET: usize = 4;
/// What stands for a secret.
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

/// Returns a text without secrets. Before it is cut: a part of a secret is not known for one.
pub(crate) fn scrubbed(text: &str, secrets: &[Secret]) -> String {
    let mut text = text.to_owned();
    for Secret(secret) in secrets.iter().filter(|secret| secret.0.len() >= MIN_SECRET) {
        text = text.replace(secret.as_str(), HIDDEN);
    }
    text
}

/// Returns a text in one line for people: without control characters, secrets and excess.
pub(crate) fn told(text: &str, secrets: &[Secret], max: usize) -> String {
    let text: String = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    head(scrubbed(&text, secrets).trim(), max)
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
            told(" bad \u{1b}[31mhunter2\n nothing ", &secrets, 100),
            "bad  [31m[hidden]  nothing"
        );
        assert_eq!(told("abcdef", &secrets, 3), "abc…");
    }
}
