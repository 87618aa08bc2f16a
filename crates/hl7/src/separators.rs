//! The separators of a message: what MSH-1 and MSH-2 say, and the levels that they cut.
//!
//! A message names its own separators, so nothing in this crate has a separator built in. The exception is the defaults
//! for a message that is built from structured data without separators.

/// Why a text is not an HL7 v2 message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// There is no text.
    #[error("the message is empty")]
    Empty,
    /// The first segment is not the header.
    #[error("the message does not start with MSH")]
    NoHeader,
    /// MSH-1 or MSH-2 is missing, too long, or names a character twice.
    #[error("the separators of MSH-1 and MSH-2 cannot be read; usual are MSH|^~\\&")]
    Separators,
    /// The text has more lines than an editor can work on.
    #[error("the message has more than {MAX_SEGMENTS} segments")]
    TooManySegments,
}

/// The most segments of one message; a bound of memory, since each has its own allocation.
pub const MAX_SEGMENTS: usize = 100_000;

/// The separators of one message.
///
/// ```
/// use bobbin_hl7::Separators;
///
/// let own = Separators::of("MSH*:~!;*LAB")?;
/// assert_eq!((own.field(), own.encoding_characters().as_str()), ('*', ":~!;"));
/// # Ok::<(), bobbin_hl7::NotAMessage>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Separators {
    pub(crate) field: char,
    pub(crate) component: char,
    pub(crate) repetition: Option<char>,
    pub(crate) escape: Option<char>,
    pub(crate) subcomponent: Option<char>,
    pub(crate) truncation: Option<char>,
}

impl Default for Separators {
    /// Returns the usual ones: `|` and `^~\&`.
    fn default() -> Self {
        Self {
            field: '|',
            component: '^',
            repetition: Some('~'),
            escape: Some('\\'),
            subcomponent: Some('&'),
            truncation: None,
        }
    }
}

impl Separators {
    /// Returns the separators that the header of `text` declares.
    ///
    /// # Errors
    /// [`NotAMessage`] if the text is empty, does not start with `MSH`, or declares no usable separators.
    pub fn of(text: &str) -> Result<Self, NotAMessage> {
        if text.is_empty() {
            return Err(NotAMessage::Empty);
        }
        let rest = text.strip_prefix("MSH").ok_or(NotAMessage::NoHeader)?;
        let field = rest.chars().next().ok_or(NotAMessage::Separators)?;
        let encoding = &rest[field.len_utf8()..];
        let end = encoding.find([field, '\r', '\n']).unwrap_or(encoding.len());
        Self::new(field, &encoding[..end])
    }

    /// Returns separators from the text of MSH-1 and MSH-2.
    ///
    /// The encoding characters are one to five, in this order: component, repetition, escape, subcomponent,
    /// truncation. A level whose character is missing does not exist in the message.
    ///
    /// # Errors
    /// [`NotAMessage::Separators`] if there are none or too many, one occurs twice, or one is a letter, a digit
    /// or a line end.
    pub fn new(field: char, encoding: &str) -> Result<Self, NotAMessage> {
        let all: Vec<char> = std::iter::once(field).chain(encoding.chars().take(6)).collect();
        let usable = |c: &char| !c.is_alphanumeric() && !matches!(c, '\r' | '\n');
        let distinct = all.iter().enumerate().all(|(at, c)| !all[..at].contains(c));
        if !(2..=6).contains(&all.len()) || !distinct || !all.iter().all(usable) {
            return Err(NotAMessage::Separators);
        }
        Ok(Self {
            field,
            component: all[1],
            repetition: all.get(2).copied(),
            escape: all.get(3).copied(),
            subcomponent: all.get(4).copied(),
            truncation: all.get(5).copied(),
        })
    }

    /// Returns the field separator, MSH-1.
    pub const fn field(&self) -> char {
        self.field
    }

    /// Returns the encoding characters, MSH-2.
    pub fn encoding_characters(&self) -> String {
        let rest = [self.repetition, self.escape, self.subcomponent, self.truncation];
        std::iter::once(self.component)
            .chain(rest.into_iter().flatten())
            .collect()
    }

    /// Returns what cuts a place of this level into places of the next one.
    pub(crate) const fn within(&self, level: Level) -> Option<char> {
        match level {
            Level::Field => self.repetition,
            Level::Repetition => Some(self.component),
            Level::Component => self.subcomponent,
            Level::Subcomponent => None,
        }
    }

    /// Returns whether `c` has a meaning of its own and cannot be in a value as it is.
    pub(crate) fn is_special(&self, c: char) -> bool {
        let some = Some(c);
        c == self.field
            || c == self.component
            || some == self.repetition
            || some == self.escape
            || some == self.subcomponent
            || some == self.truncation
            || matches!(c, '\r' | '\n')
    }
}

/// How deep a place is in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Field,
    Repetition,
    Component,
    Subcomponent,
}

impl Level {
    /// Returns the level of the places that a place of this level consists of.
    pub(crate) const fn inner(self) -> Self {
        match self {
            Self::Field => Self::Repetition,
            Self::Repetition => Self::Component,
            Self::Component | Self::Subcomponent => Self::Subcomponent,
        }
    }

    /// Returns the name of what the separator inside of this level makes.
    pub(crate) const fn parts(self) -> &'static str {
        match self {
            Self::Field => "repetitions",
            Self::Repetition => "components",
            Self::Component | Self::Subcomponent => "subcomponents",
        }
    }
}

/// Cuts `text` at `separator`; without one, the text is the only part.
pub(crate) fn parts(text: &str, separator: Option<char>) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let cut = separator.and_then(|c| text.find(c).map(|at| (at, c.len_utf8())));
        let (part, after) = cut.map_or((text, None), |(at, len)| (&text[..at], Some(&text[at + len..])));
        rest = after;
        Some(part)
    })
}
