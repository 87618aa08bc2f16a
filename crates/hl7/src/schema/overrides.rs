//! Overrides of an extension: read with warnings instead of errors, since one bad entry must not cost the others.
//!
//! A property has three states: absent inherits, `null` removes what is inherited, a value replaces it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{DataType, FieldSchema, Properties};
use crate::path::SegmentName;

/// The most entries of one extension; beyond them a warning says so.
const MAX_ENTRIES: usize = 2_000;
/// The most bytes of a text of a property.
const MAX_TEXT: usize = 10_000;
/// The most bytes of a compiled pattern, and of what matching it takes.
const MAX_PATTERN: usize = 1 << 18;

/// The schema overrides of one extension.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    pub(super) segments: BTreeMap<String, Vec<Override>>,
}

/// An extension's properties of one field or component.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Override {
    field: u8,
    component: Option<u8>,
    name: OverrideEffect<String>,
    group: OverrideEffect<String>,
    note: OverrideEffect<String>,
    required: OverrideEffect<bool>,
    minlength: OverrideEffect<u32>,
    maxlength: OverrideEffect<u32>,
    pattern: OverrideEffect<String>,
    datatype: OverrideEffect<DataType>,
    placeholder: OverrideEffect<String>,
    values: OverrideEffect<BTreeMap<String, String>>,
    template: OverrideEffect<String>,
}

/// The effect of an override on a property.
#[derive(Debug, Clone, Default, PartialEq)]
enum OverrideEffect<T> {
    #[default]
    Inherit,
    Remove,
    Replace(T),
}

impl<T: Clone> OverrideEffect<T> {
    fn apply(&self, inherited: &mut Option<T>) {
        match self {
            Self::Inherit => {}
            Self::Remove => *inherited = None,
            Self::Replace(value) => *inherited = Some(value.clone()),
        }
    }
}

impl Override {
    fn apply(&self, to: &mut Properties) {
        self.name.apply(&mut to.name);
        self.group.apply(&mut to.group);
        self.note.apply(&mut to.note);
        self.required.apply(&mut to.required);
        self.minlength.apply(&mut to.minlength);
        self.maxlength.apply(&mut to.maxlength);
        self.pattern.apply(&mut to.pattern);
        self.datatype.apply(&mut to.datatype);
        self.placeholder.apply(&mut to.placeholder);
        self.values.apply(&mut to.values);
        self.template.apply(&mut to.template);
    }
}

/// Lays the overrides of one segment over its fields: exact matches first, then base entries for a whole field with an
/// unused override for a component of it; what is left over becomes new.
pub(super) fn merge(base: &mut Vec<FieldSchema>, overrides: &[Override]) {
    let mut used = vec![false; overrides.len()];
    let mut matched = vec![false; base.len()];
    for exact in [true, false] {
        for (entry, matched) in base
            .iter_mut()
            .zip(&mut matched)
            .filter(|(_, matched)| !**matched)
        {
            let fits = |o: &Override| {
                let flexible = entry.component.is_none() && o.component.is_some();
                o.field == entry.field
                    && if exact {
                        o.component == entry.component
                    } else {
                        flexible
                    }
            };
            let Some(at) = (0..overrides.len()).find(|at| !used[*at] && fits(&overrides[*at])) else {
                continue;
            };
            overrides[at].apply(&mut entry.properties);
            (used[at], *matched) = (true, true);
        }
    }
    for (new, _) in overrides.iter().zip(used).filter(|(_, used)| !used) {
        let mut entry = FieldSchema {
            field: new.field,
            component: new.component,
            ..FieldSchema::default()
        };
        new.apply(&mut entry.properties);
        base.push(entry);
    }
    base.sort_by_key(|entry| (entry.field, entry.component));
}

impl Overrides {
    /// Reads the `schema` of an extension. Entries and properties that cannot be used are left out with a warning.
    pub fn from_json(schema: &Value) -> (Self, Vec<String>) {
        let mut reader = Reader {
            warnings: Vec::new(),
            entries: 0,
        };
        let mut segments = BTreeMap::new();
        match schema.get("segments") {
            Some(Value::Object(all)) => {
                for (name, segment) in all {
                    if let Some((name, fields)) = reader.segment(name, segment) {
                        segments.insert(name, fields);
                    }
                }
            }
            None | Some(Value::Null) => {}
            Some(_) => reader.warn("segments is not an object"),
        }
        (Self { segments }, reader.warnings)
    }
}

/// Collects warnings while entries are read.
struct Reader {
    warnings: Vec<String>,
    entries: usize,
}

impl Reader {
    fn warn(&mut self, warning: &str) {
        // More warnings would not help.
        if self.warnings.len() < 100 {
            self.warnings.push(format!("schema: {warning}"));
        }
    }

    fn segment(&mut self, name: &str, segment: &Value) -> Option<(String, Vec<Override>)> {
        let Ok(name) = name.parse::<SegmentName>() else {
            self.warn("a segment's name is not three letters or digits");
            return None;
        };
        let Some(fields) = segment.get("fields").and_then(Value::as_array) else {
            self.warn(&format!("{name} has no list of fields"));
            return None;
        };
        let entries = fields
            .iter()
            .filter_map(|entry| self.entry(name.as_str(), entry))
            .collect();
        Some((name.to_string(), entries))
    }

    fn entry(&mut self, segment: &str, entry: &Value) -> Option<Override> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            if self.entries == MAX_ENTRIES + 1 {
                self.warn(&format!("only the first {MAX_ENTRIES} entries count"));
            }
            return None;
        }
        let number = |key: &str| {
            entry
                .get(key)
                .filter(|v| !v.is_null())
                .map(|v| u8::try_from(v.as_u64()?).ok())
        };
        let (field, component) = (number("field").flatten(), number("component"));
        let (Some(field @ 1..), None | Some(Some(1..))) = (field, component) else {
            self.warn(&format!(
                "an entry of {segment} has a field or component that is not 1 to 255"
            ));
            return None;
        };
        let place = component
            .flatten()
            .map_or(format!("{segment}.{field}"), |c| format!("{segment}.{field}.{c}"));
        let mut properties = EntryReader {
            members: entry,
            place: &place,
            reader: self,
        };
        Some(Override {
            field,
            component: component.flatten(),
            name: properties.text("name"),
            group: properties.text("group"),
            note: properties.text("note"),
            required: properties.read("required", "true or false", Value::as_bool),
            minlength: properties.read("minlength", "a length", length),
            maxlength: properties.read("maxlength", "a length", length),
            pattern: properties.read("pattern", "a regular expression", |v| {
                short(v).filter(|text| compile(text).is_ok())
            }),
            datatype: properties.read("datatype", "date or datetime", |v| match v.as_str()? {
                "date" => Some(DataType::Date),
                "datetime" => Some(DataType::DateTime),
                _ => None,
            }),
            placeholder: properties.text("placeholder"),
            values: properties.read("values", "an object of texts", |v| {
                let values = v.as_object()?.iter().take(MAX_ENTRIES);
                values
                    .map(|(code, text)| Some((code.clone(), short(text)?)))
                    .collect()
            }),
            template: properties.text("template"),
        })
    }
}

/// One entry whose properties are being read.
struct EntryReader<'a> {
    members: &'a Value,
    place: &'a str,
    reader: &'a mut Reader,
}

impl EntryReader<'_> {
    fn text(&mut self, key: &str) -> OverrideEffect<String> {
        self.read(key, "a text", short)
    }

    fn read<T>(&mut self, key: &str, what: &str, read: impl Fn(&Value) -> Option<T>) -> OverrideEffect<T> {
        match self.members.get(key) {
            None => OverrideEffect::Inherit,
            Some(Value::Null) => OverrideEffect::Remove,
            Some(value) => read(value).map_or_else(
                || {
                    self.reader
                        .warn(&format!("{key} of {} is not {what}", self.place));
                    OverrideEffect::Inherit
                },
                OverrideEffect::Replace,
            ),
        }
    }
}

fn short(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|text| text.len() <= MAX_TEXT)
        .map(str::to_owned)
}

fn length(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

/// Returns a pattern that matches whole values only, as an editor's input field has it.
pub(super) fn compile(pattern: &str) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN)
        .build()
}
