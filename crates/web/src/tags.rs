//! Tags of a page, one after the other, in time that goes with the page's length whatever stands in it.
//!
//! What is looked for far ahead is remembered until it is passed, so that nothing is looked at over and over. `steps`
//! counts the bytes that were looked at, and a test holds them against the input.

/// Longest tag; a longer one is text.
const MAX_TAG_BYTES: usize = 2 << 10;

/// The next place of a text that stands behind a position. Positions are asked for in order.
#[derive(Debug)]
struct Next {
    needle: &'static str,
    /// Where it stands; `usize::MAX` where it does not any more, `None` before the first question.
    known: Option<usize>,
}

impl Next {
    fn new(needle: &'static str) -> Self {
        Self { needle, known: None }
    }

    fn find(&mut self, html: &str, from: usize, steps: &mut usize) -> Option<usize> {
        let known = self.known.filter(|known| *known >= from).unwrap_or_else(|| {
            let found = html[from..].find(self.needle).map(|at| from + at);
            *steps += found.unwrap_or(html.len()) - from + 1;
            found.unwrap_or(usize::MAX)
        });
        self.known = Some(known);
        Some(known).filter(|known| *known != usize::MAX)
    }
}

/// The next end tag of one element.
#[derive(Debug)]
struct Closing {
    name: &'static str,
    slash: Next,
    bracket: Next,
    /// Where it stands, and where it ends; the first is `usize::MAX` where there is none any more.
    known: Option<(usize, usize)>,
}

impl Closing {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            slash: Next::new("</"),
            bracket: Next::new(">"),
            known: None,
        }
    }

    /// Returns what stands behind it.
    fn find(&mut self, html: &str, from: usize, steps: &mut usize) -> Option<usize> {
        if self.known.is_none_or(|(at, _)| at < from) {
            self.known = Some(self.look(html, from, steps).unwrap_or((usize::MAX, 0)));
        }
        self.known.filter(|(at, _)| *at != usize::MAX).map(|(_, end)| end)
    }

    fn look(&mut self, html: &str, from: usize, steps: &mut usize) -> Option<(usize, usize)> {
        let mut from = from;
        loop {
            let at = self.slash.find(html, from, steps)?;
            from = at + 2;
            let name = html.as_bytes()[from..].get(..self.name.len());
            let is_it = name.is_some_and(|name| name.eq_ignore_ascii_case(self.name.as_bytes()));
            let behind = from + self.name.len();
            let goes_on = html.as_bytes().get(behind).is_some_and(u8::is_ascii_alphanumeric);
            if is_it && !goes_on {
                let end = self.bracket.find(html, behind, steps)?;
                if end - from <= MAX_TAG_BYTES {
                    return Some((at, end + 1));
                }
            }
        }
    }
}

/// A page that is read from its beginning to its end.
#[derive(Debug)]
pub(super) struct Tags<'a> {
    html: &'a str,
    at: usize,
    open: Next,
    bracket: Next,
    body: Next,
    head_end: Next,
    title: Next,
    closing: Vec<Closing>,
    /// Up to here quotes mean nothing: one before it does not end.
    unquoted: usize,
    /// A title was read: a page has one.
    titled: bool,
    /// Bytes that were looked at.
    pub(super) steps: usize,
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// Text, up to a tag or the end.
    Text(&'a str),
    /// A tag, comment or declaration.
    Tag(Tag<'a>),
}

impl<'a> Tags<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self {
            html,
            at: 0,
            open: Next::new("<"),
            bracket: Next::new(">"),
            body: Next::new("<body"),
            head_end: Next::new("</head"),
            title: Next::new("<title"),
            closing: Vec::new(),
            unquoted: 0,
            titled: false,
            steps: 0,
        }
    }

    /// Returns the next piece; `None` at the end.
    pub(super) fn piece(&mut self) -> Option<Piece<'a>> {
        let (html, at) = (self.html, self.at);
        if at >= html.len() {
            return None;
        }
        let open = self.open.find(html, at, &mut self.steps).unwrap_or(html.len());
        if open > at {
            self.at = open;
            return Some(Piece::Text(&html[at..open]));
        }
        let Some(tag) = self.read() else {
            self.at = at + 1;
            return Some(Piece::Text(&html[at..=at]));
        };
        self.at = at + tag.length;
        Some(Piece::Tag(tag))
    }

    /// Goes on behind the end of an element. Where that is missing, a head ends where the body begins, and of anything
    /// else nothing more is shown.
    pub(super) fn skip(&mut self, name: &'static str) {
        let known = self.closing.iter().position(|closing| closing.name == name);
        let known = known.unwrap_or_else(|| {
            self.closing.push(Closing::new(name));
            self.closing.len() - 1
        });
        let end = self.closing[known].find(self.html, self.at, &mut self.steps);
        self.at = match end {
            Some(end) => end,
            None if name == "head" => self
                .body
                .find(self.html, self.at, &mut self.steps)
                .unwrap_or(self.html.len()),
            None => self.html.len(),
        };
    }

    /// Returns what stands in the title of the head that has just begun.
    pub(super) fn title(&mut self) -> Option<&'a str> {
        let (html, at) = (self.html, self.at);
        if self.titled {
            return None;
        }
        let end = self
            .head_end
            .find(html, at, &mut self.steps)
            .unwrap_or(html.len());
        let title = self
            .title
            .find(html, at, &mut self.steps)
            .filter(|title| *title < end)?;
        self.titled = true;
        let head = &html[title..end];
        self.steps += head.len();
        let rest = &head[head.find('>')? + 1..];
        Some(&rest[..rest.find('<').unwrap_or(rest.len())])
    }

    /// Reads the tag, comment or declaration that stands here.
    fn read(&mut self) -> Option<Tag<'a>> {
        let text = &self.html[self.at..];
        if let Some(comment) = text.strip_prefix("<!--") {
            let length = comment.find("-->").map_or(text.len(), |end| end + 7);
            self.steps += length;
            return Some(Tag {
                name: String::new(),
                closing: false,
                inside: "",
                length,
            });
        }
        let closing = text.starts_with("</");
        let begin = if closing { 2 } else { 1 };
        let inner = &text[begin..];
        if !inner.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '!' | '?')) {
            return None;
        }
        let bracket = self.bracket.find(self.html, self.at + begin, &mut self.steps)? - self.at - begin;
        let inner = &inner[..inner.floor_char_boundary(MAX_TAG_BYTES)];
        if bracket >= inner.len() {
            return None;
        }
        // A quote that does not end must not swallow the page.
        let end = self.quoted_end(inner, begin).unwrap_or(bracket);
        let inside = &inner[..end];
        let name = inside
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(inside.len());
        let (name, inside) = inside.split_at(name);
        Some(Tag {
            closing,
            inside,
            name: name.to_ascii_lowercase(),
            length: begin + end + 1,
        })
    }

    /// Returns where a tag ends, whatever stands in its quotes.
    fn quoted_end(&mut self, inner: &str, begin: usize) -> Option<usize> {
        if self.at < self.unquoted {
            return None;
        }
        let mut quote = None;
        let end = inner.bytes().position(|byte| match (quote, byte) {
            (None, b'>') => true,
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                false
            }
            (Some(open), byte) if open == byte => {
                quote = None;
                false
            }
            _ => false,
        });
        self.steps += end.unwrap_or(inner.len());
        if end.is_none() {
            self.unquoted = self.at + begin + inner.len();
        }
        end
    }
}

/// A tag.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    /// In small letters; empty for what is no element.
    pub(super) name: String,
    /// It ends the element.
    pub(super) closing: bool,
    inside: &'a str,
    length: usize,
}

impl Tag<'_> {
    /// Returns an attribute's value as it is written.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
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
                return Some(value);
            }
            rest = more;
        }
    }
}
