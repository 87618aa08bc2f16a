//! Messages that are read: every form, whatever the dialect.

use std::collections::BTreeMap;

use bobbin_finecode_wire::Json;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::progress::Progress;

/// The answer to a run, as far as it is one.
#[derive(Debug)]
pub(crate) struct RunAnswer {
    pub(crate) status: String,
    pub(crate) formats: Formatted,
    pub(crate) code: i64,
    /// The result of a segment.
    pub(crate) result: Option<Json>,
    pub(crate) context: Option<Json>,
}

/// A result by format.
#[derive(Debug, Default, Clone)]
pub(crate) struct Formatted {
    pub(crate) json: Option<Json>,
    pub(crate) text: Option<String>,
}

/// Why an answer is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// The action failed, and says so.
    Failed(String),
    /// It is not one of the protocol.
    Protocol(String),
}

/// Both spellings; a runner may send them side by side.
#[derive(Deserialize)]
struct Wire {
    error: Option<Json>,
    status: Option<String>,
    #[serde(rename = "resultByFormat")]
    camel_formats: Option<Json>,
    #[serde(rename = "result_by_format")]
    snake_formats: Option<Json>,
    #[serde(rename = "returnCode")]
    camel_code: Option<i64>,
    return_code: Option<i64>,
    result: Option<Json>,
    context: Option<Json>,
}

/// Reads the answer to a run.
pub(crate) fn read_answer(answer: &RawValue) -> Result<RunAnswer, Unusable> {
    let protocol = |what: &str| Unusable::Protocol(what.to_owned());
    let wire: Wire = serde_json::from_str(answer.get())
        .map_err(|error| Unusable::Protocol(format!("its answer is not one of a run: {error}")))?;
    if let Some(error) = wire.error.filter(|error| error.get() != "null") {
        let text = serde_json::from_str(error.get());
        return Err(Unusable::Failed(text.unwrap_or_else(|_| error.get().to_owned())));
    }
    let status = wire.status.ok_or_else(|| protocol("its answer has no status"))?;
    let code = wire.camel_code.or(wire.return_code);
    let code = code.ok_or_else(|| protocol("its answer has no return code"))?;
    let formats = wire.camel_formats.or(wire.snake_formats);
    let formats = formats.ok_or_else(|| protocol("its answer has no formats"))?;
    let formats =
        Formatted::read(&formats).ok_or_else(|| protocol("the formats of its answer cannot be read"))?;
    Ok(RunAnswer {
        status,
        formats,
        code,
        result: wire.result.filter(|result| !is_empty(result)),
        context: wire.context,
    })
}

#[derive(Deserialize)]
struct ByFormat {
    json: Option<Json>,
    string: Option<String>,
    styled_text_json: Option<Styled>,
}

#[derive(Deserialize)]
struct Styled {
    parts: Vec<StyledPart>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StyledPart {
    Plain(String),
    Styled { text: String },
}

impl Formatted {
    /// Reads formats, which may be JSON inside a string.
    fn read(formats: &RawValue) -> Option<Self> {
        if let Ok(inner) = serde_json::from_str::<String>(formats.get()) {
            return Self::plain(&inner);
        }
        Self::plain(formats.get())
    }

    fn plain(formats: &str) -> Option<Self> {
        let ByFormat {
            json,
            string,
            styled_text_json,
        } = serde_json::from_str(formats).ok()?;
        let styled = || {
            let parts = styled_text_json?.parts.into_iter();
            let texts = parts.map(|part| match part {
                StyledPart::Plain(text) | StyledPart::Styled { text } => text,
            });
            Some(texts.collect())
        };
        Some(Self {
            json,
            text: string.or_else(styled),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.json.is_none() && self.text.is_none()
    }
}

/// Returns whether a result is `{}` or `null`, which runners send for none.
fn is_empty(value: &RawValue) -> bool {
    let text = value.get().trim();
    text == "null"
        || text
            .strip_prefix('{')
            .is_some_and(|rest| rest.trim_start() == "}")
}

/// A partial result: plain, or by format.
pub(crate) type Partial = Formatted;

/// Reads a partial result. Of formats, an object has no members but these.
pub(crate) fn read_partial(value: &str) -> Option<Partial> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(value).ok()?;
    let formats = ["json", "string", "styled_text_json"];
    if !members.is_empty()
        && members.keys().all(|name| formats.contains(&name.as_str()))
        && let Some(formatted) = Formatted::plain(value)
    {
        return Some(formatted);
    }
    Some(Formatted {
        json: RawValue::from_string(value.to_owned()).ok(),
        text: None,
    })
}

/// Reads a progress event.
pub(crate) fn read_progress(value: &str) -> Option<Progress> {
    #[derive(Deserialize)]
    #[serde(tag = "type", rename_all = "lowercase")]
    enum Wire {
        Begin {
            title: Option<String>,
            message: Option<String>,
            percentage: Option<f64>,
            cancellable: Option<bool>,
            total: Option<f64>,
        },
        Report {
            message: Option<String>,
            percentage: Option<f64>,
        },
        End {
            message: Option<String>,
        },
    }
    Some(match serde_json::from_str(value).ok()? {
        Wire::Begin {
            title,
            message,
            percentage,
            cancellable,
            total,
        } => Progress::Begin {
            title: title.unwrap_or_default(),
            message,
            percentage,
            cancellable: cancellable.unwrap_or(false),
            total,
        },
        Wire::Report { message, percentage } => Progress::Report { message, percentage },
        Wire::End { message } => Progress::End { message },
    })
}

/// An action as a runner describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Meta {
    #[serde(alias = "canonicalSource")]
    pub(crate) canonical_source: String,
    #[serde(default, alias = "runsConcurrently")]
    pub(crate) runs_concurrently: bool,
    pub(crate) scope: Option<String>,
    #[serde(rename = "parentActionSource")]
    pub(crate) parent: Option<String>,
    pub(crate) language: Option<String>,
    #[serde(rename = "fileLoc")]
    pub(crate) location: Option<String>,
}

/// The answer to `finecodeRunner/resolveActionMeta`, wrapped or flat.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(crate) enum Metas {
    Wrapped {
        actions: BTreeMap<String, Meta>,
        #[serde(rename = "handlerLocations")]
        _locations: serde::de::IgnoredAny,
    },
    Flat(BTreeMap<String, Meta>),
    #[default]
    Nothing,
}

/// A run that a runner asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Nested {
    pub(crate) action_source: String,
    pub(crate) payload: Option<Json>,
    #[serde(default)]
    pub(crate) meta: NestedMeta,
    pub(crate) partial_result_token: Option<Json>,
    pub(crate) caller_kwargs: Option<Json>,
    pub(crate) traceparent: Option<String>,
    pub(crate) project_paths: Option<Vec<String>>,
    pub(crate) concurrently: Option<bool>,
}

/// The trigger and the depth of the asking run, in both spellings.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NestedMeta {
    pub(crate) trigger: Option<super::Trigger>,
    #[serde(alias = "devEnv")]
    pub(crate) dev_env: Option<super::DevEnv>,
    #[serde(default, alias = "orchestrationDepth")]
    pub(crate) orchestration_depth: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Json {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn every_form_of_an_answer_reads_alike() {
        let forms = [
            r#"{"status":"success","result_by_format":"{\"json\": {\"n\": 1.0, \"u\": null}, \"string\": \"ä\"}","return_code":1}"#,
            r#"{"status":"success","resultByFormat":{"json": {"n": 1.0, "u": null}, "string": "ä"},"returnCode":1}"#,
            r#"{"status":"success","result_by_format":"{}","return_code":1,"resultByFormat":{"json": {"n": 1.0, "u": null}, "styled_text_json": {"parts": [{"text": "ä", "bold": true}]}},"returnCode":1}"#,
        ];
        for form in forms {
            let answer = read_answer(&raw(form)).unwrap();
            assert_eq!((answer.status.as_str(), answer.code), ("success", 1), "{form}");
            assert_eq!(answer.formats.json.unwrap().get(), r#"{"n": 1.0, "u": null}"#);
            assert_eq!(answer.formats.text.as_deref(), Some("ä"));
        }
    }

    #[test]
    fn what_is_no_answer_says_why() {
        let cases = [
            (r#"{"error":"boom"}"#, "Failed(\"boom\")"),
            (r#"{"status":"success","resultByFormat":{}}"#, "no return code"),
            (r#"{"resultByFormat":{},"returnCode":0}"#, "no status"),
            (
                r#"{"status":"success","result_by_format":"{","return_code":0}"#,
                "cannot be read",
            ),
            (r#"{"status":"success","return_code":0}"#, "no formats"),
            ("[]", "not one of a run"),
        ];
        for (answer, why) in cases {
            let error = format!("{:?}", read_answer(&raw(answer)).unwrap_err());
            assert!(error.contains(why), "{answer}: {error}");
        }
    }

    #[test]
    fn partial_results_are_plain_or_by_format() {
        let plain = read_partial(r#"{"json": 1, "type": "begin"}"#).unwrap();
        assert_eq!(plain.json.unwrap().get(), r#"{"json": 1, "type": "begin"}"#);
        let formatted = read_partial(r#"{"json": {"a": 1}, "string": "one"}"#).unwrap();
        assert_eq!(formatted.json.unwrap().get(), r#"{"a": 1}"#);
        assert_eq!(formatted.text.as_deref(), Some("one"));
        assert_eq!(read_partial("{}").unwrap().json.unwrap().get(), "{}");
        assert!(read_partial("{").is_none());
    }

    #[test]
    fn metadata_is_flat_or_wrapped() {
        let entry = r#"{"a.B": {"canonical_source": "a.c.B", "runs_concurrently": true}}"#;
        let wrapped = format!(r#"{{"actions": {entry}, "handlerLocations": {{"h": null}}}}"#);
        for text in [entry, &wrapped] {
            let metas = match serde_json::from_str(text).unwrap() {
                Metas::Wrapped { actions, .. } | Metas::Flat(actions) => actions,
                Metas::Nothing => BTreeMap::new(),
            };
            assert!(metas["a.B"].runs_concurrently);
            assert_eq!(metas["a.B"].canonical_source, "a.c.B");
        }
    }
}
