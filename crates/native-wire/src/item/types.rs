//! The Item: one unit in a Turn.
//!
//! AppServer protocol 03 §1.2. The member `type` gives the payload's shape, and `payloadKind` repeats it. Here the
//! payload alone gives both, so the three cannot disagree.

use std::borrow::Cow;

use bobbin_model::{ItemStatus, Json};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

use crate::Timestamp;
use crate::item::payload::ItemPayload;

/// One unit in a Turn. Ids are unique inside one Turn only.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// `item_` and its number in the Turn.
    pub id: String,
    /// The Turn.
    pub turn_id: String,
    /// How far it is.
    pub status: ItemStatus,
    /// When it started.
    pub created_at: Timestamp,
    /// When it was completed.
    pub completed_at: Option<Timestamp>,
    /// What it is; written as `type`, `payloadKind` and `payload`.
    pub payload: ItemPayload,
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = match &self.payload {
            ItemPayload::Error(error) => Some(&error.message),
            _ => None,
        };
        let members = 7 + usize::from(self.completed_at.is_some()) + usize::from(message.is_some());
        let mut item = serializer.serialize_struct("Item", members)?;
        item.serialize_field("id", &self.id)?;
        item.serialize_field("turnId", &self.turn_id)?;
        item.serialize_field("type", self.payload.kind())?;
        item.serialize_field("payloadKind", self.payload.kind())?;
        item.serialize_field("status", &self.status)?;
        item.serialize_field("createdAt", &self.created_at)?;
        match &self.completed_at {
            Some(completed_at) => item.serialize_field("completedAt", completed_at)?,
            None => item.skip_field("completedAt")?,
        }
        match message {
            Some(message) => item.serialize_field("message", message)?,
            None => item.skip_field("message")?,
        }
        item.serialize_field("payload", &self.payload)?;
        item.end()
    }
}

/// One unit in a Turn.
///
/// `type` names the Item's type and the shape of `payload`; `payloadKind` has the same value. A client must tolerate
/// types that it does not know.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ItemFrame {
    /// `item_` and its number in the Turn; unique inside the Turn only.
    id: String,
    /// The Turn.
    turn_id: String,
    /// Its type.
    #[serde(rename = "type")]
    kind: String,
    /// Same as `type`.
    #[schemars(required)]
    #[expect(
        dead_code,
        reason = "described in the schema; reading it could only contradict `type`"
    )]
    payload_kind: Option<String>,
    /// How far it is.
    status: ItemStatus,
    /// When it started.
    created_at: Timestamp,
    /// When it was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    /// Its content.
    payload: Json,
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let frame = ItemFrame::deserialize(deserializer)?;
        let payload = ItemPayload::decode(&frame.kind, frame.payload)
            .map_err(|error| de::Error::custom(format_args!("payload of type '{}': {error}", frame.kind)))?;
        Ok(Self {
            id: frame.id,
            turn_id: frame.turn_id,
            status: frame.status,
            created_at: frame.created_at,
            completed_at: frame.completed_at,
            payload,
        })
    }
}

impl JsonSchema for Item {
    fn schema_name() -> Cow<'static, str> {
        "Item".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let frame = ItemFrame::json_schema(generator);
        // Each type is a whole object: generators of code lose members that stand beside `oneOf`.
        let shape = |description: String, tag: Value, payload: Option<Schema>, is_error: bool| {
            let mut shape = frame.clone();
            shape.insert("description".to_owned(), description.into());
            if let Some(properties) = shape.get_mut("properties").and_then(Value::as_object_mut) {
                properties.insert("type".to_owned(), tag.clone());
                properties.insert("payloadKind".to_owned(), tag);
                if is_error {
                    let description =
                        "Extension: the payload's `message`, for clients that look for it here.";
                    let message = json!({ "description": description, "type": "string" });
                    properties.insert("message".to_owned(), message);
                }
                if let Some(mut payload) = payload {
                    let description = properties["payload"]["description"].take();
                    payload.insert("description".to_owned(), description);
                    properties.insert("payload".to_owned(), payload.to_value());
                }
            }
            shape
        };
        let mut shapes: Vec<_> = ItemPayload::schemas(generator)
            .into_iter()
            .map(|(kind, payload)| {
                let tag = json!({ "type": "string", "const": kind });
                let is_error = kind == "error";
                shape(
                    format!("An Item of the type `{kind}`."),
                    tag,
                    Some(payload),
                    is_error,
                )
            })
            .collect();
        let other = json!({ "type": "string", "not": { "enum": ItemPayload::KINDS } });
        let description = "An Item of a type that is not known yet.".to_owned();
        shapes.push(shape(description, other, None, false));
        json_schema!({ "description": frame.get("description"), "oneOf": shapes })
    }
}

#[cfg(test)]
mod tests;
