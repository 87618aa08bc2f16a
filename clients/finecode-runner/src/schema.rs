//! Payload schemas in the small form that managers read.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Returns `{"properties", "required", "description"}` of a payload.
pub(crate) fn of<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<P>().to_value();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties: Map<_, _> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), simple(property)))
        .collect();
    let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
    let mut small = json!({ "properties": properties, "required": required });
    if let Some(description) = schema.get("description") {
        small["description"] = description.clone();
    }
    small
}

/// Returns the type of a property as managers know it; `{}` for what they do not.
fn simple(property: &Value) -> Value {
    let kind = match property.get("type") {
        // An optional member: that it may be absent is said by `required`.
        Some(Value::Array(kinds)) => kinds.iter().find(|kind| *kind != "null"),
        kind => kind,
    };
    let mut small = match kind.and_then(Value::as_str) {
        Some("array") => json!({ "type": "array", "items": simple(&property["items"]) }),
        Some(kind @ ("boolean" | "integer" | "number")) => json!({ "type": kind }),
        Some("string") => {
            let mut text = json!({ "type": "string" });
            if let Some(values) = property.get("enum") {
                text["enum"] = values.clone();
            }
            if property.get("format").is_some_and(|format| format == "uri") {
                text["format"] = json!("uri");
            }
            text
        }
        _ => json!({}),
    };
    if let Some(description) = property.get("description") {
        small["description"] = description.clone();
    }
    small
}
