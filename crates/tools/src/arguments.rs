//! Arguments of a call: their schema for the model and their decoding.

use bobbin_agent_api::tool::{Effect, ToolOutput, ToolRefusal, ToolSpec};
use bobbin_model::Json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Returns a spec from its parts; `properties` maps argument names to their schemas.
pub(super) fn spec(
    name: &'static str,
    effect: Effect,
    description: &str,
    required: &[&str],
    properties: &Value,
) -> ToolSpec {
    let schema = serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    // A `Value` always serializes; `null` would only mean "no schema".
    let input_schema = Json::of(&schema).unwrap_or_else(|_| Json::from_raw(RawValue::NULL.to_owned()));
    ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema,
        effect,
    }
}

/// Decodes a call's arguments.
///
/// # Errors
/// The arguments do not match the tool's schema; the text is for the model.
pub(super) fn decode<'a, T: Deserialize<'a>>(arguments: &'a Json) -> Result<T, ToolRefusal> {
    arguments
        .decode()
        .map_err(|error| ToolRefusal::Unusable(format!("the arguments are not usable: {error}")))
}

/// Returns the output of a successful call.
pub(super) fn done(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        success: true,
        ..ToolOutput::default()
    }
}

/// Returns the output of a failed call.
pub(super) fn failed(text: impl Into<String>) -> ToolOutput {
    ToolOutput {
        text: text.into(),
        ..ToolOutput::default()
    }
}
