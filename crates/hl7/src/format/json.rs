//! JSON. A number is read as it is written, so the zero of `1.50` stays.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{MAX_DEPTH, Reason, too_deep};
use crate::value::Value;

pub(super) fn parse(text: &str) -> Result<Value, Reason> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    value(raw, MAX_DEPTH)
}

pub(super) fn write(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn value(raw: &RawValue, depth: usize) -> Result<Value, Reason> {
    let text = raw.get();
    let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
    match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = read(text)?;
            let members = members
                .into_iter()
                .map(|(key, raw)| Ok((key, value(raw, depth)?)));
            members.collect::<Result<_, Reason>>().map(Value::Map)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = read(text)?;
            items
                .into_iter()
                .map(|raw| value(raw, depth))
                .collect::<Result<_, _>>()
                .map(Value::List)
        }
        Some(b'"') => read(text).map(Value::Text),
        Some(b'n') => Ok(Value::Empty),
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Reason> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The members of an object in their order, values unread.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
