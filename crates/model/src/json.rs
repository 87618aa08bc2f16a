//! JSON that passes through unparsed: tool arguments, schemas, opaque results.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// One JSON text, unchanged: member order and number spelling are preserved. Cheap to clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Wraps a parsed raw value.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }

    /// Wraps a shared raw value.
    pub fn from_shared(raw: Arc<RawValue>) -> Self {
        Self(raw)
    }

    /// Serializes a value.
    ///
    /// # Errors
    /// The value's own serialization failed (for example a map with non-text keys).
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from_raw)
    }

    /// Returns the shared text.
    pub fn into_shared(self) -> Arc<RawValue> {
        self.0
    }

    /// Returns a text as JSON if it is one whole object.
    pub fn object(text: &str) -> Option<Self> {
        let raw = RawValue::from_string(text.trim().to_owned()).ok()?;
        raw.get().starts_with('{').then(|| Self::from_raw(raw))
    }

    /// Returns the text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the raw value.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Decodes the text into a type.
    ///
    /// # Errors
    /// The text does not have the type's shape.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self::from_raw(raw)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Json {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}

impl Eq for Json {}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_number_spelling_member_order_and_big_integers() {
        let text = r#"{"z":1e2,"a":1.50,"n":123456789012345678901234567890,"B":{"b":[],"A":-0.0}}"#;
        let json: Json = serde_json::from_str(text).unwrap();
        assert_eq!(json.get(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
    }

    #[test]
    fn equality_is_equality_of_the_text() {
        let one = Json::of(&1).unwrap();
        assert_eq!(one, serde_json::from_str::<Json>(" 1 ").unwrap());
        assert_ne!(one, serde_json::from_str::<Json>("1.0").unwrap());
    }
}
