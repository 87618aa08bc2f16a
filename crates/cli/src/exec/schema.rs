//! `--output-schema`: the answer must be JSON of a form that the user gives.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use bobbin_agent_api::json_schema::{Fault, JsonSchema};
use serde_json::Value;

/// Largest schema.
const MAX_SCHEMA_BYTES: u64 = 256 << 10;

/// The form of the answer.
pub(super) struct OutputSchema {
    text: String,
    schema: JsonSchema,
}

impl OutputSchema {
    /// Reads a schema from a file. References to other documents are not followed.
    ///
    /// # Errors
    /// The file cannot be read, or is no JSON Schema.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let size = std::fs::metadata(path)
            .with_context(|| format!("the schema {shown} cannot be read"))?
            .len();
        if size > MAX_SCHEMA_BYTES {
            bail!("the schema {shown} has {size} bytes, and {MAX_SCHEMA_BYTES} are possible");
        }
        let text =
            std::fs::read_to_string(path).with_context(|| format!("the schema {shown} cannot be read"))?;
        let schema: Value = serde_json::from_str(&text).with_context(|| format!("{shown} is no JSON"))?;
        let schema = JsonSchema::new(&schema)
            .map_err(|why| anyhow!("{shown} is no JSON Schema that can be used: {why}"))?;
        Ok(Self { text, schema })
    }

    /// Returns what the model is asked for, behind the prompt.
    pub(super) fn request(&self) -> String {
        format!(
            "Your last message must be one JSON document and nothing else: no sentence around it, no code fence. It must be \
             valid against this JSON Schema:\n\n{}",
            self.text.trim()
        )
    }

    /// Returns what the model is asked when its answer was not valid.
    pub(super) fn repeat(fault: &str) -> String {
        format!(
            "That answer cannot be used: {fault}. Send the whole JSON document again, corrected, and nothing else."
        )
    }

    /// Returns the JSON document of an answer, without the code fence that models often put around it.
    ///
    /// # Errors
    /// The answer does not match; the text is for the model and for the user.
    pub(super) fn check(&self, answer: &str) -> Result<String, String> {
        let text = without_fence(answer.trim());
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        match self.schema.faults(&value, 1).pop() {
            None => Ok(text.to_owned()),
            Some(Fault { place, message }) => {
                let place = if place.is_empty() { "/" } else { &place };
                Err(format!("at {place}: {message}"))
            }
        }
    }
}

fn without_fence(text: &str) -> &str {
    let fenced = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'));
    fenced.map_or(text, |(_, inner)| inner.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_checked_with_or_without_a_fence() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("cup.json");
        std::fs::write(
            &path,
            r#"{"type":"object","required":["cups"],"properties":{"cups":{"type":"integer"}}}"#,
        )
        .unwrap();
        let schema = OutputSchema::read(&path).unwrap();
        assert_eq!(schema.check(" {\"cups\": 2}\n").unwrap(), "{\"cups\": 2}");
        assert_eq!(
            schema.check("```json\n{\"cups\": 2}\n```").unwrap(),
            "{\"cups\": 2}"
        );
        assert!(schema.check("two").unwrap_err().starts_with("it is no JSON"));
        assert!(
            schema
                .check(r#"{"cups":"two"}"#)
                .unwrap_err()
                .starts_with("at /cups: ")
        );
        std::fs::write(&path, r#"{"type":"cup"}"#).unwrap();
        assert!(OutputSchema::read(&path).is_err());
    }
}
