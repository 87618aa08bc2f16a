//! Paths: `SEG[occurrence].field[repetition].component.subcomponent`, all counted from one.
//!
//! The whole text has to be a path. A path that is nearly one is an error and never means another place.

use std::fmt;
use std::str::FromStr;

/// The largest index in a path.
pub const MAX_INDEX: u16 = 9999;

/// The name of a segment: a letter, then two letters or digits, in upper case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentName([u8; 3]);

impl SegmentName {
    /// The message header.
    pub const MSH: Self = Self(*b"MSH");

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for SegmentName {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let bytes = <[u8; 3]>::try_from(text.as_bytes()).map_err(|_| PathError::Segment)?;
        if !bytes[0].is_ascii_alphabetic() || !bytes.iter().all(u8::is_ascii_alphanumeric) {
            return Err(PathError::Segment);
        }
        Ok(Self(bytes.map(|b| b.to_ascii_uppercase())))
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An address in a message.
///
/// ```
/// use bobbin_hl7::Path;
///
/// let path: Path = "PID-3[2].1".parse()?;
/// assert_eq!(path.to_string(), "PID.3[2].1");
/// assert!("PID.5.".parse::<Path>().is_err());
/// # Ok::<(), bobbin_hl7::PathError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Path {
    /// The segment's name.
    pub segment: SegmentName,
    /// The number among the segments of this name, from 1.
    pub occurrence: u16,
    /// The place in the segment; without one, the path means the segment.
    pub place: Option<SegmentPlace>,
}

/// An address in a segment. Every number counts from 1 to [`MAX_INDEX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SegmentPlace {
    /// The field, in the counting of HL7.
    pub field: u16,
    /// The repetition. Without one, a path that ends here means all; a longer one means the first.
    pub repetition: Option<u16>,
    /// The component.
    pub component: Option<u16>,
    /// The subcomponent; there is one only with a component.
    pub subcomponent: Option<u16>,
}

impl SegmentPlace {
    /// Returns a whole field.
    pub const fn field(field: u16) -> Self {
        Self {
            field,
            repetition: None,
            component: None,
            subcomponent: None,
        }
    }
}

/// Why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The segment's name is not a letter and two letters or digits.
    #[error("a path starts with a segment name of three characters, such as PID")]
    Segment,
    /// An index is missing, zero, too large or not a plain number.
    #[error("an index in a path is a number from 1 to 9999 without sign or leading zero")]
    Index,
    /// A bracket is not closed.
    #[error("a bracket in the path is not closed")]
    Bracket,
    /// Text is left over after the path.
    #[error("the path goes on after its end; its form is SEG[n].field[n].component.subcomponent")]
    Rest,
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let (name, rest) = text.split_at_checked(3).ok_or(PathError::Segment)?;
        let segment = name.parse()?;
        let mut rest = Rest(rest);
        let occurrence = rest.bracket()?.unwrap_or(1);
        let place = rest
            .after(&['.', '-'])?
            .map(|field| rest.place(field))
            .transpose()?;
        if rest.0.is_empty() {
            Ok(Self {
                segment,
                occurrence,
                place,
            })
        } else {
            Err(PathError::Rest)
        }
    }
}

/// The unread rest of a path.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn place(&mut self, field: u16) -> Result<SegmentPlace, PathError> {
        let repetition = self.bracket()?;
        let component = self.after(&['.'])?;
        let subcomponent = if component.is_some() {
            self.after(&['.'])?
        } else {
            None
        };
        Ok(SegmentPlace {
            field,
            repetition,
            component,
            subcomponent,
        })
    }

    /// Reads an index behind one of `marks`, if one of them is next.
    fn after(&mut self, marks: &[char]) -> Result<Option<u16>, PathError> {
        let Some(rest) = self.0.strip_prefix(marks) else {
            return Ok(None);
        };
        self.0 = rest;
        self.index().map(Some)
    }

    fn bracket(&mut self) -> Result<Option<u16>, PathError> {
        let Some(rest) = self.0.strip_prefix('[') else {
            return Ok(None);
        };
        self.0 = rest;
        let index = self.index()?;
        self.0 = self.0.strip_prefix(']').ok_or(PathError::Bracket)?;
        Ok(Some(index))
    }

    fn index(&mut self) -> Result<u16, PathError> {
        let end = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        index(digits).ok_or(PathError::Index)
    }
}

/// Returns the number that `digits` say, if it is an index.
pub(crate) fn index(digits: &str) -> Option<u16> {
    if digits.starts_with(['0', '+']) {
        return None;
    }
    digits.parse().ok().filter(|index| *index <= MAX_INDEX)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segment.fmt(f)?;
        if self.occurrence != 1 {
            write!(f, "[{}]", self.occurrence)?;
        }
        let Some(place) = self.place else { return Ok(()) };
        write!(f, ".{}", place.field)?;
        if let Some(repetition) = place.repetition {
            write!(f, "[{repetition}]")?;
        }
        for index in [place.component, place.subcomponent].into_iter().flatten() {
            write!(f, ".{index}")?;
        }
        Ok(())
    }
}

impl serde::Serialize for Path {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
