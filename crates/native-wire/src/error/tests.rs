//! The error table, word for word.

use rstest::rstest;

use super::*;

#[rstest]
#[case(RpcError::parse_error(), r#"{"code":-32700,"message":"Parse error"}"#)]
#[case(
    RpcError::invalid_request("d"),
    r#"{"code":-32600,"message":"Invalid request","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::method_not_found("a/b"),
    r#"{"code":-32601,"message":"Method not found: a/b"}"#
)]
#[case(
    RpcError::invalid_params("d"),
    r#"{"code":-32602,"message":"Invalid params","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::internal_error("d"),
    r#"{"code":-32603,"message":"Internal error","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::overloaded(250),
    r#"{"code":-32001,"message":"Server overloaded; retry later.","data":{"retryAfterMs":250}}"#
)]
#[case(RpcError::not_initialized(), r#"{"code":-32002,"message":"Not initialized"}"#)]
#[case(
    RpcError::already_initialized(),
    r#"{"code":-32003,"message":"Already initialized"}"#
)]
#[case(
    RpcError::thread_not_found("T"),
    r#"{"code":-32010,"message":"Thread not found: T"}"#
)]
#[case(
    RpcError::thread_not_active("T"),
    r#"{"code":-32011,"message":"Thread is not active: T"}"#
)]
#[case(
    RpcError::turn_in_progress("T"),
    r#"{"code":-32012,"message":"A turn is already in progress on thread: T"}"#
)]
#[case(
    RpcError::turn_not_found("U"),
    r#"{"code":-32013,"message":"Turn not found: U"}"#
)]
#[case(
    RpcError::turn_not_running("U"),
    r#"{"code":-32014,"message":"Turn is not running: U"}"#
)]
#[case(
    RpcError::approval_timeout(),
    r#"{"code":-32020,"message":"Approval request timed out"}"#
)]
#[case(
    RpcError::channel_rejected("N"),
    r#"{"code":-32030,"message":"Channel adapter rejected: 'N' is not registered in server configuration"}"#
)]
#[case(
    RpcError::cron_job_not_found("J"),
    r#"{"code":-32031,"message":"Cron job not found: J"}"#
)]
#[case(
    RpcError::skill_not_found("S"),
    r#"{"code":-32040,"message":"Skill not found: S"}"#
)]
#[case(
    RpcError::task_not_found("K"),
    r#"{"code":-32051,"message":"Task not found: K"}"#
)]
#[case(
    RpcError::task_state_invalid("It runs."),
    r#"{"code":-32052,"message":"It runs."}"#
)]
#[case(
    RpcError::task_exists("K"),
    r#"{"code":-32054,"message":"Task already exists: K"}"#
)]
#[case(
    RpcError::binding_invalid("T"),
    r#"{"code":-32055,"message":"Thread binding is invalid: T"}"#
)]
#[case(
    RpcError::command_not_found("C"),
    r#"{"code":-32060,"message":"Command not found: C"}"#
)]
#[case(
    RpcError::command_denied("C"),
    r#"{"code":-32061,"message":"Permission denied for command: C"}"#
)]
#[case(
    RpcError::command_service_missing("C"),
    r#"{"code":-32062,"message":"Service unavailable for command: C"}"#
)]
#[case(
    RpcError::mcp_server_not_found("M"),
    r#"{"code":-32070,"message":"MCP server not found: M"}"#
)]
#[case(
    RpcError::mcp_invalid("d"),
    r#"{"code":-32072,"message":"MCP server validation failed","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::mcp_test_failed("d"),
    r#"{"code":-32073,"message":"MCP server test failed","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::mcp_name_conflict("d"),
    r#"{"code":-32074,"message":"MCP server name conflict","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::mcp_read_only("M"),
    r#"{"code":-32075,"message":"MCP server is read-only: M"}"#
)]
#[case(
    RpcError::channel_not_found("X"),
    r#"{"code":-32080,"message":"External channel not found: X"}"#
)]
#[case(
    RpcError::channel_invalid("d"),
    r#"{"code":-32081,"message":"External channel validation failed","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::channel_name_conflict("d"),
    r#"{"code":-32082,"message":"External channel name conflict","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::profile_not_found("P"),
    r#"{"code":-32083,"message":"SubAgent profile not found: P"}"#
)]
#[case(
    RpcError::profile_invalid("d"),
    r#"{"code":-32084,"message":"SubAgent profile validation failed","data":{"detail":"d"}}"#
)]
#[case(
    RpcError::profile_protected("d"),
    r#"{"code":-32085,"message":"SubAgent profile is protected","data":{"detail":"d"}}"#
)]
fn every_error_is_written_as_the_table_says(#[case] error: RpcError, #[case] expected: &str) {
    let text = serde_json::to_string(&error).unwrap();
    assert_eq!(serde_json::from_str::<RpcError>(&text).unwrap(), error);
    let mut written: serde_json::Value = serde_json::from_str(&text).unwrap();
    let data = written["data"].as_object_mut().unwrap();
    for common in ["code", "messageKey", "fallbackText"] {
        assert!(
            data.remove(common).is_some_and(|text| text.is_string()),
            "{common}"
        );
    }
    data.remove("params");
    if data.is_empty() {
        written.as_object_mut().unwrap().remove("data");
    }
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    assert_eq!(written, expected);
    assert_eq!(error.error_code().unwrap().code(), error.code);
}

#[test]
fn codes_are_found_by_number_and_no_number_is_used_twice() {
    assert_eq!(ErrorCode::ALL.len(), 37);
    for code in ErrorCode::ALL {
        assert_eq!(ErrorCode::from_code(code.code()), Some(*code));
    }
    assert_eq!(ErrorCode::from_code(-32005), None);
}

#[test]
fn names_and_descriptions_are_fit_for_the_index() {
    assert_eq!(ErrorCode::McpServerNotFound.name(), "mcpServerNotFound");
    assert_eq!(ErrorCode::TurnNotFound.description(), "Unknown Turn.");
}

#[test]
fn a_quoted_name_is_cut_when_it_is_huge() {
    let error = RpcError::thread_not_found(&"ü".repeat(1_000_000));
    assert_eq!(
        error.message.chars().count(),
        "Thread not found: ".len() + MAX_SUBJECT_CHARS
    );
}

#[test]
fn a_quoted_name_may_hold_anything() {
    assert_eq!(RpcError::skill_not_found("{}\"").message, "Skill not found: {}\"");
}

#[test]
fn a_reason_goes_beside_the_detail() {
    let error = RpcError::client_request_id_reused();
    assert_eq!(error.code, -32602);
    let data = error.data.clone().unwrap();
    assert_eq!(data.reason.as_deref(), Some("clientRequestIdReused"));
    assert_eq!(error.detail(), data.detail.unwrap());
    let data = RpcError::not_initialized().with_reason("x").data.unwrap();
    assert_eq!(
        *data,
        ErrorData {
            code: "NotInitialized".to_owned(),
            message_key: "errors.notInitialized".to_owned(),
            fallback_text: "Not initialized".to_owned(),
            reason: Some("x".to_owned()),
            ..ErrorData::default()
        }
    );
}

#[test]
fn every_error_says_its_kind_as_a_word_and_what_it_quotes() {
    let data = RpcError::thread_not_found("nowhere").data.unwrap();
    assert_eq!(data.code, "ThreadNotFound");
    assert_eq!(data.message_key, "errors.threadNotFound");
    assert_eq!(data.params.unwrap()["threadId"], "nowhere");
    assert_eq!(data.fallback_text, "Thread not found: nowhere");
    let data = RpcError::invalid_params("'limit' must be 1 to 100.")
        .data
        .unwrap();
    assert_eq!(data.fallback_text, "'limit' must be 1 to 100.");
    assert_eq!(data.detail.as_deref(), Some("'limit' must be 1 to 100."));
    assert_eq!(RpcError::overloaded(7).data.unwrap().code, "ServerOverloaded");
}
