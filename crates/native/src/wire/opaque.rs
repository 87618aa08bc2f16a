//! JSON that is passed through without being looked into, and JSON that may be an explicit `null`.
//!
//! Tool arguments, tool schemas and structured results belong to others: member order, the spelling of
//! numbers and unknown members must come out as they went in (AppServer protocol 01 §1.1). Do not put
//! these types behind `#[serde(flatten)]` or an untagged or internally tagged enum when decoding: serde
//! buffers there and the text is lost.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// One JSON text, kept exactly as it came. Cheap to clone; equal when the texts are equal.
#[derive(Debug, Clone)]
pub struct Opaque(Arc<RawValue>);

impl Opaque {
    /// Wraps a raw value that is shared already.
    pub fn from_shared(raw: Arc<RawValue>) -> Self {
        Self(raw)
    }

    /// Serializes a value.
    ///
    /// # Errors
    /// The value's own serialization failed (for example a map with keys that are not text).
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// Returns the text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the raw value.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// Returns the shared raw value.
    pub fn into_shared(self) -> Arc<RawValue> {
        self.0
    }

    /// Decodes the text into a type, strictly.
    ///
    /// # Errors
    /// The text does not have the type's shape.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }
}

impl From<Box<RawValue>> for Opaque {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Opaque {}

impl Serialize for Opaque {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Opaque {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl JsonSchema for Opaque {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Opaque".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

/// A member that is sent as an explicit `null` when there is no value.
///
/// `Option<Nullable<T>>` tells "not part of this message" (`None`) from "part of it, and there is none"
/// (`Some(Nullable(None))`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nullable<T>(pub Option<T>);

impl<T> Nullable<T> {
    /// Decodes a member that is there; with `#[serde(default)]` an absent one stays `None`.
    ///
    /// # Errors
    /// The member is neither `null` nor a `T`.
    pub(crate) fn present<'de, D>(deserializer: D) -> Result<Option<Self>, D::Error>
    where
        D: Deserializer<'de>,
        T: Deserialize<'de>,
    {
        Option::<T>::deserialize(deserializer).map(|value| Some(Self(value)))
    }
}

impl<T: JsonSchema> JsonSchema for Nullable<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Nullable{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [generator.subschema_for::<T>(), { "type": "null" }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_number_spelling_member_order_and_big_integers() {
        let text = r#"{"z":1e2,"a":1.50,"n":123456789012345678901234567890,"B":{"b":[],"A":-0.0}}"#;
        let opaque: Opaque = serde_json::from_str(text).unwrap();
        assert_eq!(opaque.get(), text);
        assert_eq!(serde_json::to_string(&opaque).unwrap(), text);
    }

    #[test]
    fn equality_is_equality_of_the_text() {
        let one = Opaque::of(&1).unwrap();
        assert_eq!(one, serde_json::from_str::<Opaque>(" 1 ").unwrap());
        assert_ne!(one, serde_json::from_str::<Opaque>("1.0").unwrap());
    }
}
