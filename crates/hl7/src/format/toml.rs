//! TOML. A list of maps is an array of tables, a list of texts an array; a list with both has inline values. TOML has
//! no null, so an empty repetition is an empty text.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{MAX_DEPTH, Reason, quote, too_deep};
use crate::value::Value;

pub(super) fn parse(text: &str) -> Result<Value, Reason> {
    // The error's own text shows the line, which may be of a patient.
    let reason = |error: toml::de::Error| {
        let before = error
            .span()
            .and_then(|span| text.get(..span.start))
            .unwrap_or_default();
        format!("{} at line {}", error.message(), before.matches('\n').count() + 1)
    };
    let table = DeTable::parse(text).map_err(reason)?.into_inner();
    from_table(table, text, MAX_DEPTH)
}

fn from_table(table: DeTable<'_>, text: &str, depth: usize) -> Result<Value, Reason> {
    let members = table.into_iter();
    let members =
        members.map(|(key, value)| Ok((key.into_inner().into_owned(), from_value(value, text, depth)?)));
    members.collect::<Result<_, Reason>>().map(Value::Map)
}

fn from_value(value: Spanned<DeValue<'_>>, text: &str, depth: usize) -> Result<Value, Reason> {
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    let span = value.span();
    match value.into_inner() {
        DeValue::String(text) => Ok(Value::Text(text.into_owned())),
        DeValue::Array(items) => items
            .into_iter()
            .map(|item| from_value(item, text, depth))
            .collect::<Result<_, _>>()
            .map(Value::List),
        DeValue::Table(table) => from_table(table, text, depth),
        // Numbers, booleans and dates as they are written.
        _ => Ok(Value::from(text.get(span).unwrap_or_default())),
    }
}

pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    if let Value::Map(members) = value {
        table(&mut out, members, "");
    }
    out
}

/// Writes the members of a table: what fits on a line first, then the tables.
fn table(out: &mut String, members: &[(String, Value)], prefix: &str) {
    let is_table = |value: &Value| match value {
        Value::Map(_) => true,
        Value::List(items) => !items.is_empty() && items.iter().all(|item| matches!(item, Value::Map(_))),
        _ => false,
    };
    for (name, value) in members.iter().filter(|(_, value)| !is_table(value)) {
        key(out, name);
        out.push_str(" = ");
        inline(out, value);
        out.push('\n');
    }
    for (name, value) in members.iter().filter(|(_, value)| is_table(value)) {
        let mut path = prefix.to_owned();
        if !path.is_empty() {
            path.push('.');
        }
        key(&mut path, name);
        let (tables, brackets) = match value {
            Value::List(items) => (items.as_slice(), ("[[", "]]")),
            one => (std::slice::from_ref(one), ("[", "]")),
        };
        for inner in tables {
            if !out.is_empty() {
                out.push('\n');
            }
            out.extend([brackets.0, &path, brackets.1, "\n"]);
            if let Value::Map(members) = inner {
                table(out, members, &path);
            }
        }
    }
}

fn inline(out: &mut String, value: &Value) {
    match value {
        Value::Empty => quote(out, ""),
        Value::Text(text) => quote(out, text),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                inline(out, item);
            }
            out.push(']');
        }
        Value::Map(members) => {
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { " " });
                key(out, name);
                out.push_str(" = ");
                inline(out, value);
            }
            out.push_str(if members.is_empty() { "}" } else { " }" });
        }
    }
}

/// Writes a key, bare where TOML lets it be.
fn key(out: &mut String, name: &str) {
    if !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    {
        out.push_str(name);
    } else {
        quote(out, name);
    }
}
