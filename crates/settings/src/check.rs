//! Checks a file, or one section of it, against the schema of its type: names, words, types and ranges.
//!
//! Returns the file with its names and words spelled as in the schema. A complaint names the member by its path. It
//! repeats no text of the file but names and words of a short list, since anything else may be a secret. The depth is
//! that of the schema, and a kind has at most [`MAX_COMPLAINTS`] complaints.

use std::fmt::Display;

use anyhow::bail;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// Most complaints of one kind that are shown for a file.
const MAX_COMPLAINTS: usize = 20;
/// Longest part of a name or word that is shown, in characters.
const MAX_SHOWN: usize = 60;
/// Most names that are listed if none is similar.
const MAX_LISTED: usize = 8;

/// A valid file.
#[derive(Debug)]
pub struct Checked<T> {
    /// Its settings.
    pub file: T,
    /// Its content, spelled as in the schema.
    pub value: Value,
    /// Sentences about members that are not used.
    pub warnings: Vec<String>,
}

/// Returns the JSON Schema of settings, without references.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_deserialize()
        .with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Checks the content of a file.
///
/// # Errors
/// A value is invalid, or a member of a section that restrains something is unknown.
pub fn check<T: DeserializeOwned>(schema: &Value, value: Value) -> anyhow::Result<Checked<T>> {
    check_at(schema, value, &Place::default())
}

/// Checks the section `name` alone. The content that it returns is that of a file with this section.
///
/// # Errors
/// As [`check()`].
pub fn section<T: JsonSchema + DeserializeOwned>(name: &str, value: Value) -> anyhow::Result<Checked<T>> {
    let schema = schema::<T>();
    let mut checked = check_at(&schema, value, &Place::default().member(name, &schema))?;
    checked.value = serde_json::json!({ name: checked.value });
    Ok(checked)
}

fn check_at<T: DeserializeOwned>(schema: &Value, value: Value, place: &Place) -> anyhow::Result<Checked<T>> {
    let mut check = Check::default();
    let value = check.value(schema, value, place);
    let value = value.unwrap_or_else(|| Value::Object(Map::new()));
    if !check.errors.is_empty() {
        check.errors.append(&mut check.warnings);
        bail!("{}", bounded(check.errors).join("; "));
    }
    let Ok(file) = serde_json::from_value(value.clone()) else {
        bail!("its members do not fit together");
    };
    let warnings = bounded(check.warnings);
    Ok(Checked {
        file,
        value,
        warnings,
    })
}

/// The place of a value in the file.
#[derive(Default)]
struct Place {
    path: String,
    /// Whether the section restrains something.
    restrains: bool,
}

impl Place {
    fn member(&self, name: &str, schema: &Value) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        Self {
            path: format!("{}{dot}{}", self.path, shortened(name)),
            restrains: self.restrains || is_set(schema, "x-restrains"),
        }
    }
}

#[derive(Default)]
struct Check {
    errors: Vec<String>,
    warnings: Vec<String>,
    /// Whether a number or a flag is accepted for a text, since other programs write such entries.
    is_lenient: bool,
}

impl Check {
    /// Returns the value as the schema spells it; `None` if it is null, blank or wrong.
    fn value(&mut self, schema: &Value, value: Value, place: &Place) -> Option<Value> {
        let schema = without_null(schema);
        match (kind(schema), value) {
            ("any", value) | ("boolean", value @ Value::Bool(_)) => Some(value),
            (_, Value::Null) => None,
            ("object", Value::Array(entries)) if is_set(schema, "x-lenient") => {
                let named = self.named(entries, place);
                self.entries(schema, named, place)
            }
            ("object", Value::Object(members)) if schema.get("properties").is_none() => {
                self.entries(schema, members, place)
            }
            ("object", Value::Object(members)) => self.members(schema, members, place),
            ("array", Value::Array(items)) => self.items(schema, items, place),
            ("string", Value::String(text)) => self.text(schema, text, place),
            ("string", value @ (Value::Number(_) | Value::Bool(_))) if self.is_lenient => {
                self.text(schema, value.to_string(), place)
            }
            ("integer" | "number", Value::Number(number)) => self.number(schema, number, place),
            ("integer" | "number", Value::String(text)) => match text.trim().parse() {
                Ok(number) => self.number(schema, number, place),
                Err(_) => self.wrong(place, "is not a number"),
            },
            ("object", _) => self.wrong(place, "is not an object"),
            ("array", _) => self.wrong(place, "is not a list"),
            ("string", _) => self.wrong(place, "is not a text"),
            ("boolean", _) => self.wrong(place, "is neither true nor false"),
            _ => self.wrong(place, "is not a number"),
        }
    }

    /// Reads a section. Of two spellings of one name the later counts; objects are merged.
    fn members(&mut self, schema: &Value, members: Map<String, Value>, place: &Place) -> Option<Value> {
        let known = schema["properties"].as_object()?;
        let (mut found, before) = (Map::new(), self.errors.len());
        for (name, value) in members {
            let Some(title) = spelling(schema, known.keys(), &name) else {
                let mut unread = strings(schema.get("x-unread"));
                if !unread.any(|unread| unread.eq_ignore_ascii_case(&name)) {
                    self.unknown(known, &name, place);
                }
                continue;
            };
            let schema = &known[title];
            if let Some(value) = self.value(schema, value, &place.member(title, schema)) {
                join(found.entry(title).or_insert(Value::Null), value);
            }
        }
        let mut required = strings(schema.get("required"));
        match required.find(|required| !found.contains_key(*required)) {
            // A member that is present and wrong is not missing.
            Some(missing) if self.errors.len() == before => {
                self.wrong(&place.member(missing, schema), "is missing")
            }
            _ => Some(Value::Object(found)),
        }
    }

    /// Reads an object with names that the file chooses.
    fn entries(&mut self, schema: &Value, entries: Map<String, Value>, place: &Place) -> Option<Value> {
        self.count(schema.get("maxProperties"), entries.len(), place)?;
        let inner = schema.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let mut found = Map::new();
        for (name, value) in entries {
            let place = place.member(&name, inner);
            if is_set(schema, "x-lenient") {
                let mut check = Self {
                    is_lenient: true,
                    ..Self::default()
                };
                let value = check.value(inner, value, &place);
                self.warnings.append(&mut check.warnings);
                if check.errors.is_empty() {
                    found.extend(value.map(|value| (name, value)));
                } else {
                    let why = check.errors.join("; ");
                    self.warnings.push(format!("{} is not used: {why}", place.path));
                }
            } else if let Some(value) = self.value(inner, value, &place) {
                found.insert(name, value);
            }
        }
        Some(Value::Object(found))
    }

    /// Returns the entries of a list by their names.
    fn named(&mut self, entries: Vec<Value>, place: &Place) -> Map<String, Value> {
        let mut named = Map::new();
        for (index, entry) in entries.into_iter().enumerate() {
            let members = entry.as_object().into_iter().flatten();
            let name = members
                .filter(|(member, _)| member.eq_ignore_ascii_case("name"))
                .find_map(|(_, name)| name.as_str());
            match name.map(ToOwned::to_owned) {
                Some(name) => drop(named.insert(name, entry)),
                None => self
                    .warnings
                    .push(format!("{}[{index}] is not used: it has no Name", place.path)),
            }
        }
        named
    }

    fn items(&mut self, schema: &Value, items: Vec<Value>, place: &Place) -> Option<Value> {
        self.count(schema.get("maxItems"), items.len(), place)?;
        let inner = schema.get("items").unwrap_or(&Value::Bool(true));
        let items = items.into_iter().enumerate().filter_map(|(index, item)| {
            let path = format!("{}[{index}]", place.path);
            let place = Place { path, ..*place };
            self.value(inner, item, &place)
        });
        Some(Value::Array(items.collect()))
    }

    /// Returns `None` if there are too many entries.
    fn count(&mut self, most: Option<&Value>, count: usize, place: &Place) -> Option<()> {
        match most.and_then(Value::as_u64) {
            Some(most) if count as u64 > most => {
                self.wrong(place, format_args!("has more than {most} entries"))
            }
            _ => Some(()),
        }
    }

    fn text(&mut self, schema: &Value, text: String, place: &Place) -> Option<Value> {
        let words = words(schema);
        if words.is_empty() {
            if text.is_empty() && schema.get("minLength").is_some() {
                return self.wrong(place, "is empty");
            }
            return Some(Value::String(text));
        }
        if text.trim().is_empty() {
            return None;
        }
        if let Some(word) = spelling(schema, words.iter(), text.trim()) {
            return Some(word.into());
        }
        let (text, words) = (shortened(&text), words.join(", "));
        self.wrong(place, format_args!("is {text:?}; it can be {words}"))
    }

    fn number(&mut self, schema: &Value, number: Number, place: &Place) -> Option<Value> {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let value = number.as_f64()?;
        if kind(schema) == "integer" && number.as_u64().is_none()
            || bound("minimum").is_some_and(|least| value < least)
            || bound("maximum").is_some_and(|most| value > most)
        {
            let (kind, range) = (kind(schema), range(schema));
            return self.wrong(place, format_args!("is {number}; it can be any {kind} {range}"));
        }
        Some(Value::Number(number))
    }

    fn wrong<T>(&mut self, place: &Place, what: impl Display) -> Option<T> {
        let path = if place.path.is_empty() { "it" } else { &place.path };
        self.errors.push(format!("{path} {what}"));
        None
    }

    /// Reports an unknown name, as an error if it would restrain something.
    fn unknown(&mut self, known: &Map<String, Value>, name: &str, place: &Place) {
        let near = nearest(known.keys().map(String::as_str), name);
        let hint = match near {
            Some(title) => format!("; did you mean {title}?"),
            None if known.len() <= MAX_LISTED => {
                let titles: Vec<_> = known.keys().map(String::as_str).collect();
                format!("; there are {}", titles.join(", "))
            }
            None => String::new(),
        };
        let complaint = format!("{} is not a setting{hint}", place.member(name, &Value::Null).path);
        let meant = near.is_some_and(|title| is_set(&known[title], "x-restrains"));
        if place.restrains || meant {
            self.errors.push(complaint);
        } else {
            self.warnings.push(complaint);
        }
    }
}

/// Returns the known name that is most similar to `name`, if one is similar.
pub fn nearest<'a>(known: impl IntoIterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    // A long name resembles none and would take long to compare.
    if name.len() > MAX_SHOWN {
        return None;
    }
    let lower = name.to_lowercase();
    let near = |title: &'a str| {
        let distance = strsim::damerau_levenshtein(&title.to_lowercase(), &lower);
        (distance <= (title.len() / 3).max(1)).then_some((distance, title))
    };
    known.into_iter().filter_map(near).min().map(|(_, title)| title)
}

/// Returns how the schema spells a name or word.
fn spelling<'a>(
    schema: &'a Value,
    mut known: impl Iterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
    name: &str,
) -> Option<&'a str> {
    let found = known.find(|known| known.as_ref().eq_ignore_ascii_case(name));
    found.map(AsRef::as_ref).or_else(|| {
        let mut also = schema.get("x-also")?.as_object()?.iter();
        also.find(|(other, _)| other.eq_ignore_ascii_case(name))?
            .1
            .as_str()
    })
}

fn join(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                join(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Returns the schema of a value without the alternative `null`.
pub fn without_null(schema: &Value) -> &Value {
    schema.get("anyOf").and_then(|any| any.get(0)).unwrap_or(schema)
}

/// Returns the type of a value: as in JSON Schema, or `any`.
pub fn kind(schema: &Value) -> &str {
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.first(),
        kind => kind,
    };
    match kind.and_then(Value::as_str) {
        Some(kind) => kind,
        None if schema.get("oneOf").is_some() => "string",
        None => "any",
    }
}

/// Returns the allowed words of a text; empty if any text is allowed.
pub fn words(schema: &Value) -> Vec<&str> {
    let listed = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let listed = listed.filter_map(|word| word["const"].as_str());
    listed.chain(strings(schema.get("enum"))).collect()
}

/// Describes the range of a number.
pub fn range(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (least, Some(most)) => format!("from {} to {most}", least.unwrap_or(&Value::from(0))),
        (Some(least), None) => format!("from {least} on"),
        (None, None) => "any number".to_owned(),
    }
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn is_set(schema: &Value, word: &str) -> bool {
    schema.get(word) == Some(&Value::Bool(true))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn bounded(mut complaints: Vec<String>) -> Vec<String> {
    if complaints.len() > MAX_COMPLAINTS {
        let more = complaints.len() - MAX_COMPLAINTS;
        complaints.truncate(MAX_COMPLAINTS);
        complaints.push(format!("{more} more"));
    }
    complaints
}
