//! YAML. A scalar is read as the text that is written, never as a number, a boolean or a date; only `null`, `~` and nothing
//! at all are empty. Aliases are refused, since they let a short text become a long one.

use granit_parser::{Event, Parser, ScalarStyle};

use super::{MAX_DEPTH, Reason, quote, too_deep};
use crate::value::Value;

pub(super) fn parse(text: &str) -> Result<Value, Reason> {
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    options.set_emit_comments(false);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, _) = next.map_err(|error| error.to_string())?;
        let done = match event {
            Event::Scalar(text, style, ..) => {
                let plain = style == ScalarStyle::Plain;
                match &*text {
                    "" | "~" | "null" if plain => Value::Empty,
                    text => Value::Text(text.to_owned()),
                }
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Vec::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::List(items),
                Some(Open::Map(members, _)) => Value::Map(members),
                None => continue,
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => return Err("aliases are not read here".to_owned()),
            _ => continue,
        };
        if open.len() > MAX_DEPTH {
            return Err(too_deep());
        }
        match open.last_mut() {
            Some(Open::List(items)) => items.push(done),
            Some(Open::Map(members, key)) => match (key.take(), done) {
                (Some(key), value) => members.push((key, value)),
                (None, Value::Text(text)) => *key = Some(text),
                (None, _) => return Err("a key is not a text".to_owned()),
            },
            None if root.is_some() => return Err("there is more than one document".to_owned()),
            None => root = Some(done),
        }
    }
    Ok(root.unwrap_or_default())
}

/// A list or a map that is being read, the map with the key that waits for its value.
enum Open {
    List(Vec<Value>),
    Map(Vec<(String, Value)>, Option<String>),
}

pub(super) fn write(value: &Value) -> String {
    let mut out = String::new();
    block(&mut out, value, 0);
    out
}

/// Writes a value in block style, after `- ` or at the start of a line.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Map(members) if !members.is_empty() => {
            for (at, (key, value)) in members.iter().enumerate() {
                if at > 0 {
                    pad(out, indent);
                }
                quote(out, key);
                out.push(':');
                match value {
                    Value::Map(inner) if !inner.is_empty() => {
                        out.push('\n');
                        pad(out, indent + 1);
                        block(out, value, indent + 1);
                    }
                    Value::List(items) if !items.is_empty() => {
                        out.push('\n');
                        pad(out, indent + 1);
                        block(out, value, indent + 1);
                    }
                    value => {
                        out.push(' ');
                        block(out, value, indent);
                    }
                }
            }
        }
        Value::List(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    pad(out, indent);
                }
                out.push_str("- ");
                block(out, item, indent + 1);
            }
        }
        Value::Map(_) => out.push_str("{}\n"),
        Value::List(_) => out.push_str("[]\n"),
        Value::Empty => out.push_str("null\n"),
        Value::Text(text) => {
            quote(out, text);
            out.push('\n');
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n("  ", indent));
}
