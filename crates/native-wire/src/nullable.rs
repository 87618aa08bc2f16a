//! JSON that may be an explicit `null`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// A member that is sent as an explicit `null` when there is no value.
///
/// `Option<Nullable<T>>` distinguishes a member that is absent (`None`) from one that is present without a value
/// (`Some(Nullable(None))`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nullable<T>(pub Option<T>);

impl<T> Nullable<T> {
    /// Decodes a present member. With `#[serde(default)]` an absent one stays `None`.
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

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "Nullable::present"
        )]
        plan: Option<Nullable<u8>>,
    }

    #[test]
    fn a_null_differs_from_a_member_that_is_not_part_of_the_message() {
        for (text, plan) in [
            ("{}", None),
            (r#"{"plan":null}"#, Some(Nullable(None))),
            (r#"{"plan":7}"#, Some(Nullable(Some(7)))),
        ] {
            let read: Message = serde_json::from_str(text).unwrap();
            assert_eq!(read, Message { plan });
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
    }
}
