//! What holds for every row of the joined tables.

use std::collections::BTreeSet;

use bobbin_native::group::Shape;
use schemars::generate::SchemaSettings;

use super::*;

#[test]
fn every_method_has_one_row_per_direction() {
    let rows: BTreeSet<_> = groups()
        .methods()
        .map(|method| (method.direction as u8, method.name))
        .collect();
    assert_eq!(rows.len(), groups().methods().count());
}

#[test]
fn requests_have_results_and_notifications_have_none() {
    for method in groups().methods() {
        let answered = matches!(method.direction, Direction::Request | Direction::ServerRequest);
        assert_eq!(method.result.is_some(), answered, "{}", method.name);
        assert!(answered || method.errors.is_empty(), "{}", method.name);
    }
}

#[test]
fn rows_are_found_by_direction_and_name() {
    let found = groups().find(Direction::Request, "turn/start").unwrap();
    assert_eq!(found.params.name(), "TurnStartParams");
    assert_eq!(found.errors.len(), 3);
    let found = groups()
        .find(Direction::ClientNotification, "thread/subscribe")
        .unwrap();
    assert!(found.result.is_none());
    assert!(groups().find(Direction::Notification, "turn/start").is_none());
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

/// Returns whether a method is of a feature beside the record of Threads: extensions of Hermes, runners of FineCode,
/// paired browsers.
fn is_beside_threads(name: &str) -> bool {
    let features = [
        "hermes/",
        "finecode/",
        "device/",
        "cron/",
        "heartbeat/",
        "automation/",
        "plugin/",
    ];
    features.iter().any(|feature| name.starts_with(feature))
}

#[test]
fn exactly_the_requests_that_change_something_take_a_client_request_id() {
    let reading = [
        "initialize",
        "thread/list",
        "thread/read",
        "thread/search",
        "thread/subscribe",
        "thread/unsubscribe",
        "channel/list",
        "channel/status",
        "externalChannel/list",
        "externalChannel/get",
        "subagent/children/list",
        "subagent/profiles/list",
        "turn/picture/read",
        "turn/diff/read",
        "workspace/files/find",
        "terminal/list",
        "terminal/read",
        "mcp/list",
        "mcp/get",
        "mcp/status/list",
        "mcp/test",
        "mcp/tool/list",
        "mcp/resource/list",
        "mcp/resource/read",
        "mcp/prompt/list",
        "mcp/prompt/get",
        "skills/list",
        "skills/read",
        "skills/view",
        "command/list",
        // Change something, and do no harm when they are sent twice.
        "skills/restoreOriginal",
        "skills/setEnabled",
        "skills/uninstall",
        "workspace/config/update",
        "mcp/login",
        "mcp/logout",
        // End with the connection that asked.
        "forward/start",
        "forward/stop",
        "forward/list",
        "workspace/config/schema",
        "workspace/defaults/read",
        "doctor/run",
        "workspace/commitMessage/suggest",
        "welcome/suggestions",
        "model/list",
        "server/stats",
        "policy/explain",
        "approval/rules/list",
        "workspace/trust/get",
    ];
    for method in groups()
        .methods()
        .filter(|method| method.direction == Direction::Request && !is_beside_threads(method.name))
    {
        let takes_one = members(method.params).contains("clientRequestId");
        assert_eq!(takes_one, !reading.contains(&method.name), "{}", method.name);
    }
}

#[test]
fn exactly_the_events_of_a_thread_carry_a_number() {
    let unnumbered = [
        "system/jobResult",
        "subagent/graphChanged",
        // As durable as the call that asks.
        "item/tool/requestUserInput/resolved",
        "mcp/status/updated",
        "mcp/login/completed",
        "workspace/configChanged",
        "workspace/trustChanged",
        "terminal/started",
        "terminal/outputDelta",
        "terminal/completed",
        "terminal/stalled",
        "terminal/cleaned",
        "forward/ended",
    ];
    for method in groups()
        .methods()
        .filter(|method| method.direction == Direction::Notification && !is_beside_threads(method.name))
    {
        let numbered = members(method.params).contains("seq");
        assert_eq!(numbered, !unnumbered.contains(&method.name), "{}", method.name);
    }
}
