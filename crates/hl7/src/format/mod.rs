//! The four formats of a message. A module each for the three structured ones reads text to a [`Value`] and writes
//! one; none of them knows what a segment is.

mod json;
mod toml;
mod yaml;

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::value::Value;

/// The deepest nesting that is read; a message's structure has seven levels.
const MAX_DEPTH: usize = 8;

/// A notation of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// HL7 itself: the text of the message.
    #[default]
    Hl7,
    /// JSON, indented by two blanks.
    Json,
    /// YAML with every text in quotes.
    Yaml,
    /// TOML with a table for each segment.
    Toml,
}

impl Format {
    /// Returns the name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hl7 => "hl7",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Toml => "toml",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        [Self::Hl7, Self::Json, Self::Yaml, Self::Toml]
            .into_iter()
            .find(|format| format.as_str() == name)
            .ok_or_else(|| Error::UnknownFormat(name.chars().take(20).collect()))
    }
}

/// Why a text is not of its format: the reason and where, for a user.
type Reason = String;

/// Reads a text of a structured format.
///
/// # Errors
/// The reason, for a user.
pub(crate) fn parse(text: &str, format: Format) -> Result<Value, Reason> {
    match format {
        Format::Hl7 => Err("not a structured format".to_owned()),
        Format::Json => json::parse(text),
        Format::Yaml => yaml::parse(text),
        Format::Toml => toml::parse(text),
    }
}

/// Writes a value in a structured format.
pub(crate) fn write(value: &Value, format: Format) -> String {
    match format {
        Format::Hl7 => String::new(),
        Format::Json => json::write(value),
        Format::Yaml => yaml::write(value),
        Format::Toml => toml::write(value),
    }
}

fn too_deep() -> Reason {
    format!("it is nested deeper than {MAX_DEPTH} levels")
}

/// Appends a text in double quotes, in the notation that YAML and TOML have in common.
///
/// Writes a character as a number if a reader of JSON or YAML could refuse it or take it as a line end.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => escape(out, c),
            c if c.is_control() => escape(out, c),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn escape(out: &mut String, c: char) {
    use fmt::Write as _;
    // Writing to a text does not fail.
    let _ = write!(out, "\\u{:04x}", u32::from(c));
}
