//! Parses a line of natural text from the left: known phrases, quoted parts, paths. Pure, and tolerant only of case,
//! spaces, quotes and closing punctuation.

/// Words after an instruction that have no meaning.
const NOISE: &[&str] = &["please", "for", "me", "thanks"];

/// Returns the text after a phrase at the beginning of `text`, ignoring case.
pub(super) fn after<'a>(text: &'a str, phrase: &str) -> Option<&'a str> {
    let head = text.get(..phrase.len())?;
    let rest = &text[phrase.len()..];
    let ends = match rest.chars().next() {
        None => true,
        Some('.' | '!' | '?') => rest.chars().all(|c| matches!(c, '.' | '!' | '?')),
        Some(c) => c.is_whitespace() || matches!(c, ':' | ',' | '`' | '"' | '\'' | '“'),
    };
    (ends && head.eq_ignore_ascii_case(phrase)).then(|| rest.trim_start())
}

/// Returns the text after the first of these phrases that `text` starts with.
pub(super) fn after_any<'a>(text: &'a str, phrases: &[&str]) -> Option<&'a str> {
    phrases.iter().find_map(|phrase| after(text, phrase))
}

/// Skips any number of these phrases at the beginning, each with a comma or colon after it.
pub(super) fn skip<'a>(mut text: &'a str, phrases: &[&str]) -> &'a str {
    while let Some(rest) = after_any(text, phrases) {
        text = rest.trim_start_matches([',', ':', '!', '.', '?']).trim_start();
    }
    text
}

/// A piece of text that an instruction names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) text: String,
    /// Whether it was in quotes or backticks.
    pub(super) quoted: bool,
    /// The rest of the text.
    pub(super) rest: &'a str,
}

impl Named<'_> {
    /// Whether this is surely a path and not a word of the sentence.
    pub(super) fn looks_like_path(&self) -> bool {
        self.quoted || self.text.contains(['/', '.']) || self.text.starts_with(char::is_uppercase)
    }
}

/// Returns the quoted text that `text` starts with.
pub(super) fn quoted(text: &str) -> Option<Named<'_>> {
    let named = |text: String, rest: &'_ str| (text, rest.len());
    let (content, left) = match text.chars().next()? {
        '`' => {
            let fence = &text[..text.len() - text.trim_start_matches('`').len()];
            let body = &text[fence.len()..];
            let end = body.find(fence)?;
            let inner = if fence.len() > 1 {
                body[..end].trim()
            } else {
                &body[..end]
            };
            named(inner.to_owned(), &body[end + fence.len()..])
        }
        '“' => {
            let (inner, rest) = text.strip_prefix('“')?.split_once('”')?;
            named(inner.to_owned(), rest)
        }
        '"' => {
            let body = &text[1..];
            let end = body
                .char_indices()
                .scan(false, |escaped, (at, c)| {
                    let ends = c == '"' && !*escaped;
                    *escaped = c == '\\' && !*escaped;
                    Some((at, ends))
                })
                .find_map(|(at, ends)| ends.then_some(at))?;
            named(unescaped(&body[..end]), &body[end + 1..])
        }
        '\'' => {
            let body = &text[1..];
            let closes = |at: &usize| body[at + 1..].chars().next().is_none_or(|c| !c.is_alphanumeric());
            let end = body.match_indices('\'').map(|(at, _)| at).find(closes)?;
            named(body[..end].to_owned(), &body[end + 1..])
        }
        _ => return None,
    };
    let rest = text[text.len() - left..].trim_start();
    Some(Named {
        text: content,
        quoted: true,
        rest,
    })
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(next @ ('n' | 't' | '"' | '\\'))) => {
                chars.next();
                plain.push(match next {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// Returns the path that `text` starts with: quoted, or one word without closing punctuation.
pub(super) fn path(text: &str) -> Option<Named<'_>> {
    if let Some(named) = quoted(text) {
        return (!named.text.trim().is_empty()).then_some(named);
    }
    let word = text.split_whitespace().next()?;
    let mut end = word.trim_end_matches([',', ';', ':', '!', '?']).len();
    // A full stop ends a sentence; `..` and `.` are directories.
    if word[..end]
        .strip_suffix('.')
        .is_some_and(|stem| stem.ends_with(char::is_alphanumeric))
    {
        end -= 1;
    }
    let name = word[..end].trim_start_matches('@');
    let plain = !name.is_empty() && !name.contains(|c: char| "`\"'<>|;&$()".contains(c));
    plain.then(|| Named {
        text: name.to_owned(),
        quoted: false,
        rest: text[end..].trim_start(),
    })
}

/// Whether nothing but politeness and punctuation is left.
pub(super) fn is_noise(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || ",.;:!?".contains(c))
        .all(|word| word.is_empty() || NOISE.contains(&word.to_ascii_lowercase().as_str()))
}

/// Returns where a word stands between spaces, outside of backticks and double quotes.
pub(super) fn outside_quotes<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let mut open: Option<char> = None;
    text.char_indices().filter_map(move |(at, c)| {
        match open {
            Some(quote) if c == quote => open = None,
            None if matches!(c, '`' | '"') => open = Some(c),
            _ => {}
        }
        let here = open.is_none()
            && text
                .get(at..at + word.len())
                .is_some_and(|found| found.eq_ignore_ascii_case(word))
            && text[..at].ends_with(char::is_whitespace)
            && text[at + word.len()..].starts_with(char::is_whitespace);
        here.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_end_at_words() {
        assert_eq!(after("List files", "list"), Some("files"));
        assert_eq!(after("help!", "help"), Some("!"));
        for text in ["listing", "list.txt", "list-x", "lis", "listé"] {
            assert_eq!(after(text, "list"), None, "{text}");
        }
    }

    #[test]
    fn quotes_of_all_kinds_are_read() {
        for (text, expected, rest) in [
            ("`a b` c", "a b", "c"),
            ("``a ` b`` c", "a ` b", "c"),
            ("\"a \\\"b\\\"\\n\" c", "a \"b\"\n", "c"),
            ("'it's' c", "it's", "c"),
            ("“a” c", "a", "c"),
            ("\"\"", "", ""),
        ] {
            let named = quoted(text).unwrap();
            assert_eq!((named.text.as_str(), named.rest), (expected, rest), "{text}");
        }
        for text in ["", "a", "`a", "\"a", "\"a\\\"", "'a"] {
            assert_eq!(quoted(text), None, "{text}");
        }
    }

    #[test]
    fn paths_lose_only_closing_punctuation() {
        for (text, expected) in [
            ("src/lib.rs.", "src/lib.rs"),
            ("@README.md?", "README.md"),
            ("notes.txt: hello", "notes.txt"),
            ("..", ".."),
            (". please", "."),
            ("`a b.txt`", "a b.txt"),
        ] {
            assert_eq!(path(text).unwrap().text, expected, "{text}");
        }
        assert_eq!(path("ls;id"), None);
    }

    #[test]
    fn words_are_found_outside_of_quotes() {
        let found = |text, word| outside_quotes(text, word).collect::<Vec<_>>();
        assert_eq!(found("a in b in c", "in"), [2, 7]);
        assert_eq!(found("`x with y` with z", "with"), [11]);
        assert!(found("within", "in").is_empty());
    }
}
