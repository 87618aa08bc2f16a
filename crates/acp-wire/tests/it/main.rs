//! Messages of real clients and agents, read with these types and written again.
//!
//! `recorded.jsonl` has one message of each shape that they sent: the sender, the method, and the parameters or the
//! answer.

use bobbin_acp_wire as wire;
use bobbin_acp_wire::method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// One recorded message.
#[derive(serde::Deserialize)]
struct Recorded {
    from: String,
    method: String,
    #[serde(default)]
    params: Option<Value>,
    #[serde(default)]
    result: Option<Value>,
}

fn again<T: DeserializeOwned + Serialize>(value: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<T>(value.clone())?)
}

/// Returns a message as these types write it.
fn through(method: &str, params: Option<&Value>, result: Option<&Value>) -> Result<Value, serde_json::Error> {
    match (method, params, result) {
        (method::INITIALIZE, Some(value), _) => again::<wire::InitializeParams>(value),
        (method::INITIALIZE, _, Some(value)) => again::<wire::InitializeResult>(value),
        (method::SESSION_NEW, Some(value), _) => again::<wire::NewSessionParams>(value),
        (method::SESSION_NEW, _, Some(value)) => again::<wire::NewSessionResult>(value),
        (method::SESSION_LOAD | method::SESSION_RESUME, Some(value), _) => {
            again::<wire::LoadSessionParams>(value)
        }
        (method::SESSION_LOAD | method::SESSION_RESUME, _, Some(value)) => {
            again::<wire::OpenedSession>(value)
        }
        (method::SESSION_LIST, Some(value), _) => again::<wire::ListSessionsParams>(value),
        (method::SESSION_LIST, _, Some(value)) => again::<wire::ListSessionsResult>(value),
        (method::SESSION_CLOSE | method::SESSION_DELETE | method::SESSION_CANCEL, Some(value), _) => {
            again::<wire::SessionParams>(value)
        }
        (method::SESSION_PROMPT, Some(value), _) => again::<wire::PromptParams>(value),
        (method::SESSION_PROMPT, _, Some(value)) => again::<wire::PromptResult>(value),
        (method::SESSION_SET_MODE, Some(value), _) => again::<wire::SetModeParams>(value),
        (method::SESSION_SET_CONFIG_OPTION, Some(value), _) => again::<wire::SetConfigOptionParams>(value),
        (method::SESSION_SET_CONFIG_OPTION, _, Some(value)) => again::<wire::SetConfigOptionResult>(value),
        (method::SESSION_UPDATE, Some(value), _) => again::<wire::SessionNotification>(value),
        (method::SESSION_REQUEST_PERMISSION, Some(value), _) => again::<wire::RequestPermissionParams>(value),
        (method::SESSION_REQUEST_PERMISSION, _, Some(value)) => again::<wire::RequestPermissionResult>(value),
        (method::FS_READ_TEXT_FILE, Some(value), _) => again::<wire::ReadTextFileParams>(value),
        (method::FS_READ_TEXT_FILE, _, Some(value)) => again::<wire::ReadTextFileResult>(value),
        (method::FS_WRITE_TEXT_FILE, Some(value), _) => again::<wire::WriteTextFileParams>(value),
        (method::TERMINAL_CREATE, Some(value), _) => again::<wire::CreateTerminalParams>(value),
        (method::TERMINAL_CREATE, _, Some(value)) => again::<wire::CreateTerminalResult>(value),
        (method::TERMINAL_OUTPUT, _, Some(value)) => again::<wire::TerminalOutputResult>(value),
        (method::TERMINAL_WAIT_FOR_EXIT, _, Some(value)) => again::<wire::ExitStatus>(value),
        (
            method::TERMINAL_OUTPUT
            | method::TERMINAL_WAIT_FOR_EXIT
            | method::TERMINAL_KILL
            | method::TERMINAL_RELEASE,
            Some(value),
            _,
        ) => again::<wire::TerminalParams>(value),
        // Answers that say nothing: an object or null.
        (_, None, _) => again::<Option<wire::Empty>>(result.unwrap_or(&Value::Null)),
        (other, ..) => Err(serde::de::Error::custom(format!("no type for {other}"))),
    }
}

/// Asserts that everything in `written` was in `read`. Absent, null and default members are the same.
fn is_part_of(written: &Value, read: &Value, at: &str) {
    match (written, read) {
        (Value::Object(members), Value::Object(original)) => {
            for (name, value) in members {
                let at = format!("{at}.{name}");
                match original.get(name) {
                    Some(original) if !original.is_null() => is_part_of(value, original, &at),
                    _ => assert!(is_default(value), "{at}: {value} was not there"),
                }
            }
        }
        (Value::Array(items), Value::Array(original)) => {
            assert_eq!(items.len(), original.len(), "{at}");
            for (item, original) in items.iter().zip(original) {
                is_part_of(item, original, at);
            }
        }
        (Value::Number(number), Value::Number(original)) => {
            assert_eq!(number.as_f64(), original.as_f64(), "{at}");
        }
        _ => assert_eq!(written, read, "{at}"),
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_default),
        Value::Number(_) => false,
    }
}

#[test]
fn every_recorded_message_is_read_and_written_again() {
    let lines = include_str!("recorded.jsonl").lines();
    let mut count = 0;
    for line in lines {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        let what = format!("{} of {}", recorded.method, recorded.from);
        let written = through(
            &recorded.method,
            recorded.params.as_ref(),
            recorded.result.as_ref(),
        )
        .unwrap_or_else(|error| panic!("{what}: {error}"));
        let read = recorded.params.or(recorded.result).unwrap_or_default();
        is_part_of(&written, &read, &what);
        count += 1;
    }
    assert!(count > 150, "only {count} messages");
}

#[test]
fn a_server_of_a_session_is_a_program_an_address_or_unknown() {
    let program = json!({"name": "files", "command": "/bin/files", "args": ["-v"], "env": [{"name": "A", "value": "b"}]});
    let address = json!({"type": "http", "name": "web", "url": "http://127.0.0.1:1/", "headers": []});
    let unknown = json!({"type": "pigeon", "name": "x"});
    let read = |value: &Value| serde_json::from_value::<wire::McpServer>(value.clone()).unwrap();
    assert!(matches!(read(&program), wire::McpServer::Stdio(server) if server.env.len() == 1));
    assert!(matches!(
        read(&address),
        wire::McpServer::Remote(wire::RemoteServer {
            transport: wire::RemoteTransport::Http,
            ..
        })
    ));
    assert!(matches!(read(&unknown), wire::McpServer::Unknown(_)));
    assert_eq!(serde_json::to_value(read(&program)).unwrap(), program);
}

#[test]
fn unknown_discriminators_are_read() {
    let read = |value: Value| serde_json::from_value::<wire::SessionNotification>(value).unwrap();
    let news = read(json!({"sessionId": "s", "update": {"sessionUpdate": "sunrise", "at": 5}}));
    assert_eq!(news.update, wire::SessionUpdate::Unknown);
    let block: wire::ContentBlock = serde_json::from_value(json!({"type": "smell", "data": ""})).unwrap();
    assert_eq!(block, wire::ContentBlock::Unknown);
    let outcome: wire::PermissionOutcome = serde_json::from_value(json!({"outcome": "postponed"})).unwrap();
    assert_eq!(outcome, wire::PermissionOutcome::Cancelled);
}

#[test]
fn a_title_that_is_null_differs_from_none() {
    let cleared = wire::SessionUpdate::SessionInfoUpdate {
        title: Some(None),
        updated_at: None,
    };
    let value = serde_json::to_value(&cleared).unwrap();
    assert_eq!(
        value,
        json!({"sessionUpdate": "session_info_update", "title": null})
    );
    assert_eq!(
        serde_json::from_value::<wire::SessionUpdate>(value).unwrap(),
        cleared
    );
}

#[test]
fn a_form_and_an_address_are_asked_with_their_scope() {
    let form = json!({
        "sessionId": "s", "toolCallId": "c", "message": "Which?", "mode": "form",
        "requestedSchema": {"type": "object", "properties": {
            "answer": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "count": {"type": "integer", "minimum": 1},
            "many": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 2},
        }, "required": ["answer"]},
    });
    let read: wire::ElicitationParams = serde_json::from_value(form.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), form);
    let wire::ElicitationMode::Form { requested_schema } = read.mode else {
        panic!("no form")
    };
    for value in requested_schema.properties.values() {
        let property: wire::Property = serde_json::from_value(value.clone()).unwrap();
        assert_ne!(property.kind, wire::PropertyKind::Unknown);
        assert_eq!(&serde_json::to_value(&property).unwrap(), value);
    }
    let address = json!({"requestId": 3, "message": "Open", "mode": "url", "elicitationId": "e", "url": "https://a.invalid"});
    let read: wire::ElicitationParams = serde_json::from_value(address.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), address);
}

#[test]
fn an_option_is_set_by_a_text_or_a_flag() {
    let text = json!({"sessionId": "s", "configId": "model", "value": "m"});
    let flag = json!({"sessionId": "s", "configId": "fast", "type": "boolean", "value": true});
    for value in [text, flag] {
        let read: wire::SetConfigOptionParams = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), value);
    }
}
