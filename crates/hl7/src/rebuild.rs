//! A message from structured data, with every byte of the former message that the data does not change.
//!
//! The structured formats leave out what is empty and all escape sequences, so they do not hold the whole text.
//! Each place whose structured form is the same as before stays as it was; only the others are written anew.

use std::collections::{HashMap, VecDeque};

use crate::escape::{NoEscape, replace};
use crate::message::{Message, Segment};
use crate::place::NoSeparator;
use crate::separators::{Level, MAX_SEGMENTS, NotAMessage, Separators, parts};
use crate::structure::{Shape, ShapeError, StructuredSegment, entries, read, read_segment, short};
use crate::value::Value;

/// Why no message can be made of structured data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RebuildError {
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    NotAMessage(#[from] NotAMessage),
    #[error(transparent)]
    NoEscape(#[from] NoEscape),
    #[error(transparent)]
    NoSeparator(#[from] NoSeparator),
    #[error("the message would be too long")]
    TooLarge,
}

/// Returns the message that `data` says, at most `max_bytes` long.
///
/// # Errors
/// [`RebuildError`]: the data is no message, or cannot be written with the message's separators.
pub(crate) fn rebuild(data: Value, old: Option<&Message>, max_bytes: usize) -> Result<Message, RebuildError> {
    let (shape, mut entries) = entries(data)?;
    if entries.len() > MAX_SEGMENTS {
        return Err(NotAMessage::TooManySegments.into());
    }
    let header = entries
        .first_mut()
        .filter(|entry| entry.name == "MSH")
        .ok_or(NotAMessage::NoHeader)?;
    let in_use = old.map_or_else(Separators::default, |old| old.separators);
    let separators = declared(&mut header.fields, in_use)?;
    // Under other separators nothing of the former bytes means what it meant.
    let old = old.filter(|old| old.separators == separators);
    let plan = match (shape, old) {
        (_, None) => entries.into_iter().map(|entry| (entry, None)).collect(),
        (Shape::Segments, Some(old)) => in_data_order(entries, old),
        (Shape::Keyed, Some(old)) => in_message_order(entries, old),
    };

    let mut writer = Writer {
        out: String::new(),
        separators,
        budget: max_bytes,
    };
    let usual = old.map_or("\r", Message::line_break);
    let last = plan.len() - 1;
    let final_end = old.and_then(|old| old.segments.last()).map_or("", Segment::end);
    let mut segments = Vec::with_capacity(plan.len());
    for (at, (entry, former)) in plan.iter().enumerate() {
        let former = former.and_then(|position| old?.segments.get(position));
        writer.segment(entry, former)?;
        let end = match former.map_or("", Segment::end) {
            _ if at == last => final_end,
            "" => usual,
            end => end,
        };
        segments.push(Segment::new(&writer.out, end));
        writer.budget = writer
            .budget
            .checked_sub(writer.out.len() + end.len())
            .ok_or(RebuildError::TooLarge)?;
        writer.out.clear();
    }
    Ok(Message { separators, segments })
}

/// Returns the separators that a header names, and for those it does not name the ones that are in use, which are then
/// in the header too.
fn declared(header: &mut Value, in_use: Separators) -> Result<Separators, NotAMessage> {
    let Value::Map(fields) = header else {
        return Err(NotAMessage::Separators);
    };
    let defaults = [
        ("1", in_use.field.to_string()),
        ("2", in_use.encoding_characters()),
    ];
    for (at, (key, default)) in defaults.into_iter().enumerate() {
        if fields.get(at).is_none_or(|(k, _)| k != key) {
            fields.insert(at, (key.to_owned(), Value::Text(default)));
        }
    }
    match fields.as_slice() {
        [(_, Value::Text(field)), (_, Value::Text(encoding)), ..] => {
            let mut chars = field.chars();
            let field = chars
                .next()
                .filter(|_| chars.as_str().is_empty())
                .ok_or(NotAMessage::Separators)?;
            Separators::new(field, encoding)
        }
        _ => Err(NotAMessage::Separators),
    }
}

/// Each entry with the position of the segment that it was before, if it was one.
type Plan = Vec<(StructuredSegment, Option<usize>)>;

/// Takes the order of the data. Equal segments at both ends are the same; between them, the n-th of a name is.
fn in_data_order(entries: Vec<StructuredSegment>, old: &Message) -> Plan {
    let same = |entry: &StructuredSegment, segment: &Segment| {
        entry.name == segment.name(&old.separators) && entry.fields == read_segment(segment, &old.separators)
    };
    let pairs = entries.iter().zip(&old.segments);
    let front = pairs.take_while(|(entry, segment)| same(entry, segment)).count();
    let pairs = entries[front..]
        .iter()
        .rev()
        .zip(old.segments[front..].iter().rev());
    let back = pairs.take_while(|(entry, segment)| same(entry, segment)).count();

    let (count, old_count) = (entries.len(), old.segments.len());
    let mut free: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for position in front..old_count - back {
        let name = old.segments[position].name(&old.separators);
        free.entry(name).or_default().push_back(position);
    }
    let plan = entries.into_iter().enumerate().map(|(at, entry)| {
        let former = match at {
            _ if at < front => Some(at),
            _ if at >= count - back => Some(at + old_count - count),
            _ => free.get_mut(entry.name.as_str()).and_then(VecDeque::pop_front),
        };
        (entry, former)
    });
    plan.collect()
}

/// Takes the order of the message, since data by name has none between names. New segments go behind the last of
/// their name, and to the end if there is none.
fn in_message_order(entries: Vec<StructuredSegment>, old: &Message) -> Plan {
    let mut order = Vec::new();
    let mut by_name: HashMap<String, VecDeque<StructuredSegment>> = HashMap::new();
    for entry in entries {
        if !by_name.contains_key(&entry.name) {
            order.push(entry.name.clone());
        }
        by_name.entry(entry.name.clone()).or_default().push_back(entry);
    }
    let mut plan: Plan = Vec::new();
    let mut left: HashMap<&str, usize> = HashMap::new();
    for segment in &old.segments {
        *left.entry(segment.name(&old.separators)).or_default() += 1;
    }
    for (position, segment) in old.segments.iter().enumerate() {
        let name = segment.name(&old.separators);
        let Some(waiting) = by_name.get_mut(name) else {
            continue;
        };
        plan.extend(waiting.pop_front().map(|entry| (entry, Some(position))));
        let left = left.entry(name).or_default();
        *left -= 1;
        if *left == 0 {
            plan.extend(waiting.drain(..).map(|entry| (entry, None)));
        }
    }
    for name in order {
        let rest = by_name.remove(&name).unwrap_or_default();
        plan.extend(rest.into_iter().map(|entry| (entry, None)));
    }
    plan
}

/// Writes one segment at a time and stops where the message would become too long.
struct Writer {
    out: String,
    separators: Separators,
    budget: usize,
}

impl Writer {
    fn segment(&mut self, entry: &StructuredSegment, former: Option<&Segment>) -> Result<(), RebuildError> {
        let separators = self.separators;
        if let Some(former) = former
            && read_segment(former, &separators) == entry.fields
        {
            self.out.push_str(former.body());
            return self.check();
        }
        let name = &entry.name;
        if name.is_empty() || name.contains([separators.field, '\r', '\n']) {
            return Err(ShapeError::Name(short(name)).into());
        }
        self.out.push_str(name);
        let Value::Map(fields) = &entry.fields else {
            return Ok(());
        };
        let header = name == "MSH";
        let body = former.map_or("", Segment::body);
        let old: Vec<&str> = parts(body, Some(separators.field)).skip(1).collect();
        let highest = fields
            .last()
            .map_or(0, |(key, _)| number(key))
            .saturating_sub(usize::from(header));
        let mut fields = fields.iter().peekable();
        for at in 1..=highest.max(old.len()) {
            let field = at + usize::from(header);
            while fields.next_if(|(key, _)| number(key) < field).is_some() {}
            let value = fields
                .next_if(|(key, _)| number(key) == field)
                .map_or(&Value::Empty, |(_, value)| value);
            self.out.push(separators.field);
            if header && field == 2 {
                let before = former.map(|_| old.get(at - 1).copied().unwrap_or_default());
                self.encoding_characters(value, before)?;
            } else {
                self.place(old.get(at - 1).copied(), value, Level::Field)?;
            }
        }
        Ok(())
    }

    fn encoding_characters(&mut self, value: &Value, old: Option<&str>) -> Result<(), RebuildError> {
        let own = self.separators.encoding_characters();
        let text = value.as_text().or(old).unwrap_or(&own);
        if text.contains([self.separators.field, '\r', '\n']) {
            return Err(NotAMessage::Separators.into());
        }
        self.out.push_str(text);
        Ok(())
    }

    fn place(&mut self, old: Option<&str>, value: &Value, level: Level) -> Result<(), RebuildError> {
        let separators = self.separators;
        if let Some(old) = old
            && read(old, level, &separators) == *value
        {
            self.out.push_str(old);
            return self.check();
        }
        let parts_of_value: Vec<(usize, &Value)> = match value {
            Value::Empty => return Ok(()),
            Value::Text(text) if level == Level::Subcomponent => {
                replace(&mut self.out, old.unwrap_or_default(), text, &separators)?;
                return self.check();
            }
            Value::List(items) => (1..).zip(items).collect(),
            Value::Map(entries) if level > Level::Field => {
                entries.iter().map(|(key, v)| (number(key), v)).collect()
            }
            one => vec![(1, one)],
        };
        let separator = separators.within(level);
        let old: Vec<&str> = old.map_or_else(Vec::new, |old| parts(old, separator).collect());
        let last = parts_of_value.last().map_or(0, |(at, _)| *at);
        // Components that are gone leave their places empty; repetitions leave none.
        let count = if level == Level::Field {
            last
        } else {
            last.max(old.len())
        };
        let mut parts_of_value = parts_of_value.into_iter().peekable();
        for at in 1..=count {
            if at > 1 {
                self.out.push(separator.ok_or(NoSeparator(level.parts()))?);
            }
            let value = parts_of_value
                .next_if(|(number, _)| *number == at)
                .map_or(&Value::Empty, |(_, value)| value);
            self.place(old.get(at - 1).copied(), value, level.inner())?;
        }
        self.check()
    }

    fn check(&self) -> Result<(), RebuildError> {
        if self.out.len() > self.budget {
            Err(RebuildError::TooLarge)
        } else {
            Ok(())
        }
    }
}

/// Returns the number of a key, which the unique form has checked.
fn number(key: &str) -> usize {
    key.parse().unwrap_or_default()
}
