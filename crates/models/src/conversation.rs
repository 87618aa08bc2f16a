//! The parts of a conversation that all wires write in the same way.

use std::borrow::Cow;

use bobbin_agent_api::model::{Call, Picture, Pictures};
use bobbin_model::InputPart;
use serde_json::Value;

/// A piece of a user's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    Text(Cow<'a, str>),
    Picture(&'a Picture),
}

/// Returns a user's message: texts, with pictures between them if there are any. Attached content is in a frame of
/// its own; a picture follows its name.
pub(crate) fn said<'a>(parts: &'a [InputPart], pictures: &'a Pictures) -> Vec<Said<'a>> {
    let mut said = Vec::new();
    let mut text = Cow::Borrowed("");
    for part in parts {
        match part {
            InputPart::Context {
                label,
                text: attached,
            } => {
                text += Cow::Owned(format!("\n<context label={label:?}>\n{attached}\n</context>\n"));
            }
            other => text += other.display(),
        }
        if let Some(picture) = pictures.of(part) {
            said.push(Said::Text(std::mem::take(&mut text)));
            said.push(Said::Picture(picture));
        }
    }
    if !text.is_empty() || said.is_empty() {
        said.push(Said::Text(text));
    }
    said
}

/// Returns a picture as a data URL.
pub(crate) fn data_url(picture: &Picture) -> String {
    format!("data:{};base64,{}", picture.media_type, picture.base64)
}

/// Returns a call's arguments as JSON text, always an object.
pub(crate) fn arguments(call: &Call) -> &str {
    call.arguments.as_ref().map_or("{}", |json| json.get())
}

/// Returns JSON text as a value; an empty object if the text is not JSON.
pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}

/// Returns a member's text; empty if there is none.
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
