//! Checks the requests and capabilities in `docs/contributing/protocol-coverage.md` against a running server.

use std::collections::BTreeSet;

use bobbin_testkit::Client;
use serde_json::json;

use crate::support::Server;

const PAGE: &str = include_str!("../../../../docs/contributing/protocol-coverage.md");

/// The names in a section of the page, and whether the page says that they exist.
fn rows(section: &str) -> Vec<(&'static str, bool)> {
    let sections = PAGE.split("\n## ");
    let text = sections
        .filter_map(|text| text.strip_prefix(section))
        .find(|rest| rest.starts_with('\n'))
        .expect("the page has this section");
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let there = cells[3] != "not here";
        let names = cells[1].split('`').skip(1).step_by(2);
        // This server has no MCP servers, no FineCode runners, no Hermes extensions, no commands, no forwards, no
        // suggestions, no doctor, no configuration, no checkpoints, no record of trust and no jobs. So it lacks those
        // families; the method of the last says so.
        let beside = |name: &str| {
            let families = [
                "mcp",
                "finecode/",
                "hermes/",
                "terminal/",
                "forward/",
                "workspace/commitMessage/",
                "workspace/config/",
                "workspace/files/",
                "doctor/",
                "turn/picture/",
                "device/",
                "externalChannel",
                "channel/status",
                "channel/send",
                "channelStatus",
                "subagent/profiles/",
                "subagent/settings/",
                "cron/",
                "heartbeat/",
                "automation/",
                "plugin",
                "workspace/trust/",
                "welcome/",
            ];
            families.iter().any(|family| name.starts_with(family))
                || [
                    "backgroundTerminals",
                    "subAgentManagement",
                    "cronManagement",
                    "heartbeatManagement",
                    "automations",
                    "turnRevert",
                    "workspaceTrust",
                    "workspaceConfigManagement",
                ]
                .contains(&name)
        };
        rows.extend(names.map(|name| (name, there && !beside(name))));
    }
    rows
}

#[tokio::test]
async fn every_request_is_there_exactly_if_the_page_says_so() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let rows = rows("Requests");
    assert!(rows.len() > 70, "{}", rows.len());
    for (method, there) in rows {
        // An empty request is refused by its own rules, answered, or unknown.
        let answer = client.answer_to(method, json!({})).await;
        let known = answer["error"]["code"] != -32601;
        assert_eq!(known, there, "{method}: {answer}");
        if !known {
            let message = format!("Method not found: {method}");
            assert_eq!(answer["error"]["message"], message);
        }
    }
}

#[tokio::test]
async fn every_capability_is_advertised_exactly_if_the_page_says_so() {
    let server = Server::start().await;
    let mut client = Client::new(server.link());
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    let result = client.call("initialize", info).await;
    let capabilities = result["capabilities"].as_object().unwrap();
    let advertised: BTreeSet<_> = capabilities.keys().map(String::as_str).collect();
    let claimed = rows("Server capabilities")
        .into_iter()
        .filter(|(_, there)| *there);
    assert_eq!(advertised, claimed.map(|(name, _)| name).collect());
    assert!(capabilities.values().all(|value| *value != false));
}
