//! Examples as text: JSON that is wrapped only where it is long.

use std::collections::BTreeMap;

use serde_json::Value;

/// Characters of a line.
const WIDTH: usize = 110;
/// Elements of a list that are shown, and characters of a text.
const ELEMENTS: usize = 3;
const CHARACTERS: usize = 300;

/// Returns a whole message; its members come in the usual order.
pub(super) fn message(members: &[(&str, Value)]) -> String {
    let rest: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("\"{name}\": {}", text(value, 1)))
        .collect();
    let line = format!("{{ \"jsonrpc\": \"2.0\", {} }}", rest.join(", "));
    if line.chars().count() <= WIDTH && !line.contains('\n') {
        return line;
    }
    let (last, heads) = match rest.split_last() {
        Some((last, heads)) => (last.clone(), heads.join(", ")),
        None => return line,
    };
    let comma = if heads.is_empty() { "" } else { ", " };
    format!("{{ \"jsonrpc\": \"2.0\"{comma}{heads},\n  {last} }}")
}

/// Returns a value, of which the first line begins somewhere and the others are indented.
pub(super) fn text(value: &Value, depth: usize) -> String {
    let flat = flat(value);
    if flat.chars().count() + 2 * depth + 20 <= WIDTH {
        return flat;
    }
    let indent = "  ".repeat(depth + 1);
    let close = "  ".repeat(depth);
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            let lines: Vec<String> = members
                .into_iter()
                .map(|(name, value)| format!("{indent}\"{name}\": {}", text(value, depth + 1)))
                .collect();
            format!("{{\n{}\n{close}}}", lines.join(",\n"))
        }
        Value::Array(elements) => {
            let shown = elements
                .iter()
                .take(ELEMENTS)
                .map(|element| format!("{indent}{}", text(element, depth + 1)));
            let more = (elements.len() > ELEMENTS).then(|| format!("{indent}…"));
            let lines: Vec<String> = shown.chain(more).collect();
            format!("[\n{}\n{close}]", lines.join(",\n"))
        }
        _ => flat,
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            let parts: Vec<String> = members
                .into_iter()
                .map(|(name, value)| format!("\"{name}\": {}", flat(value)))
                .collect();
            format!("{{ {} }}", parts.join(", "))
        }
        Value::Array(elements) => {
            let parts: Vec<String> = elements.iter().map(flat).collect();
            format!("[{}]", parts.join(", "))
        }
        Value::String(text) if text.chars().count() > CHARACTERS => {
            let head: String = text.chars().take(CHARACTERS).chain(['…']).collect();
            Value::String(head).to_string()
        }
        other => other.to_string(),
    }
}
