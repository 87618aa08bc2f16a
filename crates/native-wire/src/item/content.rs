//! The output of a tool for display: texts and pictures.
//!
//! AppServer protocol 03 §5.8.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{DecodeError, lenient};
use bobbin_model::Json;

/// A piece of what a tool brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ContentItem {
    /// Text.
    Text(TextContent),
    /// A picture.
    Image(ImageContent),
}

/// Text that a tool brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextContent {
    /// The text.
    pub text: String,
}

/// A picture that a tool brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageContent {
    /// Its media type.
    pub media_type: String,
    /// The picture, Base64.
    pub data_base64: String,
}

impl ContentItem {
    fn read(given: &Json) -> Result<Self, DecodeError> {
        let raw = given.raw();
        match lenient::tag(raw)?.as_deref() {
            Some("text") => lenient::lenient(raw).map(Self::Text),
            Some("image") => lenient::lenient(raw).map(Self::Image),
            _ => Err(de::Error::custom("'type' must be one of 'text', 'image'")),
        }
    }
}

impl<'de> Deserialize<'de> for ContentItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Json::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
