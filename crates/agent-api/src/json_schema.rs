//! A JSON Schema from a client or a user, and the check of values.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// Longest message, in bytes, since it may quote the value.
const MAX_MESSAGE: usize = 300;

/// A JSON Schema. References to other documents are not followed.
pub struct JsonSchema(Validator);

/// An error of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer to the part; empty for the whole value.
    pub place: String,
    /// The error, at most 300 bytes.
    pub message: String,
}

impl JsonSchema {
    /// Reads a schema.
    ///
    /// # Errors
    /// The schema is invalid; the text is the reason.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options()
            // A fixed draft, so that a schema without `$schema` never changes its meaning.
            .with_draft(Draft::Draft202012)
            // No look-around, so that no pattern takes exponential time.
            .with_pattern_options(PatternOptions::regex())
            .build(schema);
        validator.map(Self).map_err(|error| shortened(error.to_string()))
    }

    /// Returns the first errors of a value, at most `most`; none if it is valid.
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
