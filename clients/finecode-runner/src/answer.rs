//! The shapes of answers in each dialect.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::action::Failure;
use crate::execute::Status;
use crate::{Dialect, Json};

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As documented.
    Documented,
    /// As `early` does: plain partial results, camelCase answers.
    Plain,
    /// As `current` does: partial results by format, camelCase answers.
    Current,
    /// Documented, with the other spelling beside it.
    Both,
}

impl Shape {
    pub(crate) fn new(dialect: Dialect, both: bool) -> Self {
        match dialect {
            _ if both => Self::Both,
            Dialect::Documented => Self::Documented,
            Dialect::Early => Self::Plain,
            Dialect::Current => Self::Current,
        }
    }
}

/// A format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Json,
    String,
}

/// Returns a result by format; as JSON if no format is asked for.
pub(crate) fn formats(
    formats: &[Format],
    result: &RawValue,
    render: fn(&RawValue) -> Result<(String, i64), Failure>,
) -> Result<Json, Failure> {
    #[derive(Serialize)]
    struct ByFormat<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        json: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        string: Option<String>,
    }
    let text = formats
        .contains(&Format::String)
        .then(|| render(result))
        .transpose()?;
    let json = (formats.contains(&Format::Json) || text.is_none()).then_some(result);
    let string = text.map(|(text, _)| text);
    Ok(to_raw_value(&ByFormat { json, string })?)
}

/// The answer with the spelling that is not documented.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Camel<'a> {
    #[serde(flatten)]
    documented: serde_json::Map<String, Value>,
    result_by_format: &'a RawValue,
    return_code: i64,
}

/// The answer to `actions/run`.
pub(crate) fn run(shape: Shape, status: Status, by_format: &RawValue, code: i64) -> Result<Json, Failure> {
    let mut answer = serde_json::Map::new();
    answer.insert("status".to_owned(), json!(status.name()));
    if matches!(shape, Shape::Documented | Shape::Both) {
        answer.insert("result_by_format".to_owned(), json!(by_format.get()));
        answer.insert("return_code".to_owned(), json!(code));
    }
    if shape == Shape::Documented {
        return Ok(to_raw_value(&answer)?);
    }
    let answer = Camel {
        documented: answer,
        result_by_format: by_format,
        return_code: code,
    };
    Ok(to_raw_value(&answer)?)
}

/// The answer to `actions/runHandlers`, the same in every dialect.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Segment<'a> {
    pub(crate) status: &'static str,
    pub(crate) result: Json,
    pub(crate) result_by_format: &'a RawValue,
    pub(crate) return_code: i64,
    pub(crate) context: Option<serde_json::Map<String, Value>>,
}

/// An answer that only says why.
pub(crate) fn failed(Failure(why): Failure) -> Result<Json, serde_json::Error> {
    to_raw_value(&json!({ "error": why }))
}
