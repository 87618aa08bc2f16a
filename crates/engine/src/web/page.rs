//! HTML as text that a model reads: headings, paragraphs, lists, links, code. Pure, and pleased with anything.
//!
//! No tree is built: tags are taken as they come. What is not shown to people (scripts, styles, the head but for the
//! title) is left out. Time and memory go with the input, which the caller bounds.

use reqwest::Url;

/// Elements whose content nobody sees.
const UNSEEN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select", "head",
];
/// Elements that stand on lines of their own.
const BLOCKS: &[&str] = &[
    "p",
    "div",
    "section",
    "article",
    "main",
    "header",
    "footer",
    "nav",
    "aside",
    "ul",
    "ol",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "blockquote",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "details",
    "summary",
    "address",
    "hr",
    "pre",
    "body",
    "html",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
];
/// Longest tag; a longer one is text. Keeps the time in proportion to the input.
const MAX_TAG_BYTES: usize = 2 << 10;
/// Longest address of a link that is kept.
const MAX_LINK_BYTES: usize = 500;

/// Returns the text of a page; links are made whole with its address.
pub(super) fn text(html: &str, base: &Url) -> String {
    let mut out = Text::default();
    let mut rest = html;
    let mut links: Vec<Option<String>> = Vec::new();
    while let Some(at) = rest.find('<') {
        out.words(&rest[..at]);
        rest = &rest[at..];
        let Some(tag) = Tag::read(rest) else {
            out.words("<");
            rest = &rest[1..];
            continue;
        };
        rest = &rest[tag.length..];
        let name = tag.name.as_str();
        if !tag.closing && UNSEEN.contains(&name) {
            if name == "head"
                && let Some(title) = title(rest)
            {
                out.block();
                out.words(&format!("# {title}"));
                out.block();
            }
            rest = behind(rest, name);
            continue;
        }
        match name {
            "pre" => {
                out.block();
                out.mark("```");
                out.pre = !tag.closing;
                out.line();
            }
            "li" if !tag.closing => {
                out.line();
                out.mark("- ");
            }
            "br" | "li" => out.line(),
            "td" | "th" if !tag.closing => out.mark(" | "),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if !tag.closing => {
                out.block();
                out.mark(&"######"[..usize::from(name.as_bytes()[1] - b'0')]);
                out.mark(" ");
            }
            "code" if !out.pre => out.mark("`"),
            "img" => {
                if let Some(alt) = tag.attribute("alt").filter(|alt| !alt.trim().is_empty()) {
                    out.words(&format!("[{alt}]"));
                }
            }
            "a" if !tag.closing => {
                let link = tag.attribute("href").and_then(|href| base.join(href.trim()).ok());
                let link = link.filter(|link| matches!(link.scheme(), "http" | "https"));
                let link = link.map(String::from).filter(|link| link.len() <= MAX_LINK_BYTES);
                if link.is_some() {
                    out.open("[");
                }
                links.push(link);
            }
            "a" => {
                if let Some(Some(link)) = links.pop() {
                    out.mark(&format!("]({link})"));
                }
            }
            name if BLOCKS.contains(&name) => out.block(),
            _ => {}
        }
    }
    out.words(rest);
    out.finish()
}

/// Returns what stands behind the end of an element.
fn behind<'a>(rest: &'a str, name: &str) -> &'a str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</") {
        let at = from + at;
        let tag = Tag::read(&rest[at..]);
        if let Some(tag) = tag.filter(|tag| tag.name == name) {
            return &rest[at + tag.length..];
        }
        from = at + 2;
    }
    // Its end is missing: a head ends where the body begins, of anything else nothing more is shown.
    match rest.find("<body").filter(|_| name == "head") {
        Some(at) => &rest[at..],
        None => "",
    }
}

fn title(head: &str) -> Option<String> {
    let head = &head[..head.find("</head").unwrap_or(head.len())];
    let at = head.find("<title")?;
    let tag = Tag::read(&head[at..])?;
    let rest = &head[at + tag.length..];
    let title = decoded(&rest[..rest.find('<').unwrap_or(rest.len())]);
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(title).filter(|title| !title.is_empty())
}

struct Tag<'a> {
    name: String,
    closing: bool,
    inside: &'a str,
    length: usize,
}

impl<'a> Tag<'a> {
    /// Reads the tag, comment or declaration that a text begins with.
    fn read(text: &'a str) -> Option<Self> {
        if let Some(comment) = text.strip_prefix("<!--") {
            let length = comment.find("-->").map_or(text.len(), |end| end + 7);
            return Some(Self {
                name: String::new(),
                closing: false,
                inside: "",
                length,
            });
        }
        let closing = text.starts_with("</");
        let inner = &text[if closing { 2 } else { 1 }..];
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')) {
            return None;
        }
        let inner = &inner[..inner.floor_char_boundary(MAX_TAG_BYTES)];
        let mut quote = None;
        let end = inner.char_indices().find(|(_, c)| match (quote, *c) {
            (None, '>') => true,
            (None, '"' | '\'') => {
                quote = Some(*c);
                false
            }
            (Some(open), c) if open == c => {
                quote = None;
                false
            }
            _ => false,
        });
        // A quote that does not end must not swallow the page.
        let end = end.map(|(at, _)| at).or_else(|| inner.find('>'))?;
        let inside = &inner[..end];
        let is_name = |c: char| c.is_ascii_alphanumeric();
        let name: String = inside.chars().take_while(|c| is_name(*c)).collect();
        Some(Self {
            closing,
            inside: &inside[name.len()..],
            name: name.to_ascii_lowercase(),
            length: if closing { 2 } else { 1 } + end + 1,
        })
    }

    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.inside;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let end = rest
                .find(|c: char| c.is_whitespace() || c == '=')
                .unwrap_or(rest.len());
            if rest.is_empty() {
                return None;
            }
            let (key, more) = rest.split_at(end);
            let Some(value) = more.trim_start().strip_prefix('=') else {
                rest = more;
                if key.is_empty() {
                    return None;
                }
                continue;
            };
            let value = value.trim_start();
            let (value, more) = match value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
                Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
                None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            };
            if key.eq_ignore_ascii_case(name) {
                return Some(decoded(value));
            }
            rest = more;
        }
    }
}

#[derive(Default)]
struct Text {
    out: String,
    pre: bool,
    /// A blank is due before the next word.
    blank: bool,
}

impl Text {
    fn words(&mut self, text: &str) {
        let text = decoded(text);
        if self.pre {
            self.out.push_str(&text);
            return;
        }
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            self.blank |= at > 0;
            if !word.is_empty() {
                self.mark(word);
            }
        }
    }

    /// Adds a piece as it is, behind the blank that is due.
    fn mark(&mut self, piece: &str) {
        let fresh = self.out.is_empty() || self.out.ends_with(['\n', ' ', '[']);
        if std::mem::take(&mut self.blank) && !fresh && !piece.starts_with([' ', ']']) {
            self.out.push(' ');
        }
        self.out.push_str(piece);
    }

    fn open(&mut self, piece: &str) {
        self.mark(piece);
    }

    fn line(&mut self) {
        self.blank = false;
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn block(&mut self) {
        self.line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn finish(self) -> String {
        let mut text = String::with_capacity(self.out.len());
        let mut empty = 0;
        for line in self.out.lines() {
            let line = line.trim_end();
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty < 2 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.trim().to_owned()
    }
}

/// Longest name of a character.
const MAX_ENTITY: usize = 10;

/// Returns a text with the names of characters read.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.bytes().take(MAX_ENTITY).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((character(&rest[..end])?, end)));
        match found {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return char::from_u32(number.ok()?).filter(|c| !c.is_control() || *c == '\n');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "middot" => '·',
        "bull" => '•',
        "times" => '×',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "deg" => '°',
        "euro" => '€',
        "rarr" => '→',
        "larr" => '←',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn read(html: &str) -> String {
        text(html, &Url::parse("https://tea.example/docs/a").unwrap())
    }

    #[rstest]
    #[case("<p>One <b>two</b>\n three</p><p>Four</p>", "One two three\n\nFour")]
    #[case("<h2>Title</h2>text<br>next", "## Title\n\ntext\nnext")]
    #[case(
        "<ul><li>a</li><li>b <a href='../c?x=1&amp;y=2'>link</a></li></ul>",
        "- a\n- b [link](https://tea.example/c?x=1&y=2)"
    )]
    #[case("<pre>fn  f() {\n  1\n}</pre>after", "```\nfn  f() {\n  1\n}\n\n```\nafter")]
    #[case(
        "a<script>if (a < b) { '</p>' }</script><style>x</style><!-- <p>no --> b",
        "a b"
    )]
    #[case("<head><title> A &amp; B </title><meta x></head><body>c", "# A & B\n\nc")]
    #[case("1 &lt; 2 &#x27;q&#39; &nope; &", "1 < 2 'q' &nope; &")]
    #[case(
        "<a href=\"javascript:alert(1)\">x</a> a < b <img alt='pot' src=x>",
        "x a < b [pot]"
    )]
    #[case("<table><tr><td>a</td><td>b</td></tr></table>", "| a | b")]
    fn pages_are_read_as_people_read_them(#[case] html: &str, #[case] expected: &str) {
        assert_eq!(read(html), expected);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(html in "[<>/a-z\"'= &;#x!\\-\n\u{e9}]{0,200}") {
            drop(read(&html));
        }

        #[test]
        fn pieces_of_pages_in_any_order_are_read_without_harm(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<p", "<head>", "</head>", "<script>", "</script", ">", "<a href=", "\"", "</a>", "<pre>", "</pre>", "<!--",
                "-->", "&#", "x10ffff;", "text", "é", "<h9>", "<h1>", "</", "<", "=", " ", "<li>", "<title>",
            ]), 0..40)
        ) {
            let html = pieces.concat();
            let read = read(&html);
            prop_assert!(read.len() <= html.len() * 40 + 40);
        }
    }
}
