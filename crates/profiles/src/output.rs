//! Reads the answer, the tokens and the session from the output of a profile's command. Pure.
//!
//! Standard output and standard error come as one text, so JSON is looked for among other lines.

use bobbin_model::TokenUsage;
use regex::RegexBuilder;
use serde_json::{Deserializer, Value};

use crate::settings::{OutputFormat, ProfileDefinition};

/// Longest id of a session.
const MAX_ID: usize = 256;
/// Largest regular expression, compiled.
const MAX_REGEX: usize = 1 << 20;

/// The answer, tokens and session of an output.
#[derive(Debug, PartialEq)]
pub(crate) struct Reading {
    /// The answer.
    ///
    /// # Errors
    /// There is none: why, for the user.
    pub(crate) answer: Result<String, String>,
    /// The tokens, as far as they are said.
    pub(crate) usage: Option<TokenUsage>,
    /// The session, if it says one.
    pub(crate) session: Option<String>,
}

/// Reads an output. `file` is the text of the answer's file, if there is one.
pub(crate) fn read(definition: &ProfileDefinition, output: &str, file: Option<String>) -> Reading {
    let values = values(output);
    let answer = match (file, definition.output_format.unwrap_or_default()) {
        (Some(text), _) => Ok(text.trim().to_owned()),
        (None, OutputFormat::Text) => Ok(output.trim().to_owned()),
        (None, OutputFormat::Json) => {
            let path = definition.output_json_path.as_deref().unwrap_or_default();
            let found = last(&values, path);
            found
                .map(as_text)
                .ok_or_else(|| format!("its output has no JSON with '{path}' (outputJsonPath)"))
        }
    };
    Reading {
        answer,
        usage: usage(definition, &values),
        session: session(definition, output, &values),
    }
}

/// Returns the result of a call: its answer, and the session that the next call can go on with.
pub(crate) fn result(answer: &str, session: Option<&str>) -> String {
    match session {
        Some(session) => format!("{answer}\n\n[session {session}]"),
        None => answer.to_owned(),
    }
}

/// Splits what [`result`] returns.
pub(crate) fn split(result: &str) -> (&str, Option<&str>) {
    let split = result
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once("\n\n[session "));
    match split {
        Some((answer, session)) if is_sound(session) => (answer, Some(session)),
        _ => (result, None),
    }
}

/// Whether a text can be the id of a session: it becomes an argument, and must not be an option.
fn is_sound(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_ID && !id.starts_with('-') && !id.contains(char::is_control)
}

/// Returns the session that an output says.
fn session(definition: &ProfileDefinition, output: &str, values: &[Value]) -> Option<String> {
    if definition.supports_resume != Some(true) {
        return None;
    }
    let path = definition.resume_session_id_json_path.as_deref();
    let by_path = path.and_then(|path| last(values, path)).map(as_text);
    let by_regex = || {
        let pattern = definition.resume_session_id_regex.as_deref()?;
        let regex = RegexBuilder::new(pattern).size_limit(MAX_REGEX).build().ok()?;
        let found = regex.captures(output)?;
        let found = found.get(1).or_else(|| found.get(0))?;
        Some(found.as_str().to_owned())
    };
    by_path.or_else(by_regex).filter(|id| is_sound(id))
}

fn usage(definition: &ProfileDefinition, values: &[Value]) -> Option<TokenUsage> {
    let count = |path: &Option<String>| last(values, path.as_deref()?)?.as_u64();
    let read = count(&definition.output_input_tokens_json_path);
    let written = count(&definition.output_output_tokens_json_path);
    let total = count(&definition.output_total_tokens_json_path);
    if read.is_none() && written.is_none() && total.is_none() {
        return None;
    }
    let written = written.unwrap_or(0);
    let read = read.or_else(|| total.map(|total| total.saturating_sub(written)));
    Some(TokenUsage::of(read.unwrap_or(0), written))
}

/// Returns the JSON values of a text: objects and lists at the start of a line.
fn values(text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut read = 0;
        if rest.starts_with(['{', '[']) {
            let mut stream = Deserializer::from_str(rest).into_iter();
            if let Some(Ok(value)) = stream.next() {
                values.push(value);
                read = stream.byte_offset();
            }
        }
        rest = &rest[read..];
        rest = rest.find('\n').map_or("", |end| &rest[end + 1..]);
    }
    values
}

/// Returns what is at a path in the last value that has something there.
fn last<'a>(values: &'a [Value], path: &str) -> Option<&'a Value> {
    let mut found = values.iter().rev().filter_map(|value| at(value, path));
    found.find(|found| !found.is_null())
}

/// Returns what is at a path: names with dots between them, and places in lists as `[0]`; a `$` in front means nothing.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let path = path.trim().trim_start_matches('$').replace('[', ".[");
    let mut parts = path.split('.').filter(|part| !part.is_empty());
    parts.try_fold(value, |value, part| match part.strip_prefix('[') {
        Some(place) => value.get(place.strip_suffix(']')?.parse::<usize>().ok()?),
        None => value.get(part),
    })
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(more: &Value) -> ProfileDefinition {
        let mut entry = json!({ "runtime": "cli-oneshot", "bin": "taste" });
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let definition: ProfileDefinition = serde_json::from_value(entry).unwrap();
        definition.check("taster").unwrap();
        definition
    }

    #[test]
    fn a_text_is_the_answer_and_a_file_comes_first() {
        let definition = of(&json!({}));
        let reading = read(&definition, "\n{\"a\":1}\nLime.\n", None);
        assert_eq!(
            (reading.answer, reading.usage, reading.session),
            (Ok("{\"a\":1}\nLime.".to_owned()), None, None)
        );
        let reading = read(&definition, "noise", Some("Lime.\n".to_owned()));
        assert_eq!(reading.answer, Ok("Lime.".to_owned()));
    }

    #[test]
    fn json_is_found_among_other_lines() {
        let definition = of(&json!({
            "outputFormat": "json", "outputJsonPath": "$.items[1].text",
            "outputInputTokensJsonPath": "usage.in", "outputTotalTokensJsonPath": "usage.all",
            "supportsResume": true, "resumeArgTemplate": "-r {sessionId}", "resumeSessionIdJsonPath": "session_id",
        }));
        let output = "warning: {odd\n{\"session_id\": \"s-1\"}\n[1, 2\n{\n  \"items\": [0, {\"text\": \"Lime.\"}],\n  \
                      \"usage\": {\"in\": 7, \"all\": 9}\n}\nbye";
        let reading = read(&definition, output, None);
        assert_eq!(reading.answer, Ok("Lime.".to_owned()));
        assert_eq!(reading.usage, Some(TokenUsage::of(7, 0)));
        assert_eq!(reading.session.as_deref(), Some("s-1"));
        let lines =
            "{\"items\":[0,{\"text\":\"one\"}]}\n{\"items\":[0,{\"text\":{\"n\":2}}]}\n{\"end\":true}\n";
        assert_eq!(read(&definition, lines, None).answer, Ok("{\"n\":2}".to_owned()));
        let why = read(&definition, "Segmentation fault", None).answer.unwrap_err();
        assert!(why.contains("$.items[1].text"), "{why}");
        let total = of(&json!({ "outputTotalTokensJsonPath": "n", "outputOutputTokensJsonPath": "out" }));
        assert_eq!(
            read(&total, "{\"n\":9,\"out\":2}", None).usage,
            Some(TokenUsage::of(7, 2))
        );
    }

    #[test]
    fn a_session_is_an_id_and_no_option() {
        let definition = of(&json!({
            "supportsResume": true, "resumeArgTemplate": "-r {sessionId}", "resumeSessionIdRegex": "session: (\\S+)",
        }));
        let session = |definition, output| read(definition, output, None).session;
        assert_eq!(session(&definition, "x\nsession: abc\ny").as_deref(), Some("abc"));
        for output in ["session: --yolo", "session abc", ""] {
            assert_eq!(session(&definition, output), None, "{output}");
        }
        assert_eq!(session(&of(&json!({})), "session: abc"), None);
        let long = "x".repeat(MAX_ID + 1);
        for (answer, id, found) in [
            ("a\n\n[b]", Some("s 1"), true),
            ("", Some("x"), true),
            ("a", None, false),
        ] {
            let result = result(answer, id);
            assert_eq!(split(&result), (answer, id.filter(|_| found)));
        }
        for forged in [
            "a\n\n[session --yolo]",
            &format!("a\n\n[session {long}]"),
            "[session x]",
        ] {
            assert_eq!(split(forged), (forged, None));
        }
    }
}
