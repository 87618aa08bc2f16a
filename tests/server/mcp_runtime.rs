//! MCP servers that run, for clients of today: listed, called outside of a Turn, read, read in again, logged in at.

use bobbin_testkit::kiosk::Kiosk;
use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};

use crate::mcp::{configure, start_with};
use crate::support::{Workspace, rich};

/// Returns the declaration of the server of `clerk.sh`.
pub(crate) fn clerk() -> Value {
    json!({ "command": "/bin/sh", "args": ["-c", include_str!("clerk.sh")] })
}

/// What a client of today declares.
fn today() -> Value {
    json!({ "appBindingVersion": 1, "requestUserInputSupport": true, "mcpElicitation": true })
}

/// Waits until a server is ready with everything that it offers, and returns the list.
pub(crate) async fn listed(client: &mut Client, name: &str) -> Value {
    loop {
        let list = client.call("mcpServerStatus/list", json!({})).await;
        let data = list["data"].as_array().unwrap();
        let found = data.iter().find(|server| server["name"] == *name);
        let is_complete = |server: &&Value| {
            server["startupState"] == "ready"
                && server["resources"].as_array().is_some_and(|all| !all.is_empty())
        };
        if found.as_ref().is_some_and(is_complete) {
            return list;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn error(client: &mut Client, method: &str, params: Value) -> (i64, Value) {
    let error = client.error(method, params).await;
    (error["code"].as_i64().unwrap(), error["data"].clone())
}

#[tokio::test]
async fn a_client_of_today_lists_servers_with_what_they_offer() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(
        home.path(),
        &json!({ "clerk": clerk(), "absent": { "command": "/no/such/server" }, "off": { "command": "x", "enabled": false } }),
    );
    let (mut child, mut client) = start_with(&workspace, &home, today()).await;
    let list = listed(&mut client, "clerk").await;
    let names: Vec<&Value> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["absent", "clerk", "off"]);
    assert_eq!(list["nextCursor"], json!(null));
    let server = &list["data"][1];
    assert_eq!(
        (
            &server["authStatus"],
            &server["transport"],
            &server["serverInfo"]["version"],
            &server["toolCount"]
        ),
        (&json!("unsupported"), &json!("stdio"), &json!("2.1"), &json!(8))
    );
    assert_eq!(
        server["tools"]["spill"],
        json!({ "name": "spill", "inputSchema": { "type": "object" }, "outputSchema": { "type": "object" } })
    );
    assert_eq!(
        server["resources"],
        json!([{ "uri": "tea://menu", "name": "menu", "mimeType": "text/plain" }])
    );
    assert_eq!(
        server["resourceTemplates"],
        json!([{ "uriTemplate": "tea://{leaf}", "name": "leaf", "description": "One leaf." }])
    );
    assert_eq!(list["data"][2]["startupState"], "disabled");

    // Pages, and less of each server.
    let short = json!({ "limit": 2, "detail": "toolsAndAuthOnly" });
    let page = client.call("mcpServerStatus/list", short).await;
    assert_eq!(
        (
            &page["data"][1]["resources"],
            &page["data"][1]["resourceTemplates"]
        ),
        (&json!([]), &json!([]))
    );
    assert!(page["data"][1]["tools"]["plain"].is_object());
    let rest = json!({ "limit": 1, "cursor": page["nextCursor"] });
    let rest = client.call("mcpServerStatus/list", rest).await;
    assert_eq!(
        (&rest["data"][0]["name"], &rest["nextCursor"]),
        (&json!("off"), &json!(null))
    );
    for wrong in [
        json!({ "limit": 0 }),
        json!({ "limit": 101 }),
        json!({ "cursor": "x" }),
        json!({ "detail": "little" }),
    ] {
        assert_eq!(error(&mut client, "mcpServerStatus/list", wrong).await.0, -32602);
    }
    let thread = client.start_thread().await;
    client
        .call("mcpServerStatus/list", json!({ "threadId": thread }))
        .await;
    let nowhere = json!({ "threadId": "nowhere" });
    assert_eq!(
        error(&mut client, "mcpServerStatus/list", nowhere).await.0,
        -32010
    );
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_new_start_is_news_under_both_names_to_clients_of_today_alone() {
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path().join(".craft")).unwrap();
    let server = workspace.web_socket();
    let address = server.address().await;
    let mut new = Client::ready(Link::web_socket(&address).await, "new", today()).await;
    let mut old = Client::ready(Link::web_socket(&address).await, "old", rich()).await;
    let clerk = json!({ "server": { "name": "clerk", "command": "/bin/sh", "args": clerk()["args"] } });
    new.request("mcp/upsert", clerk).await;
    let is_ready = |message: &Value| {
        message["method"] == "mcpServer/startupStatus/updated" && message["params"]["status"] == "ready"
    };
    let mut seen = Vec::new();
    while !seen.last().is_some_and(is_ready) {
        seen.push(new.next().await.unwrap());
    }
    let news: Vec<&Value> = seen
        .iter()
        .filter(|message| {
            message["method"]
                .as_str()
                .is_some_and(|method| method.starts_with("mcp"))
        })
        .collect();
    assert!(news.len() >= 4 && news.len().is_multiple_of(2), "{news:#?}");
    for pair in news.chunks(2) {
        assert_eq!(
            (&pair[0]["method"], &pair[1]["method"]),
            (
                &json!("mcp/status/updated"),
                &json!("mcpServer/startupStatus/updated")
            )
        );
        assert_eq!(pair[0]["params"]["server"]["name"], pair[1]["params"]["name"]);
    }
    assert_eq!(
        news.last().unwrap()["params"],
        json!({ "threadId": null, "name": "clerk", "status": "ready", "error": null, "failureReason": null,
            "transport": "stdio", "authStatus": "unsupported" })
    );
    let is_ready = |message: &Value| {
        message["method"] == "mcp/status/updated" && message["params"]["server"]["startupState"] == "ready"
    };
    old.find("a server that is ready", is_ready).await;
    old.call("mcp/list", json!({})).await;
    let seen = old.finish().await;
    assert!(
        !seen
            .iter()
            .any(|message| message["method"] == "mcpServer/startupStatus/updated")
    );
    new.finish().await;
}

#[tokio::test]
async fn a_client_calls_a_tool_and_gets_the_servers_own_answer() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(
        home.path(),
        &json!({ "clerk": clerk(), "absent": { "command": "/no/such/server" } }),
    );
    let (mut child, mut client) = start_with(&workspace, &home, today()).await;
    listed(&mut client, "clerk").await;
    let thread = client.start_thread().await;
    let call = |tool: &str| json!({ "threadId": thread, "server": "Clerk", "tool": tool });
    // Members and kinds that nobody here knows are in it.
    assert_eq!(
        client.call("mcpServer/tool/call", call("plain")).await,
        json!({ "content": [{ "type": "text", "text": "42", "mint": 1.5 }, { "type": "aroma", "strength": 2 }],
            "isError": false, "_meta": { "a": 1 }, "steam": [1.0] })
    );
    let mut echo = call("echo");
    echo["arguments"] = json!({ "cup": "blue" });
    echo["_meta"] = json!({ "from": "desk" });
    let said = client.call("mcpServer/tool/call", echo).await;
    assert_eq!(
        (&said["content"][0]["mint"], &said["steam"]),
        (&json!(1.5), &json!(1.0))
    );
    let params = &said["structuredContent"]["params"];
    assert_eq!(
        (&params["arguments"], &params["_meta"]["from"]),
        (&json!({ "cup": "blue" }), &json!("desk"))
    );

    // One that an approval would be needed for is refused: nobody is asked outside of a Turn.
    let refused = client.call("mcpServer/tool/call", call("spill")).await;
    assert_eq!(refused["isError"], true);
    let why = refused["content"][0]["text"].as_str().unwrap();
    assert!(why.contains("spill") && why.contains("approval"), "{why}");

    let with = |name: &str, value: Value| {
        let mut params = call("plain");
        params[name] = value;
        params
    };
    for (params, code, word) in [
        (with("threadId", json!("nowhere")), -32010, "nowhere"),
        (with("server", json!("ghost")), -32070, "ghost"),
        (with("tool", json!("ghost")), -32602, "ghost"),
        (with("arguments", json!([1])), -32602, "arguments"),
        (with("_meta", json!("x")), -32602, "_meta"),
        (with("server", json!("absent")), -32603, "does not run"),
        (call("broken"), -32603, "the pot is broken"),
    ] {
        let (found, data) = error(&mut client, "mcpServer/tool/call", params).await;
        assert_eq!(found, code, "{data}");
        assert!(data.to_string().contains(word), "{data}");
    }
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn rules_policy_mode_and_hooks_decide_about_a_clients_call() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    let stop = r#"case $(cat) in *'"leaf":"nettle"'*) echo 'no nettles' >&2; exit 2 ;; esac"#;
    let config = json!({
        "McpServers": { "clerk": clerk() },
        "Permissions": { "Rules": [{ "Action": "deny", "Tool": "mcp__clerk__hello" }] },
        "Hooks": { "PreToolUse": [{ "matcher": "mcp__clerk__echo", "hooks": [{ "type": "command", "command": stop }] }] },
    });
    home.configure(&config);
    let (mut child, mut client) = start_with(&workspace, &home, today()).await;
    listed(&mut client, "clerk").await;
    let thread = client.start_thread().await;
    let call = |tool: &str| json!({ "threadId": thread, "server": "clerk", "tool": tool });
    let refused = async |client: &mut Client, params: Value| {
        let answer = client.call("mcpServer/tool/call", params).await;
        let text = answer["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (answer["isError"] == true).then_some(text)
    };
    let why = refused(&mut client, call("hello")).await.unwrap();
    assert!(why.contains("mcp__clerk__hello"), "{why}");
    let mut nettle = call("echo");
    nettle["arguments"] = json!({ "leaf": "nettle" });
    let why = refused(&mut client, nettle).await.unwrap();
    assert!(why.contains("no nettles"), "{why}");
    assert_eq!(refused(&mut client, call("echo")).await, None);

    // What the policy of the Thread allows runs; in plan mode only what reads does.
    assert!(refused(&mut client, call("spill")).await.is_some());
    let configure = |config: Value| json!({ "threadId": thread, "config": config });
    let auto = configure(json!({ "approvalPolicy": "autoApprove" }));
    client.call("thread/config/update", auto).await;
    assert_eq!(refused(&mut client, call("spill")).await, None);
    let plan = configure(json!({ "approvalPolicy": "autoApprove", "mode": "plan" }));
    client.call("thread/config/update", plan).await;
    assert!(
        refused(&mut client, call("spill"))
            .await
            .unwrap()
            .contains("plan mode")
    );
    let none = configure(json!({ "toolDenyList": ["mcp__clerk__plain"] }));
    client.call("thread/config/update", none).await;
    assert!(
        refused(&mut client, call("plain"))
            .await
            .unwrap()
            .contains("configuration")
    );

    // An approval for the session counts here too.
    client.start_turn(&thread, "call mcp__clerk__spill with {}").await;
    let asked = client.wait_for("item/approval/request").await;
    client
        .reply(&asked, json!({ "decision": "acceptForSession" }))
        .await;
    client.wait_for("turn/completed").await;
    assert_eq!(refused(&mut client, call("spill")).await, None);
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_resource_is_read_as_the_server_has_it() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "clerk": clerk() }));
    let (mut child, mut client) = start_with(&workspace, &home, today()).await;
    listed(&mut client, "clerk").await;
    let read = |server: &str, uri: &str| json!({ "server": server, "uri": uri });
    assert_eq!(
        client
            .call("mcpServer/resource/read", read("clerk", "tea://menu"))
            .await,
        json!({ "contents": [{ "uri": "tea://menu", "text": "Assam", "steam": 1.5 }], "kettle": true })
    );
    let mut nowhere = read("clerk", "tea://menu");
    nowhere["threadId"] = json!("nowhere");
    for (params, code, word) in [
        (nowhere, -32010, "nowhere"),
        (read("ghost", "tea://menu"), -32070, "ghost"),
        (read("clerk", "tea://nettle"), -32603, "there is no such leaf"),
    ] {
        let (found, data) = error(&mut client, "mcpServer/resource/read", params).await;
        assert_eq!(found, code, "{data}");
        assert!(data.to_string().contains(word), "{data}");
    }
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn changed_files_are_read_again() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "clerk": clerk(), "gone": clerk() }));
    configure(workspace.path(), &json!({}));
    let (mut child, mut client) = start_with(&workspace, &home, today()).await;
    listed(&mut client, "gone").await;
    let before = listed(&mut client, "clerk").await["data"][0]["serverInfo"].clone();
    configure(home.path(), &json!({ "clerk": clerk(), "fresh": clerk() }));
    // What a repository brings still waits for its user.
    configure(workspace.path(), &json!({ "foreign": clerk() }));
    let id = client.request("config/mcpServer/reload", json!({})).await;
    let mut started = Vec::new();
    loop {
        let message = client.next().await.unwrap();
        if message["id"] == id {
            assert_eq!(message["result"], json!({}));
            break;
        }
        started.push(message);
    }
    let list = listed(&mut client, "fresh").await;
    assert_eq!(
        list["data"][0]["serverInfo"], before,
        "what has not changed runs on"
    );
    let states: Vec<(&Value, &Value)> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["name"], &one["startupState"]))
        .collect();
    assert_eq!(
        states,
        [
            (&json!("clerk"), &json!("ready")),
            (&json!("foreign"), &json!("idle")),
            (&json!("fresh"), &json!("ready"))
        ]
    );
    std::fs::write(home.path().join(".craft/config.json"), "{").unwrap();
    let (code, data) = error(&mut client, "config/mcpServer/reload", json!({})).await;
    assert_eq!(code, -32603);
    assert!(data["detail"].as_str().unwrap().contains("config.json"), "{data}");
    listed(&mut client, "fresh").await;
    let rest = client.finish().await;
    let seen: Vec<Value> = started.into_iter().chain(rest).collect();
    let changed = |message: &Value| message["method"] == "workspace/configChanged";
    assert_eq!(seen.iter().filter(|message| changed(message)).count(), 1);
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_client_of_today_logs_its_user_in() {
    let (kiosk, serving) = Kiosk::open().await;
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(
        home.path(),
        &json!({ "kiosk": { "url": kiosk.url() }, "clerk": clerk() }),
    );
    let (mut child, mut client) = start_with(&workspace, &home, today()).await;
    let auth = async |client: &mut Client, wanted: &str| loop {
        let list = client.call("mcpServerStatus/list", json!({})).await;
        let kiosk = list["data"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == "kiosk");
        if kiosk.unwrap()["authStatus"] == wanted {
            return kiosk.unwrap().get("failureReason").cloned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(auth(&mut client, "notLoggedIn").await, None);
    for (params, code, word) in [
        (json!({ "name": "clerk" }), -32602, "no login"),
        (json!({ "name": "ghost" }), -32070, "ghost"),
        (
            json!({ "name": "kiosk", "threadId": "nowhere" }),
            -32010,
            "nowhere",
        ),
        (json!({ "name": "kiosk", "scopes": ["a b"] }), -32602, "scopes"),
        (
            json!({ "name": "kiosk", "timeoutSecs": 0 }),
            -32602,
            "timeoutSecs",
        ),
    ] {
        let (found, data) = error(&mut client, "mcpServer/oauth/login", params).await;
        assert_eq!(found, code, "{data}");
        assert!(data.to_string().contains(word), "{data}");
    }
    let short = json!({ "name": "kiosk", "timeoutSecs": 1 });
    client.call("mcpServer/oauth/login", short).await;
    let ended = client.wait_for("mcpServer/oauthLogin/completed").await;
    assert_eq!(
        (&ended["params"]["success"], &ended["params"]["threadId"]),
        (&json!(false), &json!(null))
    );
    assert!(
        ended["params"]["error"]
            .as_str()
            .unwrap()
            .contains("nobody answered")
    );
    let wide = json!({ "name": "kiosk", "scopes": ["sell", "pour"] });
    let login = client.call("mcpServer/oauth/login", wide).await;
    let page = login["authorizationUrl"].as_str().unwrap();
    assert!(page.contains("scope=") && page.contains("pour"), "{page}");
    kiosk.browse(page, "/callback", "code=leaf&state=STATE").await;
    let ended = client.wait_for("mcpServer/oauthLogin/completed").await;
    assert_eq!(
        ended["params"],
        json!({ "name": "kiosk", "threadId": null, "success": true })
    );
    auth(&mut client, "oAuth").await;
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    serving.abort();
}
