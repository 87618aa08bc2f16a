//! What holds for every row of the joined tables.

use std::collections::BTreeSet;

use bobbin_native::group::Shape;
use bobbin_native::group::need::Need;
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
        "hooks/",
        "shell/",
    ];
    features.iter().any(|feature| name.starts_with(feature))
}

/// Requests that change something, take no `clientRequestId`, and do no harm when they are sent twice.
const HARMLESS: [&str; 21] = [
    "skills/restoreOriginal",
    "skills/setEnabled",
    "skills/uninstall",
    "workspace/config/update",
    "config/value/write",
    "config/batchWrite",
    "provider/create",
    "provider/update",
    "provider/delete",
    "provider/test",
    "mcp/test",
    "mcp/login",
    "mcp/logout",
    "doctor/run",
    "workspace/commitMessage/suggest",
    "welcome/suggestions",
    // A server's login and its reload are the same when sent twice. A call is the server's own business: no Thread has it.
    "mcpServer/oauth/login",
    "config/mcpServer/reload",
    "mcpServer/tool/call",
    // They end with the connection that asked.
    "forward/start",
    "forward/stop",
];
/// Requests that read secrets, or what belongs to the owner alone.
const SECRET: [&str; 19] = [
    "audit/list",
    "config/read",
    "device/list",
    "externalChannel/get",
    "externalChannel/list",
    "externalChannel/logs",
    "forward/list",
    "git/fetch/plan",
    "git/pullRequest/plan",
    "git/push/plan",
    "hooks/list",
    "mcp/get",
    "mcp/list",
    "mcp/prompt/get",
    "mcp/resource/list",
    "mcp/resource/read",
    "mcpServer/resource/read",
    "provider/list",
    "subagent/profiles/list",
];

#[test]
fn requests_that_change_something_take_a_client_request_id() {
    for method in groups()
        .methods()
        .filter(|method| method.direction == Direction::Request && !is_beside_threads(method.name))
    {
        let takes_one = members(method.params).contains("clientRequestId");
        let harmless = HARMLESS.contains(&method.name) || SECRET.contains(&method.name);
        let should = method.need != Need::Read && !harmless;
        assert_eq!(takes_one, should, "{}", method.name);
    }
}

#[test]
fn members_that_need_another_right_are_members() {
    for method in groups().methods() {
        for (path, need) in method.members {
            assert_ne!(*need, method.need, "{}: {path}", method.name);
            let mut generator = SchemaSettings::draft2020_12().into_generator();
            let mut schema = method.params.schema(&mut generator).to_value();
            let types = generator.take_definitions(false);
            for name in path.split('.') {
                let properties = schema["properties"][name].clone();
                assert!(properties.is_object(), "{}: {path}", method.name);
                let named = [&properties, &properties["anyOf"][0], &properties["allOf"][0]]
                    .into_iter()
                    .find_map(|schema| schema["$ref"].as_str()?.rsplit('/').next());
                schema = named.map_or(properties.clone(), |name| types[name].clone());
            }
        }
    }
}

#[test]
fn exactly_the_events_of_a_thread_carry_a_number() {
    let unnumbered = [
        "system/jobResult",
        "subagent/graphChanged",
        "subagent/graph/changed",
        "mcp/status/updated",
        "mcp/login/completed",
        "mcpServer/startupStatus/updated",
        "mcpServer/oauthLogin/completed",
        "workspace/configChanged",
        "config/changed",
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
