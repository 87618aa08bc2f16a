//! Header lines: parses one, and finds the next credible one in garbage.

use memchr::memchr2_iter;

/// The one header that matters, in lower case with its colon.
const NEEDLE: &[u8] = b"content-length:";

/// The content of one header line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// `Content-Length`, with its value if that is decimal digits that fit.
    Length(Option<u64>),
    /// `Content-Type` with an unsupported charset.
    Charset(String),
    /// Any other header.
    Other,
    /// Not a header line at all.
    Garbage,
}

pub(super) fn parse(line: &[u8]) -> Field {
    let Some(colon) = line.iter().position(|&byte| byte == b':') else {
        return Field::Garbage;
    };
    let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
    if name.is_empty() || !name.iter().copied().all(is_name_byte) {
        return Field::Garbage;
    }
    if name.eq_ignore_ascii_case(b"content-length") {
        return Field::Length(digits(value));
    }
    if name.eq_ignore_ascii_case(b"content-type")
        && let Some(charset) = foreign_charset(value)
    {
        return Field::Charset(charset);
    }
    Field::Other
}

/// RFC 9110 token characters: header names consist of them, JSON and prose do not.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn digits(value: &[u8]) -> Option<u64> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Returns the charset of a content type, unless it is UTF-8 or absent.
fn foreign_charset(value: &[u8]) -> Option<String> {
    let value = String::from_utf8_lossy(value);
    let charset = value.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_owned())
    })?;
    let ours = charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("utf8");
    (!ours).then_some(charset)
}

/// Searches for a `content-length:` with digits. Returns how many leading bytes can be dropped, and whether such a
/// header follows them. Bytes that may still become a header are not counted.
pub(super) fn find_length_header(buf: &[u8], max_line: usize) -> (usize, bool) {
    for at in memchr2_iter(b'c', b'C', buf) {
        let rest = &buf[at..];
        let overlap = rest.len().min(NEEDLE.len());
        if !rest[..overlap].eq_ignore_ascii_case(&NEEDLE[..overlap]) {
            continue;
        }
        if rest.len() <= NEEDLE.len() {
            return (at, false);
        }
        let value = &rest[NEEDLE.len()..];
        match value.iter().find(|&&byte| byte != b' ' && byte != b'\t') {
            Some(byte) if byte.is_ascii_digit() => return (at, true),
            None if rest.len() <= max_line => return (at, false),
            Some(_) | None => {}
        }
    }
    (buf.len(), false)
}

#[cfg(test)]
mod tests {
    use super::{Field, find_length_header, parse};

    #[test]
    fn names_compare_without_case_and_blanks_around_values_do_not_count() {
        assert_eq!(parse(b"Content-Length: 7"), Field::Length(Some(7)));
        assert_eq!(parse(b"CONTENT-LENGTH:7"), Field::Length(Some(7)));
        assert_eq!(parse(b"content-length \t:\t 7  "), Field::Length(Some(7)));
    }

    #[test]
    fn lengths_are_decimal_digits_only() {
        for bad in ["", "-1", "+5", "0x10", "5 6", "99999999999999999999", "1.0"] {
            assert_eq!(
                parse(format!("Content-Length: {bad}").as_bytes()),
                Field::Length(None),
                "{bad}"
            );
        }
    }

    #[test]
    fn charsets_other_than_utf8_are_named() {
        assert_eq!(parse(b"Content-Type: application/json"), Field::Other);
        assert_eq!(
            parse(b"Content-Type: application/json; charset=UTF8"),
            Field::Other
        );
        assert_eq!(parse(b"Content-Type: a/b; x=1; Charset=\"utf-8\""), Field::Other);
        assert_eq!(
            parse(b"Content-Type: a/b;charset=latin1"),
            Field::Charset("latin1".into())
        );
    }

    #[test]
    fn prose_and_json_are_no_header_lines() {
        for garbage in [
            "listening on port: 80",
            r#"{"a":1}Content-Length: 20"#,
            "hello",
            ": 5",
        ] {
            assert_eq!(parse(garbage.as_bytes()), Field::Garbage, "{garbage}");
        }
        assert_eq!(parse(b"X-Anything: at all"), Field::Other);
    }

    #[test]
    fn the_search_keeps_what_may_become_a_header() {
        assert_eq!(find_length_header(b"xxContent-Length: 5", 100), (2, true));
        assert_eq!(find_length_header(b"xxcontent-len", 100), (2, false));
        assert_eq!(find_length_header(b"xxcontent-length:  ", 100), (2, false));
        assert_eq!(
            find_length_header(b"content-length: no, content-LENGTH:\t5", 100),
            (20, true)
        );
        assert_eq!(find_length_header(b"nothing here", 100), (12, false));
    }
}
