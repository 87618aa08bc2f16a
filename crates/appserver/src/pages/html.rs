//! A page's markup as the text a reader would see. Pure, and lenient: whatever it is given, text comes out.

/// Elements whose content nobody reads.
const UNSEEN: [&str; 6] = ["script", "style", "svg", "template", "noscript", "iframe"];
/// Elements that stand on lines of their own.
const LINES: [&str; 28] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dt",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "title",
    "tr",
    "ul",
];

/// Returns the text.
pub(super) fn text(markup: &str) -> String {
    let mut out = String::new();
    let mut rest = markup;
    while let Some(at) = rest.find('<') {
        said(&rest[..at], &mut out);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((tag, after)) = rest[1..].split_once('>') else {
            rest = "";
            break;
        };
        rest = after;
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        if LINES.contains(&name.as_str()) {
            line(&mut out);
        } else if name == "td" || name == "th" {
            out.push(' ');
        } else if UNSEEN.contains(&name.as_str()) && !tag.starts_with('/') && !tag.ends_with('/') {
            rest = behind(rest, &name);
        }
    }
    said(rest, &mut out);
    line(&mut out);
    out
}

/// Returns what follows the end of an element.
fn behind<'a>(rest: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    let found = rest.match_indices("</").find(|(at, _)| {
        rest.get(*at..at + end.len())
            .is_some_and(|tag| tag.eq_ignore_ascii_case(&end))
    });
    let after = found.and_then(|(at, _)| rest[at..].split_once('>'));
    after.map_or("", |(_, after)| after)
}

/// Begins a new line, without leaving empty ones.
fn line(out: &mut String) {
    let end = out.trim_end().len();
    out.truncate(end);
    if !out.is_empty() {
        out.push('\n');
    }
}

/// Adds words, whatever white space is between them.
fn said(words: &str, out: &mut String) {
    if words.starts_with(char::is_whitespace) && !out.is_empty() && !out.ends_with(char::is_whitespace) {
        out.push(' ');
    }
    let mut first = true;
    for word in words.split_whitespace() {
        if !std::mem::take(&mut first) {
            out.push(' ');
        }
        decode(word, out);
    }
    if !first && words.ends_with(char::is_whitespace) {
        out.push(' ');
    }
}

/// Adds a word with its entities resolved; what is none stays as it is.
fn decode(word: &str, out: &mut String) {
    let mut rest = word;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest[1..].split_once(';').filter(|(name, _)| name.len() <= 8);
        let Some((char, after)) = entity.and_then(|(name, after)| Some((entity_char(name)?, after))) else {
            out.push('&');
            rest = &rest[1..];
            continue;
        };
        out.push(char);
        rest = after;
    }
    out.push_str(rest);
}

fn entity_char(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "copy" => '©',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_sees_is_kept() {
        for (markup, seen) in [
            ("plain", "plain\n"),
            (
                "<p>One</p><p>two <b>three</b>, four</p>",
                "One\ntwo three, four\n",
            ),
            ("<script>if (a < b) {}</SCRIPT ><div>x</div>", "x\n"),
            ("<!-- no <p> --><ul><li>a\n  b<li>c</ul>", "a b\nc\n"),
            (
                "a &lt;b&gt; &amp;amp; &#65;&#x42; &tea; & c",
                "a <b> &amp; AB &tea; & c\n",
            ),
            ("<table><tr><td>1</td><td>2</td></tr></table>", "1 2\n"),
            ("a<br/>b", "a\nb\n"),
            ("<style>never ends", ""),
            ("<p unclosed", ""),
            ("", ""),
        ] {
            assert_eq!(text(markup), seen, "{markup}");
        }
    }

    #[test]
    fn any_markup_becomes_text() {
        for markup in [
            "<",
            "<<>>",
            "&",
            "&;",
            "<é>é",
            "</script",
            "<script></",
            "&#xfffffff;",
            "<!--",
        ] {
            text(markup);
        }
    }
}
