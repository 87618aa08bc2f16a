//! A user's input, part by part.
//!
//! AppServer protocol 03 §3. Parts of an unknown type are retained unchanged, so that the reader of the input decides
//! to drop them.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_with::skip_serializing_none;

use crate::{DecodeError, lenient};
use bobbin_model::Json;

/// One part of an input.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum InputPart {
    /// Literal text.
    Text(TextPart),
    /// A reference to a custom slash command.
    CommandRef(CommandRefPart),
    /// A reference to a skill.
    SkillRef(SkillRefPart),
    /// A reference to a file.
    FileRef(FileRefPart),
    /// A remote picture.
    Image(ImagePart),
    /// A picture on the server's disk.
    LocalImage(LocalImagePart),
    /// A part of a type that this version does not know, or without one.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Json),
}

/// Literal text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextPart {
    /// The text.
    pub text: String,
}

/// A reference to a custom slash command.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRefPart {
    /// Its name; a leading slash is taken off.
    pub name: String,
    /// What follows the name.
    pub args_text: Option<String>,
    /// The line as typed.
    pub raw_text: Option<String>,
}

/// A reference to a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRefPart {
    /// Its name; a leading dollar sign is taken off.
    pub name: String,
}

/// A reference to a file.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRefPart {
    /// Where it is.
    pub path: String,
    /// How to show it.
    pub display_path: Option<String>,
}

/// A remote picture, or one that comes as bytes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePart {
    /// `http` or `https` address. Extension: a `data:` URL in base64, stored with the Thread as a `localImage`.
    pub url: String,
    /// Extension: how to show a picture that comes as bytes.
    pub file_name: Option<String>,
}

/// A picture on the server's disk.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalImagePart {
    /// Where it is.
    pub path: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// How to show it.
    pub file_name: Option<String>,
}

impl InputPart {
    /// A part of literal text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextPart { text: text.into() })
    }

    /// Returns whether the type is one that this version knows.
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown(_))
    }

    fn read(given: Json) -> Result<Self, DecodeError> {
        let raw = given.raw();
        Ok(match lenient::tag(raw)?.as_deref() {
            Some("text") => Self::Text(lenient::lenient(raw)?),
            Some("commandRef") => Self::CommandRef(lenient::lenient(raw)?),
            Some("skillRef") => Self::SkillRef(lenient::lenient(raw)?),
            Some("fileRef") => Self::FileRef(lenient::lenient(raw)?),
            Some("image") => Self::Image(lenient::lenient(raw)?),
            Some("localImage") => Self::LocalImage(lenient::lenient(raw)?),
            _ => Self::Unknown(given),
        })
    }
}

// By hand: a derived tagged enum buffers its content, which would lose the leniency rules for names and
// numbers and the text of unknown parts.
impl<'de> Deserialize<'de> for InputPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(Json::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"type":"text","text":"put the kettle on"}"#)]
    #[case(r#"{"type":"commandRef","name":"brew","argsText":"green 80","rawText":"/brew green 80"}"#)]
    #[case(r#"{"type":"commandRef","name":"brew"}"#)]
    #[case(r#"{"type":"skillRef","name":"descaling"}"#)]
    #[case(r#"{"type":"fileRef","path":"/srv/tea/boil.txt","displayPath":"boil.txt"}"#)]
    #[case(r#"{"type":"image","url":"https://tea.example/pot.png"}"#)]
    #[case(r#"{"type":"image","url":"data:image/png;base64,iVBORw0KGgo=","fileName":"pot.png"}"#)]
    #[case(r#"{"type":"localImage","path":"/srv/tea/pot.png","mimeType":"image/png"}"#)]
    fn known_parts_come_back_as_they_came(#[case] text: &str) {
        let part: InputPart = serde_json::from_str(text).unwrap();
        assert!(part.is_known());
        assert_eq!(serde_json::to_string(&part).unwrap(), text);
    }

    #[rstest]
    #[case(r#"{"type":"hologram","depth":1.50,"Z":[]}"#)]
    #[case(r#"{"text":"no type"}"#)]
    #[case("{}")]
    fn unknown_parts_are_kept_as_they_came(#[case] text: &str) {
        let part: InputPart = serde_json::from_str(text).unwrap();
        assert!(!part.is_known());
        assert_eq!(serde_json::to_string(&part).unwrap(), text);
    }

    #[rstest]
    #[case(r#"{"type":"text"}"#, "'text' is required.")]
    #[case(r#"{"type":"text","text":7}"#, "'text' must be a string.")]
    #[case(r#"{"type":7}"#, "'type' must be a string.")]
    #[case(r#""text""#, "must be an object.")]
    fn broken_parts_are_refused(#[case] text: &str, #[case] sentence: &str) {
        let given: Json = serde_json::from_str(text).unwrap();
        assert_eq!(InputPart::read(given).unwrap_err().to_string(), sentence);
    }
}
