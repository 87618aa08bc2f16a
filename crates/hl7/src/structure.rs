//! The structured view: segments as maps of fields, and such maps brought to one form.
//!
//! The form is unique: what is empty is left out, a map that has only text at 1 is that text, a list of one is its
//! item. So two views are equal exactly when nothing has been edited, and the bytes can stay.

use crate::escape::unescape;
use crate::message::{Message, Segment};
use crate::path::index;
use crate::separators::{Level, Separators, parts};
use crate::value::Value;

/// Layout of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "HermesShape")
)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A list of segments.
    // `{"segments": [{"segment": "PID", "fields": {…}}, …]}`: the order of the segments is in the data.
    #[default]
    Segments,
    /// Segments of one name together.
    // `{"PID": {…}, "OBX": [{…}, {…}]}`.
    Keyed,
}

/// Why structured data is not a message's structure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShapeError {
    /// The outermost value is no map.
    #[error("a message is an object of segments")]
    Top,
    /// An entry of the list has no name.
    #[error("entry {0} of the list is no object with the name of a segment")]
    Unnamed(usize),
    /// A name cannot be written.
    #[error("{0:?} cannot be the name of a segment: it is empty, or has a field separator or a line end")]
    Name(String),
    /// A segment's fields are no map.
    #[error("the fields of {0} are an object with numbers as keys")]
    Fields(String),
    /// A key is no number, or not in range.
    #[error("{key:?} in {segment} is not a number from 1 to 9999")]
    Key {
        /// The segment's name.
        segment: String,
        /// The key, cut if it is long.
        key: String,
    },
    /// A key occurs twice.
    #[error("{key:?} in {segment} occurs twice")]
    Twice {
        /// The segment's name.
        segment: String,
        /// The key.
        key: String,
    },
    /// A list or a map is where the level has none.
    #[error("a field of {0} is nested too deep: repetitions in a list, then components, then subcomponents")]
    Deep(String),
}

/// A segment of structured data: its name and its fields in the unique form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StructuredSegment {
    pub(crate) name: String,
    pub(crate) fields: Value,
}

/// Returns the structured view of a message.
pub(crate) fn view(message: &Message, shape: Shape) -> Value {
    let separators = &message.separators;
    let segments = message.segments.iter();
    let named = segments.map(|segment| (segment.name(separators), read_segment(segment, separators)));
    match shape {
        Shape::Segments => {
            let entry = |(name, fields): (&str, Value)| {
                Value::Map(vec![
                    ("segment".to_owned(), Value::Text(name.to_owned())),
                    ("fields".to_owned(), fields),
                ])
            };
            Value::Map(vec![(
                "segments".to_owned(),
                Value::List(named.map(entry).collect()),
            )])
        }
        Shape::Keyed => {
            let mut at = std::collections::HashMap::new();
            let mut keyed: Vec<(String, Value)> = Vec::new();
            for (name, fields) in named {
                let position = *at.entry(name).or_insert(keyed.len());
                match keyed.get_mut(position).map(|(_, value)| value) {
                    None => keyed.push((name.to_owned(), fields)),
                    Some(Value::List(all)) => all.push(fields),
                    Some(one) => *one = Value::List(vec![std::mem::take(one), fields]),
                }
            }
            Value::Map(keyed)
        }
    }
}

/// Returns the fields of a segment.
pub(crate) fn read_segment(segment: &Segment, separators: &Separators) -> Value {
    let header = segment.is_header(separators);
    let mut fields = Vec::new();
    if header && segment.body().len() > 3 {
        fields.push(("1".to_owned(), Value::Text(separators.field.to_string())));
    }
    for (at, raw) in parts(segment.body(), Some(separators.field)).enumerate().skip(1) {
        let (number, value) = match (header, at) {
            (true, 1) => (2, Value::from(raw)),
            _ => (at + usize::from(header), read(raw, Level::Field, separators)),
        };
        if value != Value::Empty {
            fields.push((number.to_string(), value));
        }
    }
    Value::Map(fields)
}

/// Returns the structured form of a raw place.
pub(crate) fn read(raw: &str, level: Level, separators: &Separators) -> Value {
    if level == Level::Subcomponent {
        return Value::from(unescape(raw, separators).into_owned());
    }
    let parts = parts(raw, separators.within(level)).map(|part| read(part, level.inner(), separators));
    if level == Level::Field {
        return repetitions(parts.collect());
    }
    let numbered = parts.enumerate().filter(|(_, value)| *value != Value::Empty);
    numbers(
        numbered
            .map(|(at, value)| ((at + 1).to_string(), value))
            .collect(),
    )
}

/// Returns the unique form of repetitions.
fn repetitions(mut items: Vec<Value>) -> Value {
    match items.len() {
        1 => items.swap_remove(0),
        _ if items.iter().all(|item| *item == Value::Empty) => Value::Empty,
        _ => Value::List(items),
    }
}

/// Returns the unique form of components or subcomponents, which are sorted and not empty.
fn numbers(mut entries: Vec<(String, Value)>) -> Value {
    match entries.as_slice() {
        [] => Value::Empty,
        [(key, Value::Text(_))] if key == "1" => entries.swap_remove(0).1,
        _ => Value::Map(entries),
    }
}

/// Reads structured data of either shape.
///
/// # Errors
/// [`ShapeError`] if it is no message's structure.
pub(crate) fn entries(data: Value) -> Result<(Shape, Vec<StructuredSegment>), ShapeError> {
    let Value::Map(mut top) = data else {
        return Err(ShapeError::Top);
    };
    let listed = top
        .iter()
        .position(|(key, value)| key == "segments" && matches!(value, Value::List(_)));
    if let Some((_, Value::List(list))) = listed.map(|at| top.swap_remove(at)) {
        let entries = list.into_iter().enumerate().map(|(at, segment)| {
            let Value::Map(members) = segment else {
                return Err(ShapeError::Unnamed(at + 1));
            };
            let (mut name, mut fields) = (None, Value::Empty);
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("segment", Value::Text(text)) => name = Some(text),
                    ("fields", value) => fields = value,
                    _ => {}
                }
            }
            let name = name.ok_or(ShapeError::Unnamed(at + 1))?;
            Ok(StructuredSegment {
                fields: fields_of(&name, fields)?,
                name,
            })
        });
        return Ok((Shape::Segments, entries.collect::<Result<_, _>>()?));
    }
    let mut entries = Vec::new();
    for (name, value) in top {
        let segments = if let Value::List(all) = value {
            all
        } else {
            vec![value]
        };
        for fields in segments {
            entries.push(StructuredSegment {
                fields: fields_of(&name, fields)?,
                name: name.clone(),
            });
        }
    }
    // Writers that sort their keys put other segments before the header.
    entries.sort_by_key(|entry| entry.name != "MSH");
    Ok((Shape::Keyed, entries))
}

fn fields_of(segment: &str, value: Value) -> Result<Value, ShapeError> {
    let entries = match value {
        Value::Map(entries) => entries,
        Value::Empty => Vec::new(),
        Value::Text(_) | Value::List(_) => return Err(ShapeError::Fields(short(segment))),
    };
    let fields = sorted(segment, entries, |value| match value {
        Value::List(items) => {
            let items = items
                .into_iter()
                .map(|item| inner(segment, item, Level::Repetition));
            Ok(repetitions(items.collect::<Result<_, _>>()?))
        }
        value => inner(segment, value, Level::Repetition),
    })?;
    Ok(Value::Map(fields))
}

/// Returns the unique form of a repetition or of a part of it.
fn inner(segment: &str, value: Value, level: Level) -> Result<Value, ShapeError> {
    match value {
        Value::Text(text) => Ok(Value::from(text)),
        Value::Empty => Ok(Value::Empty),
        Value::Map(entries) if level < Level::Subcomponent => {
            Ok(numbers(sorted(segment, entries, |value| {
                inner(segment, value, level.inner())
            })?))
        }
        Value::List(_) | Value::Map(_) => Err(ShapeError::Deep(short(segment))),
    }
}

/// Returns entries in the order of their numbers, without empty ones.
fn sorted(
    segment: &str,
    entries: Vec<(String, Value)>,
    form: impl Fn(Value) -> Result<Value, ShapeError>,
) -> Result<Vec<(String, Value)>, ShapeError> {
    let mut out = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let Some(number) = index(&key) else {
            return Err(ShapeError::Key {
                segment: short(segment),
                key: short(&key),
            });
        };
        let value = form(value)?;
        out.push((number, key, value));
    }
    out.sort_by_key(|(number, ..)| *number);
    if let Some(twice) = out.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(ShapeError::Twice {
            segment: short(segment),
            key: twice[0].1.clone(),
        });
    }
    let valued = out.into_iter().filter(|(_, _, value)| *value != Value::Empty);
    Ok(valued.map(|(_, key, value)| (key, value)).collect())
}

/// Returns the beginning of a name, for an error.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(40).collect()
}
