//! Converts HTML to text that a model reads: headings, paragraphs, lists, links, code. Pure, and accepts any text.
//!
//! A tokenizer reads the tags in order and no tree is built, so deep nesting and missing end tags cost nothing. Parts
//! that a browser does not show (scripts, styles, the head except its title) are left out. Time and memory grow with
//! the input, which the caller bounds.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

/// Elements whose content is not shown.
const UNSEEN: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select", "head",
];
/// Elements on lines of their own.
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
/// Longest address of a link that is shown.
const MAX_LINK_BYTES: usize = 500;

/// Returns the text of a page; relative links are resolved against its address.
pub(super) fn text(html: &str, base: &Url) -> String {
    let mut emitter = DefaultEmitter::default();
    // Text in a script, a style or a title can look like a tag.
    emitter.naively_switch_states(true);
    let mut page = Page {
        base,
        out: Text::default(),
        links: Vec::new(),
        hidden: None,
        title: None,
        has_title: false,
    };
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::String(text) => page.words(&String::from_utf8_lossy(&text)),
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&String::from_utf8_lossy(&tag.name)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    page.out.finish()
}

/// The state of the conversion.
struct Page<'a> {
    base: &'a Url,
    out: Text,
    /// Addresses of the open links.
    links: Vec<Option<String>>,
    /// The hidden element whose end tag is awaited.
    hidden: Option<&'static str>,
    /// The title so far.
    title: Option<String>,
    has_title: bool,
}

impl Page<'_> {
    fn words(&mut self, text: &str) {
        if let Some(title) = &mut self.title {
            title.push_str(text);
        } else if self.hidden.is_none() {
            self.out.words(text);
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = &*String::from_utf8_lossy(&tag.name);
        // A head without an end tag ends at the body.
        if self.hidden == Some("head") && name == "body" {
            self.hidden = None;
        }
        if name == "title" && !self.has_title && matches!(self.hidden, None | Some("head")) {
            self.title = Some(String::new());
            self.has_title = true;
        }
        if self.hidden.is_some() {
            return;
        }
        self.hidden = UNSEEN
            .iter()
            .copied()
            .find(|unseen| *unseen == name && !tag.self_closing);
        let attribute = |name: &str| {
            let value = tag.attributes.get(name.as_bytes())?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        match name {
            "pre" => {
                self.out.block();
                self.out.mark("```");
                self.out.pre = true;
                self.out.line();
            }
            "li" => {
                self.out.line();
                self.out.mark("- ");
            }
            "br" => self.out.line(),
            "td" | "th" => self.out.mark(" | "),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.out.block();
                self.out.mark(&"######"[..usize::from(name.as_bytes()[1] - b'0')]);
                self.out.mark(" ");
            }
            "code" if !self.out.pre => self.out.mark("`"),
            "img" => {
                if let Some(alt) = attribute("alt").filter(|alt| !alt.trim().is_empty()) {
                    self.out.words(&format!("[{alt}]"));
                }
            }
            "a" => {
                let link = attribute("href").and_then(|href| self.base.join(href.trim()).ok());
                let link = link.filter(|link| matches!(link.scheme(), "http" | "https"));
                let link = link.map(String::from).filter(|link| link.len() <= MAX_LINK_BYTES);
                if link.is_some() {
                    self.out.mark("[");
                }
                self.links.push(link);
            }
            name if BLOCKS.contains(&name) => self.out.block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if name == "title"
            && let Some(title) = self.title.take()
            && !title.trim().is_empty()
        {
            self.out.block();
            self.out.words(&format!("# {title}"));
            self.out.block();
        }
        if self.hidden.is_some() {
            self.hidden = self.hidden.filter(|hidden| *hidden != name);
            return;
        }
        match name {
            "pre" => {
                self.out.block();
                self.out.mark("```");
                self.out.pre = false;
                self.out.line();
            }
            "br" | "li" => self.out.line(),
            "code" if !self.out.pre => self.out.mark("`"),
            "a" => {
                if let Some(Some(link)) = self.links.pop() {
                    self.out.mark(&format!("]({link})"));
                }
            }
            name if BLOCKS.contains(&name) => self.out.block(),
            _ => {}
        }
    }
}

#[derive(Default)]
struct Text {
    out: String,
    pre: bool,
    /// Whether a blank comes before the next word.
    blank: bool,
}

impl Text {
    fn words(&mut self, text: &str) {
        if self.pre {
            self.out.push_str(text);
            return;
        }
        for (at, word) in text.split(char::is_whitespace).enumerate() {
            self.blank |= at > 0;
            if !word.is_empty() {
                self.mark(word);
            }
        }
    }

    /// Adds a piece unchanged, after a due blank.
    fn mark(&mut self, piece: &str) {
        let fresh = self.out.is_empty() || self.out.ends_with(['\n', ' ', '[']);
        if std::mem::take(&mut self.blank) && !fresh && !piece.starts_with([' ', ']']) {
            self.out.push(' ');
        }
        self.out.push_str(piece);
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
    fn pages_are_read_as_a_browser_shows_them(#[case] html: &str, #[case] expected: &str) {
        assert_eq!(read(html), expected);
    }

    #[test]
    fn a_page_that_repeats_itself_without_an_end_is_read_in_time() {
        for piece in [
            "<a",
            "<head><body>",
            "<head><title",
            "</script",
            "<a\">\"",
            "<body><title> ",
            "<a b=c",
            "&",
            "<!--",
            "<svg>",
        ] {
            for start in ["", "<head><script>", "<title>", "<!--", "<a "] {
                // Quadratic time would exceed the test run's own limit.
                drop(read(&format!("{start}{}", piece.repeat(50_000))));
            }
        }
    }

    #[test]
    fn a_head_without_an_end_ends_with_the_body_and_is_titled_once() {
        let html = "<head><title>A</title><body>b<head><title>C</title><body>d";
        assert_eq!(read(html), "# A\n\nb\n\nd");
        assert_eq!(read("<SCRIPT>x</Script >y<script>z"), "y");
        // An unclosed quote hides the rest, as in a browser.
        assert_eq!(read("<p title=\"a>b\">c<p title=\">d"), "c");
        assert_eq!(read("<svg/>a<svg><title>b</title></svg>c"), "ac");
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
