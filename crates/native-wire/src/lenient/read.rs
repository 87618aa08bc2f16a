//! Decoding into a type.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use super::DecodeError;
use super::value::Lenient;

/// Decodes the params of a request or notification; `None` and `null` count as `{}`.
///
/// # Errors
/// The params are no object, or a member that `T` knows is missing or has the wrong type.
pub fn params<'de, T: Deserialize<'de>>(raw: Option<&'de RawValue>) -> Result<T, DecodeError> {
    let given = raw.filter(|raw| raw.get() != "null");
    let decoded = match given {
        Some(raw) => lenient(raw),
        None => lenient(serde_json::from_str("{}").map_err(DecodeError::custom)?),
    };
    decoded.map_err(|error| error.or_at("params"))
}

/// Decodes the result of a request that this side sent.
///
/// # Errors
/// The result is no object, or a member that `T` knows is missing or has the wrong type.
pub fn result<'de, T: Deserialize<'de>>(raw: &'de RawValue) -> Result<T, DecodeError> {
    lenient(raw).map_err(|error| error.or_at("result"))
}

/// Decodes any JSON by the same rules.
///
/// # Errors
/// A member that `T` knows is missing or has the wrong type.
pub fn lenient<'de, T: Deserialize<'de>>(raw: &'de RawValue) -> Result<T, DecodeError> {
    T::deserialize(Lenient::new(raw))
}

/// Returns the member `type` of an object, if there is one: it distinguishes the shapes of a union.
///
/// # Errors
/// The JSON is no object, or the member is no text.
pub fn tag(raw: &RawValue) -> Result<Option<String>, DecodeError> {
    #[derive(Deserialize)]
    struct Tagged {
        #[serde(rename = "type")]
        tag: Option<String>,
    }

    lenient::<Tagged>(raw).map(|tagged| tagged.tag)
}
