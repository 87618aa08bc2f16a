//! A message as its lines: each segment with its bytes, and its line end.
//!
//! Nothing is decoded when a message is read, so writing it gives the same text. An edit touches the line that it
//! addresses. A line end is any run of CR and LF, so blank lines belong to the segment before them.

use std::fmt;
use std::ops::Range;

use crate::path::{Path, SegmentName};
use crate::place::locate;
use crate::separators::{MAX_SEGMENTS, NotAMessage, Separators};
use crate::structure;
use crate::value::Value;

/// One HL7 v2 message.
///
/// ```
/// use bobbin_hl7::{Message, Value};
///
/// let text = "MSH|^~\\&|LAB\nPID|1||A1^^^H~B2||\n\n";
/// let message = Message::parse(text)?;
/// assert_eq!(message.to_string(), text);
/// assert_eq!(message.raw(&"PID.3".parse()?), Some("A1^^^H~B2"));
/// assert_eq!(message.get(&"PID.3[2].1".parse()?), Some(Value::from("B2")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub(crate) separators: Separators,
    pub(crate) segments: Vec<Segment>,
}

/// One line of a message: the segment and its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    line: String,
    body: usize,
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// [`NotAMessage`] if the text does not start with a header, or has more than [`MAX_SEGMENTS`] segments.
    pub fn parse(text: &str) -> Result<Self, NotAMessage> {
        let separators = Separators::of(text)?;
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if segments.len() == MAX_SEGMENTS {
                return Err(NotAMessage::TooManySegments);
            }
            let body = rest.find(['\r', '\n']).unwrap_or(rest.len());
            let end = rest[body..]
                .bytes()
                .take_while(|b| matches!(b, b'\r' | b'\n'))
                .count();
            let (line, after) = rest.split_at(body + end);
            segments.push(Segment {
                line: line.to_owned(),
                body,
            });
            rest = after;
        }
        Ok(Self { separators, segments })
    }

    /// Returns the separators that the header declares.
    pub const fn separators(&self) -> &Separators {
        &self.separators
    }

    /// Returns the segments in their order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the text of a segment, or the raw text of a place in it, escape sequences and all.
    ///
    /// `None` means that the message has no such segment or the segment no such place.
    pub fn raw(&self, path: &Path) -> Option<&str> {
        let segment = &self.segments[self.position(path)?];
        let Some(place) = path.place else {
            return Some(segment.body());
        };
        let located = locate(segment, &place, &self.separators).ok()?;
        located.missing.is_empty().then(|| &segment.body()[located.range])
    }

    /// Returns what is at a path as text or structure, without escape sequences.
    ///
    /// `None` means that there is no such segment; a place that is empty or not there is [`Value::Empty`].
    pub fn get(&self, path: &Path) -> Option<Value> {
        let segment = &self.segments[self.position(path)?];
        let Some(place) = path.place else {
            return Some(structure::read_segment(segment, &self.separators));
        };
        let raw = self.raw(path).unwrap_or_default();
        if segment.is_header(&self.separators) && place.field <= 2 {
            return Some(Value::from(raw));
        }
        Some(structure::read(raw, place.level(), &self.separators))
    }

    /// Returns where the segment of a path is among the segments.
    pub(crate) fn position(&self, path: &Path) -> Option<usize> {
        let nth = usize::from(path.occurrence).saturating_sub(1);
        self.all(path.segment).nth(nth)
    }

    /// Iterates over the positions of the segments of a name.
    pub(crate) fn all(&self, name: SegmentName) -> impl DoubleEndedIterator<Item = usize> {
        let named = move |segment: &Segment| segment.is_named(name, &self.separators);
        (0..self.segments.len()).filter(move |at| named(&self.segments[*at]))
    }

    /// Returns the line end that the message uses: its first one, and CR if it has none.
    pub(crate) fn line_break(&self) -> &'static str {
        match self.segments.first().map_or("", Segment::end) {
            end if end.starts_with("\r\n") => "\r\n",
            end if end.starts_with('\n') => "\n",
            _ => "\r",
        }
    }

    /// Adds segments without fields behind position `after`. Blank lines stay behind the new segments.
    pub(crate) fn insert(&mut self, after: usize, name: &str, count: usize) {
        let usual = self.line_break();
        let before = &mut self.segments[after];
        let end = before.end().to_owned();
        let first = if end.starts_with("\r\n") {
            2
        } else {
            end.len().min(1)
        };
        let (line_break, last) = match &end[..first] {
            "" => (usual, ""),
            line_break => (line_break, &*end),
        };
        before.set_end(line_break);
        let inserted = (1..=count).map(|at| Segment::new(name, if at == count { last } else { line_break }));
        self.segments.splice(after + 1..=after, inserted);
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments
            .iter()
            .try_for_each(|segment| f.write_str(&segment.line))
    }
}

impl Segment {
    pub(crate) fn new(body: &str, end: &str) -> Self {
        Self {
            line: format!("{body}{end}"),
            body: body.len(),
        }
    }

    /// Returns the segment without its line end.
    pub fn body(&self) -> &str {
        &self.line[..self.body]
    }

    /// Returns the line end: any run of CR and LF, and nothing at the end of a text that has none.
    pub fn end(&self) -> &str {
        &self.line[self.body..]
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    /// Returns the text before the first field separator. It need not be the name of a segment.
    pub fn name(&self, separators: &Separators) -> &str {
        let body = self.body();
        body.split_once(separators.field).map_or(body, |(name, _)| name)
    }

    pub(crate) fn is_named(&self, name: SegmentName, separators: &Separators) -> bool {
        let body = self.body();
        let named = body
            .get(..3)
            .is_some_and(|text| text.eq_ignore_ascii_case(name.as_str()));
        named && (body.len() == 3 || body[3..].starts_with(separators.field))
    }

    /// Returns whether the fields count as in a header, whose first field is the separator itself.
    pub(crate) fn is_header(&self, separators: &Separators) -> bool {
        self.name(separators) == "MSH"
    }

    /// Replaces a part of the body.
    pub(crate) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.body = self.body - range.len() + text.len();
        self.line.replace_range(range, text);
    }

    pub(crate) fn set_end(&mut self, end: &str) {
        self.line.truncate(self.body);
        self.line.push_str(end);
    }
}
