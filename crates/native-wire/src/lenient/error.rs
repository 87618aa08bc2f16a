//! Errors of decoding JSON, in words for the user.

use std::fmt;

use serde::de::{self, Expected, Unexpected};

/// Longest part of a path that an error quotes. Clients choose map keys, and these have no limit of their own.
const MAX_SEGMENT_CHARS: usize = 64;

/// The reason why JSON could not be decoded. Its text is one sentence that names the member, fit for
/// `error.data.detail`. It never quotes values, since they may be secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Member names from the outside in, as in `identity.channelName` or `input[0]`.
    path: String,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    /// Continues after the member's name, as in "is required".
    Phrase(String),
    /// A sentence of its own after the member's name.
    Sentence(String),
}

impl DecodeError {
    pub(crate) fn phrase(text: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            problem: Problem::Phrase(text.into()),
        }
    }

    /// Returns the path of the member, outermost first; empty for the whole JSON.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Puts the error inside a member.
    pub(crate) fn inside(mut self, member: &str) -> Self {
        let member: String = member.chars().take(MAX_SEGMENT_CHARS).collect();
        let joint = if self.path.is_empty() || self.path.starts_with('[') {
            ""
        } else {
            "."
        };
        self.path = format!("{member}{joint}{}", self.path);
        self
    }

    /// Names the whole JSON if no member is named.
    pub(crate) fn or_at(self, whole: &str) -> Self {
        if self.path.is_empty() {
            self.inside(whole)
        } else {
            self
        }
    }

    pub(crate) fn expected(expected: &dyn Expected) -> Self {
        let text = expected.to_string();
        let readable = match text.as_str() {
            "a boolean" => "true or false",
            "a sequence" => "an array",
            "a map" => "an object",
            "i8" | "i16" | "i32" | "i64" | "isize" => "an integer",
            "u8" | "u16" | "u32" | "u64" | "usize" => "a non-negative integer",
            "f32" | "f64" => "a number",
            text if text.starts_with("struct ") => "an object",
            text if text.starts_with("enum ") || text == "variant identifier" => "a string",
            text => text,
        };
        Self::phrase(format!("must be {readable}"))
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.problem, self.path.as_str()) {
            (Problem::Phrase(text) | Problem::Sentence(text), "") => write!(f, "{text}."),
            (Problem::Phrase(text), path) => write!(f, "'{path}' {text}."),
            (Problem::Sentence(text), path) => write!(f, "'{path}': {text}."),
        }
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let text = message.to_string().trim_end_matches('.').to_owned();
        Self {
            path: String::new(),
            problem: Problem::Sentence(text),
        }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::expected(expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let names: Vec<String> = expected.iter().map(|name| format!("'{name}'")).collect();
        Self::phrase(format!("must be one of {}", names.join(", ")))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::phrase("is required").inside(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::phrase("is given more than once").inside(field)
    }
}
