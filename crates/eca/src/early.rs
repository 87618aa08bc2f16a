//! Handles an editor's messages before its workspace is known, for a program that passes them on to a server.

use std::borrow::Cow;

use bobbin_editor_kit::Early;
use bobbin_peer::{ErrorObject, code};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::errors;
use crate::handshake::wanted;
use crate::wire;

/// The parts of a message that are read.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Returns the reaction to a message of an editor whose workspace is not known yet.
pub fn early(message: &[u8]) -> Early {
    let message: Message<'_> = match serde_json::from_slice(message) {
        Ok(message) => message,
        Err(error) if error.is_data() => {
            return Early::Answer(answer(None, &errors::invalid_request("Invalid Request")));
        }
        Err(_) => return Early::Answer(answer(None, &ErrorObject::new(code::PARSE_ERROR, "Parse error"))),
    };
    match (message.method.as_deref(), message.id) {
        (Some("initialize"), Some(id)) => match wire::params(message.params) {
            Ok(params) => Early::Open(wanted(&params)),
            Err(error) => Early::Answer(answer(Some(id), &error)),
        },
        (Some(_), Some(id)) => Early::Answer(answer(Some(id), &errors::not_initialized())),
        (Some("exit"), None) => Early::Exit,
        (Some(_) | None, _) => Early::Nothing,
    }
}

/// Returns the answer to an `initialize` whose workspace cannot be served; `why` is a sentence for the user.
pub fn cannot_open(initialize: &[u8], why: String) -> Bytes {
    let id = serde_json::from_slice(initialize).ok();
    let id = id.and_then(|message: Message<'_>| message.id);
    answer(id, &errors::failed(why))
}

fn answer(id: Option<&RawValue>, error: &ErrorObject) -> Bytes {
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
        .to_string()
        .into()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use bobbin_editor_kit::{EditorOptions, OpenRequest};

    use super::*;

    #[test]
    fn only_a_handshake_opens_a_workspace() {
        let hello = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":7,
            "workspaceFolders":[{"uri":"file:///srv/teapot","name":"teapot"},{"uri":"file:///srv/cup","name":"cup"}],
            "initializationOptions":{"pureConfig":true}}}"#;
        let wanted = OpenRequest {
            root: Some(PathBuf::from("/srv/teapot")),
            pure_config: true,
            parent: Some(7),
            options: EditorOptions::default(),
        };
        assert_eq!(early(hello), Early::Open(wanted));
        let bare = br#"{"id":0,"method":"initialize"}"#;
        assert_eq!(early(bare), Early::Open(OpenRequest::default()));
        assert_eq!(early(br#"{"method":"exit"}"#), Early::Exit);
        for nothing in [r#"{"method":"initialize"}"#, r#"{"id":1,"result":{}}"#, "{}"] {
            assert_eq!(early(nothing.as_bytes()), Early::Nothing, "{nothing}");
        }
    }

    #[test]
    fn what_comes_before_is_answered_with_its_error() {
        for (message, id, code) in [
            (
                r#"{"id":"a","method":"initialize","params":{"workspaceFolders":7}}"#,
                "\"a\"",
                -32602,
            ),
            (r#"{"id":1,"method":"shutdown"}"#, "1", -32002),
            (r#"[{"id":1,"method":"initialize"}]"#, "null", -32600),
            ("7", "null", -32600),
            ("tea", "null", -32700),
            ("", "null", -32700),
        ] {
            let Early::Answer(answer) = early(message.as_bytes()) else {
                panic!("{message} is not answered");
            };
            let answer = String::from_utf8(answer.to_vec()).unwrap();
            assert!(answer.contains(&format!(r#""id":{id}"#)), "{message}: {answer}");
            assert!(
                answer.contains(&format!(r#""code":{code}"#)),
                "{message}: {answer}"
            );
        }
        let refused = cannot_open(br#"{"id":3,"method":"initialize"}"#, "no such folder".to_owned());
        let refused = String::from_utf8(refused.to_vec()).unwrap();
        assert!(
            refused.contains(r#""id":3"#) && refused.contains("no such folder"),
            "{refused}"
        );
    }
}
