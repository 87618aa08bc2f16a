//! HTML as text that a model reads: headings, paragraphs, lists, links, code. Pure, and pleased with anything.
//!
//! No tree is built: tags are taken as they come. What is not shown to people (scripts, styles, the head but for the
//! title) is left out. Time and memory go with the input, which the caller bounds (see [`tags`](super::tags)).

use reqwest::Url;

use super::tags::{Piece, Tags};

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
/// Longest address of a link that is kept.
const MAX_LINK_BYTES: usize = 500;

/// Returns the text of a page; links are made whole with its address.
pub(super) fn text(html: &str, base: &Url) -> String {
    counted(html, base).0
}

/// Returns the same with how many bytes were looked at.
fn counted(html: &str, base: &Url) -> (String, usize) {
    let mut out = Text::default();
    let mut tags = Tags::new(html);
    let mut links: Vec<Option<String>> = Vec::new();
    while let Some(piece) = tags.piece() {
        let tag = match piece {
            Piece::Text(text) => {
                out.words(text);
                continue;
            }
            Piece::Tag(tag) => tag,
        };
        let name = tag.name.as_str();
        let unseen = UNSEEN.iter().find(|unseen| !tag.closing && **unseen == name);
        if let Some(unseen) = unseen {
            let title = (*unseen == "head").then(|| tags.title()).flatten();
            let title = title.map(decoded).unwrap_or_default();
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            if !title.is_empty() {
                out.block();
                out.words(&format!("# {title}"));
                out.block();
            }
            tags.skip(unseen);
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
                if let Some(alt) = tag
                    .attribute("alt")
                    .map(decoded)
                    .filter(|alt| !alt.trim().is_empty())
                {
                    out.words(&format!("[{alt}]"));
                }
            }
            "a" if !tag.closing => {
                let link = tag.attribute("href").map(decoded);
                let link = link.and_then(|href| base.join(href.trim()).ok());
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
    (out.finish(), tags.steps)
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

    /// Most looks at a byte: by each of what is looked for, ends of [`UNSEEN`] above all.
    const MAX_STEPS: usize = 3 * 10 + 8;

    #[rstest]
    #[case("<a")]
    #[case("<head><body>")]
    #[case("<head><title")]
    #[case("<title><head><body>")]
    #[case("</script")]
    #[case("<a\">\"")]
    #[case("<head><body><title> ")]
    fn a_page_that_repeats_itself_without_an_end_is_looked_at_a_few_times(#[case] piece: &str) {
        for html in [
            piece.repeat(20_000),
            format!("<head><script>{}", piece.repeat(20_000)),
        ] {
            let steps = counted(&html, &Url::parse("https://tea.example").unwrap()).1;
            assert!(
                steps <= MAX_STEPS * html.len(),
                "{piece}: {steps} of {}",
                html.len()
            );
        }
    }

    #[test]
    fn a_head_without_an_end_ends_with_the_body_and_is_titled_once() {
        let html = "<head><title>A</title><body>b<head><title>C</title><body>d";
        assert_eq!(read(html), "# A\n\nb\n\nd");
        assert_eq!(read("<SCRIPT>x</Script >y<script>z"), "y");
        assert_eq!(read("<p title=\"a>b\">c<p title=\">d"), "c\n\nd");
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

        #[test]
        fn time_goes_with_the_length_of_a_page_whatever_it_repeats(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<p", "<a", "</a", "<head>", "</head>", "</head", "<body>", "<script>", "</script", ">", "\"", "'", "=", " ",
                "<!--", "-->", "<title", "<title>", "</", "<", "x", "<svg>", "</svg>",
            ]), 1..6)
        ) {
            let html = pieces.concat().repeat(1 << 10);
            let steps = counted(&html, &Url::parse("https://tea.example").unwrap()).1;
            prop_assert!(steps <= MAX_STEPS * html.len(), "{steps} of {}", html.len());
        }
    }
}
