//! Who gets no shell. What a shell does is in `tests/server/shells.rs`, over the whole binary.
#![cfg(test)]

use std::sync::Arc;

use bobbin_agent_api::{Features, Services};
use bobbin_children::{Children, Environment};
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_shells::{GROUPS, Shells};
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use serde_json::{Value, json};

/// Connects a client as if it had come through `endpoint`.
async fn client(workspace: &TestWorkspace, endpoint: Endpoint, capabilities: Value) -> Client {
    let threads = workspace
        .open_with(Arc::new(ScriptEngine::default()), |_| {})
        .await;
    let shells = Shells::new(Children::new(None), "/bin/sh".into(), Environment::empty());
    let services = Services {
        others: Features::default().with(shells),
        ..Services::default()
    };
    let groups = Groups::of(&[bobbin_native::GROUPS, GROUPS]);
    let native = Arc::new(bobbin_native::Server::new(threads, services, groups));
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::lines(reader, writer, Limits::default());
    // Ends with its client.
    tokio::spawn(bobbin_native::serve(transport, endpoint, native));
    let (reader, writer) = tokio::io::split(far);
    Client::ready(Link::lines(reader, writer), "test", capabilities).await
}

/// Asks for everything. Returns the reasons of the refusals, without the same ones.
async fn reasons(client: &mut Client) -> Vec<String> {
    let shell = json!({ "id": "shell_1" });
    let asked = [
        ("shell/open", json!({ "columns": 80, "rows": 24 })),
        ("shell/list", json!({})),
        ("shell/attach", shell.clone()),
        ("shell/detach", shell.clone()),
        ("shell/write", json!({ "id": "shell_1", "dataBase64": "" })),
        (
            "shell/resize",
            json!({ "id": "shell_1", "columns": 80, "rows": 24 }),
        ),
        ("shell/close", shell),
    ];
    let mut reasons = Vec::new();
    for (method, params) in asked {
        let error = client.error(method, params).await;
        assert!(
            error["data"]["detail"]
                .as_str()
                .is_some_and(|why| !why.is_empty()),
            "{error}"
        );
        reasons.push(error["data"]["reason"].as_str().unwrap_or_default().to_owned());
    }
    reasons.dedup();
    reasons
}

#[tokio::test]
async fn a_connection_that_others_can_read_has_no_shells() {
    let workspace = TestWorkspace::default();
    let open = Endpoint::WebSocket {
        is_private: false,
        actor: bobbin_native::Actor::Owner,
    };
    let mut far = client(&workspace, open, json!({})).await;
    assert_eq!(reasons(&mut far).await, ["notPrivate"]);
}

#[tokio::test]
async fn a_private_connection_and_this_machines_programs_are_asked_for_nothing_more() {
    for endpoint in [
        Endpoint::Stdio,
        Endpoint::Local(bobbin_native::LocalClient::default()),
        Endpoint::WebSocket {
            is_private: true,
            actor: bobbin_native::Actor::Owner,
        },
    ] {
        let workspace = TestWorkspace::default();
        let mut near = client(&workspace, endpoint, json!({})).await;
        assert_eq!(near.call("shell/list", json!({})).await, json!({ "shells": [] }));
        let open = json!({ "columns": 80, "rows": 24 });
        // There is nothing here that ends what a shell leaves.
        let error = near.error("shell/open", open).await;
        assert_eq!(error["data"]["reason"], "notStarted");
        let none = near.error("shell/attach", json!({ "id": "shell_1" })).await;
        assert_eq!(none["data"]["reason"], "shellNotFound");
        for size in [(0, 24), (80, 1001)] {
            let open = json!({ "columns": size.0, "rows": size.1 });
            assert_eq!(near.error("shell/open", open).await["code"], -32602);
        }
    }
}

#[tokio::test]
async fn an_adapter_of_a_channel_has_no_shells() {
    let workspace = TestWorkspace::default();
    let mut started = client(&workspace, Endpoint::Adapter("pigeon".into()), json!({})).await;
    assert_eq!(reasons(&mut started).await, ["notOwner"]);
    drop(started);
    let workspace = TestWorkspace::default();
    let says_so = json!({ "channelAdapter": { "channelName": "pigeon" } });
    let mut came = client(
        &workspace,
        Endpoint::WebSocket {
            is_private: true,
            actor: bobbin_native::Actor::Owner,
        },
        says_so,
    )
    .await;
    assert_eq!(reasons(&mut came).await, ["notOwner"]);
}
