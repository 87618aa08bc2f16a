//! The table of methods.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;

use super::*;

#[test]
fn every_method_has_one_row_per_direction() {
    let rows: BTreeSet<_> = METHODS
        .iter()
        .map(|method| (method.direction as u8, method.name))
        .collect();
    assert_eq!(rows.len(), METHODS.len());
}

#[test]
fn requests_have_results_and_notifications_have_none() {
    for method in METHODS {
        let answered = matches!(method.direction, Direction::Request | Direction::ServerRequest);
        assert_eq!(method.result.is_some(), answered, "{}", method.name);
        assert!(answered || method.errors.is_empty(), "{}", method.name);
    }
}

#[test]
fn rows_are_found_by_direction_and_name() {
    let found = Method::find(Direction::Request, request::TURN_START).unwrap();
    assert_eq!(found.params.name(), "TurnStartParams");
    assert_eq!(found.errors.len(), 3);
    let found = Method::find(
        Direction::ClientNotification,
        client_notification::THREAD_SUBSCRIBE,
    )
    .unwrap();
    assert!(found.result.is_none());
    assert!(Method::find(Direction::Notification, request::TURN_START).is_none());
}

fn members(shape: Shape) -> BTreeSet<String> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let schema = shape.schema(&mut generator);
    let properties = schema
        .get("properties")
        .and_then(|properties| properties.as_object());
    properties
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default()
}

#[test]
fn exactly_the_requests_that_change_something_take_a_client_request_id() {
    let reading = [
        request::INITIALIZE,
        request::THREAD_LIST,
        request::THREAD_READ,
        request::THREAD_SEARCH,
        request::THREAD_SUBSCRIBE,
        request::THREAD_UNSUBSCRIBE,
        request::CHANNEL_LIST,
        request::SUBAGENT_CHILDREN_LIST,
        request::TERMINAL_LIST,
        request::TERMINAL_READ,
        request::MCP_LIST,
        request::MCP_GET,
        request::MCP_STATUS_LIST,
        request::MCP_TEST,
        request::SKILLS_LIST,
        request::SKILLS_READ,
        request::SKILLS_VIEW,
        request::COMMAND_LIST,
        // Change something, and do no harm when they are sent twice.
        request::SKILLS_RESTORE_ORIGINAL,
        request::SKILLS_SET_ENABLED,
        request::SKILLS_UNINSTALL,
        request::WORKSPACE_COMMIT_MESSAGE_SUGGEST,
        request::WELCOME_SUGGESTIONS,
        request::MODEL_LIST,
        request::SERVER_STATS,
        request::POLICY_EXPLAIN,
        request::APPROVAL_RULES_LIST,
        request::WORKSPACE_TRUST_GET,
    ];
    for method in METHODS
        .iter()
        .filter(|method| method.direction == Direction::Request)
    {
        let takes_one = members(method.params).contains("clientRequestId");
        assert_eq!(takes_one, !reading.contains(&method.name), "{}", method.name);
    }
}

#[test]
fn exactly_the_events_of_a_thread_carry_a_number() {
    let unnumbered = [
        notification::SYSTEM_JOB_RESULT,
        notification::SUBAGENT_GRAPH_CHANGED,
        // As durable as the call that asks.
        notification::ITEM_TOOL_REQUEST_USER_INPUT_RESOLVED,
        notification::MCP_STATUS_UPDATED,
        notification::WORKSPACE_CONFIG_CHANGED,
        notification::WORKSPACE_TRUST_CHANGED,
        notification::TERMINAL_STARTED,
        notification::TERMINAL_OUTPUT_DELTA,
        notification::TERMINAL_COMPLETED,
        notification::TERMINAL_STALLED,
        notification::TERMINAL_CLEANED,
    ];
    for method in METHODS
        .iter()
        .filter(|method| method.direction == Direction::Notification)
    {
        let numbered = members(method.params).contains("seq");
        assert_eq!(numbered, !unnumbered.contains(&method.name), "{}", method.name);
    }
}
