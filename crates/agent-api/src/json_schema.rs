//! A JSON Schema that a client or a user gives, and whether values are valid against it.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// Longest message, in bytes: it may quote the value.
const MAX_MESSAGE: usize = 300;

/// A JSON Schema. References to other documents are not followed.
pub struct JsonSchema(Validator);

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a JSON pointer; empty for the whole.
    pub place: String,
    /// What, of at most 300 bytes.
    pub message: String,
}

impl JsonSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Why it is none.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options()
            // Said once, so that a schema without `$schema` means the same for ever.
            .with_draft(Draft::Draft202012)
            // Without look-around, so that no value makes a pattern run for ever.
            .with_pattern_options(PatternOptions::regex())
            .build(schema);
        validator.map(Self).map_err(|error| shortened(error.to_string()))
    }

    /// Returns the first faults of a value; none when it is valid.
    pub fn faults(&self, value: &Value, most: usize) -> Vec<Fault> {
        let errors = self.0.iter_errors(value).take(most);
        let faults = errors.map(|error| Fault {
            place: error.instance_path().to_string(),
            message: shortened(error.to_string()),
        });
        faults.collect()
    }
}

fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_MESSAGE));
    text
}
