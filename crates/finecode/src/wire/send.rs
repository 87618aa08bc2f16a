//! Messages that are sent: strictly in the form of the connection's dialect.

use bobbin_finecode_wire::{Dialect, Json};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::{DevEnv, Format, Trigger};
use crate::settings::WorkspaceAnswer;

/// The options of one call.
#[derive(Debug, Clone)]
pub(crate) struct Options<'a> {
    pub(crate) trigger: Trigger,
    pub(crate) dev_env: DevEnv,
    pub(crate) depth: u32,
    pub(crate) formats: &'a [Format],
    pub(crate) run_id: &'a str,
    pub(crate) partial_token: Option<u64>,
    pub(crate) progress_token: Option<u64>,
    pub(crate) caller_kwargs: Option<&'a RawValue>,
    pub(crate) traceparent: Option<&'a str>,
}

/// Returns options as the dialect spells them.
pub(crate) fn options(options: &Options<'_>, dialect: Dialect) -> Value {
    let early = dialect == Dialect::Early;
    let key = |camel: &str, snake: &str| if early { snake.to_owned() } else { camel.to_owned() };
    let mut meta = Map::new();
    meta.insert("trigger".to_owned(), json!(options.trigger));
    meta.insert(key("devEnv", "dev_env"), json!(options.dev_env));
    meta.insert(
        key("orchestrationDepth", "orchestration_depth"),
        json!(options.depth),
    );
    let mut all = Map::new();
    all.insert("meta".to_owned(), Value::Object(meta));
    all.insert(key("resultFormats", "result_formats"), json!(options.formats));
    all.insert(key("walRunId", "wal_run_id"), json!(options.run_id));
    if let Some(token) = options.partial_token {
        all.insert(key("partialResultToken", "partial_result_token"), json!(token));
    }
    if let Some(token) = options.progress_token {
        all.insert(key("progressToken", "progress_token"), json!(token));
    }
    if !early {
        if let Some(traceparent) = options.traceparent {
            all.insert("traceparent".to_owned(), json!(traceparent));
        }
        if let Some(kwargs) = options.caller_kwargs {
            all.insert("callerKwargs".to_owned(), json!(kwargs));
        }
    }
    Value::Object(all)
}

/// The params of `actions/run` and `actions/runHandlers`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunParams<'a> {
    pub(crate) action_name: &'a str,
    pub(crate) params: &'a RawValue,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) segment: Option<SegmentParams<'a>>,
    pub(crate) options: Value,
}

/// The additional params of `actions/runHandlers`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SegmentParams<'a> {
    pub(crate) handler_names: &'a [String],
    pub(crate) previous_result: Option<&'a RawValue>,
    pub(crate) previous_context: Option<&'a RawValue>,
    pub(crate) caller_kwargs: Option<&'a RawValue>,
}

/// Returns the result of one project in the answer to a run in the workspace.
pub(crate) fn workspace_result(
    form: WorkspaceAnswer,
    action: &str,
    result: &RawValue,
    status: &str,
) -> Result<Json, serde_json::Error> {
    #[derive(Serialize)]
    struct WithStatus<'a> {
        result: &'a RawValue,
        status: &'a str,
    }
    let named = |value: &RawValue| {
        let name = serde_json::to_string(action)?;
        RawValue::from_string(format!("{{{name}:{value}}}"))
    };
    match form {
        WorkspaceAnswer::Plain => Ok(result.to_owned()),
        WorkspaceAnswer::Named => named(result),
        WorkspaceAnswer::Status => {
            let status = WithStatus { result, status };
            named(to_raw_value(&status)?.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(dialect: Dialect) -> Value {
        let all = Options {
            trigger: Trigger::User,
            dev_env: DevEnv::GitHook,
            depth: 2,
            formats: &[Format::Json, Format::String],
            run_id: "r-1",
            partial_token: Some(3),
            progress_token: Some(4),
            caller_kwargs: None,
            traceparent: None,
        };
        options(&all, dialect)
    }

    #[test]
    fn options_are_spelled_as_the_dialect_spells_them() {
        let camel = json!({"meta":{"trigger":"user","devEnv":"git_hook","orchestrationDepth":2},"resultFormats":["json","string"],"walRunId":"r-1","partialResultToken":3,"progressToken":4});
        let snake = json!({"meta":{"trigger":"user","dev_env":"git_hook","orchestration_depth":2},"result_formats":["json","string"],"wal_run_id":"r-1","partial_result_token":3,"progress_token":4});
        assert_eq!(sent(Dialect::Documented), camel);
        assert_eq!(sent(Dialect::Current), camel);
        assert_eq!(sent(Dialect::Early), snake);
    }

    #[test]
    fn a_result_in_the_workspace_has_three_forms() {
        let result = RawValue::from_string(r#"{"n":1.0}"#.to_owned()).unwrap();
        let form = |form| {
            workspace_result(form, "tally", &result, "success")
                .unwrap()
                .get()
                .to_owned()
        };
        assert_eq!(form(WorkspaceAnswer::Plain), r#"{"n":1.0}"#);
        assert_eq!(form(WorkspaceAnswer::Named), r#"{"tally":{"n":1.0}}"#);
        let status = r#"{"tally":{"result":{"n":1.0},"status":"success"}}"#;
        assert_eq!(form(WorkspaceAnswer::Status), status);
    }
}
