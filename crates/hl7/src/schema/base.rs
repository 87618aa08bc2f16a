//! The fields of common segments, after HL7 v2.5.1: names, what is required, dates, and the codes of small tables
//! that the standard closes.

use std::collections::BTreeMap;

use super::{DataType, FieldSchema, Properties, Schema};

/// A line is a segment's name, or `number[.component][!] [@date|@datetime] name [{code=meaning;…}]`.
const FIELDS: &str = include_str!("base.txt");

pub(super) fn read() -> Schema {
    let mut segments: BTreeMap<String, Vec<FieldSchema>> = BTreeMap::new();
    let mut fields = None;
    for line in FIELDS.lines() {
        match (line.split_once(' '), &mut fields) {
            (None, _) => fields = Some(segments.entry(line.to_owned()).or_default()),
            (Some((number, rest)), Some(fields)) => fields.extend(field(number, rest)),
            (Some(_), None) => {}
        }
    }
    Schema { segments }
}

fn field(number: &str, rest: &str) -> Option<FieldSchema> {
    let required = number.ends_with('!').then_some(true);
    let number = number.trim_end_matches('!');
    let (field, component) = number
        .split_once('.')
        .map_or((number, None), |(f, c)| (f, Some(c)));
    let (datatype, rest) = match rest.strip_prefix('@').and_then(|rest| rest.split_once(' ')) {
        Some(("date", rest)) => (Some(DataType::Date), rest),
        Some((_, rest)) => (Some(DataType::DateTime), rest),
        None => (None, rest),
    };
    let (name, values) = rest
        .split_once(" {")
        .map_or((rest, None), |(name, values)| (name, Some(values)));
    let values = values.map(|values| {
        let pairs = values
            .trim_end_matches('}')
            .split(';')
            .filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(code, meaning)| (code.to_owned(), meaning.to_owned()))
            .collect()
    });
    let properties = Properties {
        name: Some(name.to_owned()),
        required,
        datatype,
        values,
        ..Properties::default()
    };
    Some(FieldSchema {
        field: field.parse().ok()?,
        component: component.and_then(|c| c.parse().ok()),
        properties,
    })
}
