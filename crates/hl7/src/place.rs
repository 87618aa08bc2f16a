//! The bytes of a place in a segment, and the separators that are missing before it.

use std::ops::Range;

use crate::message::Segment;
use crate::path::SegmentPlace;
use crate::separators::{Level, Separators, parts};

/// The message declares no separator for a level that a path addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message declares no separator for {0} in MSH-2")]
pub struct NoSeparator(pub(crate) &'static str);

impl SegmentPlace {
    /// Returns the level of what this place means.
    pub(crate) const fn level(&self) -> Level {
        match (self.repetition, self.component, self.subcomponent) {
            (_, _, Some(_)) => Level::Subcomponent,
            (_, Some(_), None) => Level::Component,
            (Some(_), None, None) => Level::Repetition,
            (None, None, None) => Level::Field,
        }
    }
}

/// A place found in a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Located {
    /// The bytes of the place. For a missing place, an empty range where it would start.
    pub(crate) range: Range<usize>,
    /// The separators that make a missing place; empty if the place is there.
    pub(crate) missing: String,
}

/// Finds a place in a segment. In a header, field 1 is the separator itself.
///
/// # Errors
/// [`NoSeparator`] if the place is behind a separator that the message does not declare.
pub(crate) fn locate(
    segment: &Segment,
    place: &SegmentPlace,
    separators: &Separators,
) -> Result<Located, NoSeparator> {
    let body = segment.body();
    let mut steps = vec![(Some(separators.field), usize::from(place.field))];
    if segment.is_header(separators) {
        if place.field == 1 {
            let len = body[3..].chars().next().map_or(0, char::len_utf8);
            let missing = if len == 0 {
                separators.field.to_string()
            } else {
                String::new()
            };
            return Ok(Located {
                range: 3..3 + len,
                missing,
            });
        }
        steps[0].1 = usize::from(place.field) - 1;
    }
    let level = place.level();
    let inner = [
        (Level::Field, place.repetition),
        (Level::Repetition, place.component),
        (Level::Component, place.subcomponent),
    ];
    for (outer, index) in inner.into_iter().take_while(|(outer, _)| *outer < level) {
        let (separator, index) = (
            separators.within(outer),
            usize::from(index.unwrap_or(1)).max(1) - 1,
        );
        if separator.is_none() && index > 0 {
            return Err(NoSeparator(outer.parts()));
        }
        steps.push((separator, index));
    }
    // The header's encoding characters are one place; its separators cut nothing there.
    if segment.is_header(separators) && place.field == 2 {
        steps.truncate(1);
    }

    let mut located = Located {
        range: 0..body.len(),
        missing: String::new(),
    };
    for (separator, index) in steps {
        if located.missing.is_empty() {
            match part(body, located.range.clone(), separator, index) {
                Ok(range) => located.range = range,
                Err(short) => {
                    located.range.start = located.range.end;
                    located
                        .missing
                        .extend(std::iter::repeat_n(separator, short).flatten());
                }
            }
        } else {
            located
                .missing
                .extend(std::iter::repeat_n(separator, index).flatten());
        }
    }
    Ok(located)
}

/// Returns where the part with this index from 0 is, or how many parts are missing.
fn part(
    body: &str,
    range: Range<usize>,
    separator: Option<char>,
    index: usize,
) -> Result<Range<usize>, usize> {
    let mut start = range.start;
    let mut count = 0;
    for part in parts(&body[range], separator) {
        if count == index {
            return Ok(start..start + part.len());
        }
        start += part.len() + separator.map_or(0, char::len_utf8);
        count += 1;
    }
    Err(index + 1 - count)
}
