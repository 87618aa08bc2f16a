//! The parts of a conversation that all wires write alike.

use bobbin_engine::Call;
use bobbin_model::InputPart;
use serde_json::Value;

/// Returns what a user said as one text; what was attached stands in a frame of its own.
pub(crate) fn user_text(parts: &[InputPart]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            InputPart::Context {
                label,
                text: attached,
            } => {
                text.extend([
                    "\n<context label=",
                    &format!("{label:?}"),
                    ">\n",
                    attached,
                    "\n</context>\n",
                ]);
            }
            other => text.push_str(&other.display()),
        }
    }
    text
}

/// Returns a call's arguments as JSON text, always an object.
pub(crate) fn arguments(call: &Call) -> &str {
    call.arguments.as_ref().map_or("{}", |json| json.get())
}

/// Returns JSON text as a value; what is no JSON is an empty object.
pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}

/// Returns a member's text, or nothing.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns an event's data as a value, always an object.
pub(crate) fn event(data: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(data).map_err(|error| format!("an event is no JSON: {error}"))?;
    if value.is_object() {
        Ok(value)
    } else {
        Err("an event is no object".to_owned())
    }
}
