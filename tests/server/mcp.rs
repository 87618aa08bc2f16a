//! MCP servers under the whole binary: in Turns, over the doors, and as something a repository brings along.

use std::path::Path;
use std::process::Stdio;

use bobbin_testkit::{Client, Link, tea_server};
use serde_json::{Value, json};
use tokio::process::Child;

use crate::eca;
use crate::support::{ALONE, Workspace, rich};

/// The server's own process; see `bobbin_testkit::tea_server`.
#[test]
#[ignore = "not a test: the process that the others speak with"]
fn pantry() {
    tea_server::serve();
}

pub(crate) fn entry(workspace: &Workspace) -> Value {
    let (command, args) = tea_server::command("mcp::pantry");
    json!({ "command": command, "args": args, "env": { tea_server::LOG: log(workspace) } })
}

fn log(workspace: &Workspace) -> String {
    workspace.path().join("log").to_string_lossy().into_owned()
}

pub(crate) fn noted(workspace: &Workspace) -> Vec<String> {
    let text = std::fs::read_to_string(log(workspace)).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

pub(crate) fn configure(directory: &Path, servers: &Value) {
    std::fs::create_dir_all(directory.join(".craft")).unwrap();
    let text = json!({ "McpServers": servers }).to_string();
    std::fs::write(directory.join(".craft/config.json"), text).unwrap();
}

/// Starts a server whose user has this home.
pub(crate) async fn start(workspace: &Workspace, home: &Workspace) -> (Child, Client) {
    start_with(workspace, home, rich()).await
}

/// As [`start`], with a client of these capabilities.
pub(crate) async fn start_with(
    workspace: &Workspace,
    home: &Workspace,
    capabilities: Value,
) -> (Child, Client) {
    let mut child = workspace
        .bobbin(&["app-server", "--listen", ALONE, "--log", "error"])
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let link = Link::lines(child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (child, Client::ready(link, "me", capabilities).await)
}

async fn status(client: &mut Client) -> Value {
    let listed = client.call("mcp/status/list", json!({})).await;
    listed["servers"][0].clone()
}

async fn ready(client: &mut Client) {
    if status(client).await["startupState"] == "ready" {
        return;
    }
    let is_ready = |message: &Value| {
        message["method"] == "mcp/status/updated" && message["params"]["server"]["startupState"] == "ready"
    };
    client.find("a server that is ready", is_ready).await;
}

fn result_of(turn: &Value) -> (&str, bool) {
    let items = turn["params"]["turn"]["items"].as_array().unwrap();
    let result = items.iter().find(|item| item["type"] == "toolResult").unwrap();
    let payload = &result["payload"];
    (
        payload["result"].as_str().unwrap(),
        payload["success"].as_bool().unwrap(),
    )
}

#[tokio::test]
async fn a_tool_of_a_server_runs_in_a_turn_once_it_is_approved() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "pantry": entry(&workspace) }));
    let (mut child, mut client) = start(&workspace, &home).await;
    let thread = client.start_thread().await;
    // No word of waiting for the server: the first Turn does that by itself.
    client
        .start_turn(&thread, r#"call mcp__pantry__pour with {"cup": "blue"}"#)
        .await;
    let asked = client.wait_for("item/approval/request").await;
    let params = &asked["params"];
    assert_eq!(
        (&params["approvalType"], &params["operation"], &params["target"]),
        (
            &json!("remoteResource"),
            &json!("pour"),
            &json!("mcp:pantry/pour")
        )
    );
    assert!(!noted(&workspace).contains(&"pour".to_owned()));
    client.reply(&asked, json!({ "decision": "accept" })).await;
    let ended = client.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("poured blue away", true));
    // One that only reads is not asked about.
    client
        .start_turn(&thread, r#"call mcp__pantry__steep with {"minutes": 4}"#)
        .await;
    let seen = client.until("turn/completed").await;
    assert!(
        seen.iter()
            .all(|message| message["method"] != "item/approval/request")
    );
    assert_eq!(result_of(seen.last().unwrap()), ("steeped for 4 minutes", true));
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
    assert_eq!(noted(&workspace), ["started", "pour", "steep", "ended"]);
}

#[tokio::test]
async fn a_server_that_comes_with_the_workspace_is_not_started_until_a_person_allows_it() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(workspace.path(), &json!({ "pantry": entry(&workspace) }));
    let (mut child, mut client) = start(&workspace, &home).await;
    let shown = status(&mut client).await;
    assert_eq!(shown["startupState"], "idle");
    assert!(shown["lastError"].as_str().unwrap().contains("bobbin trust"));
    let thread = client.start_thread().await;
    client.start_turn(&thread, "call mcp__pantry__steep").await;
    let ended = client.wait_for("turn/completed").await;
    assert!(!result_of(&ended).1);
    client.finish().await;
    child.wait().await.unwrap();
    assert_eq!(noted(&workspace), Vec::<String>::new());

    let allow = ["mcp", "allow", "pantry"];
    let allowed = workspace
        .bobbin(&allow)
        .env("HOME", home.path())
        .output()
        .await
        .unwrap();
    assert!(allowed.status.success(), "{allowed:?}");
    let (mut child, mut client) = start(&workspace, &home).await;
    ready(&mut client).await;
    client.finish().await;
    child.wait().await.unwrap();
    assert_eq!(noted(&workspace), ["started", "ended"]);

    // Another command under the same name is another server.
    let mut other = entry(&workspace);
    other["args"][0] = json!("-xc");
    configure(workspace.path(), &json!({ "pantry": other }));
    let (mut child, mut client) = start(&workspace, &home).await;
    assert_eq!(status(&mut client).await["startupState"], "idle");
    client.finish().await;
    child.wait().await.unwrap();
    assert_eq!(noted(&workspace).len(), 2);
}

#[tokio::test]
async fn servers_are_managed_over_the_wire() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    std::fs::create_dir_all(workspace.path().join(".craft")).unwrap();
    let file = workspace.path().join(".craft/config.json");
    std::fs::write(&file, "{ \"Model\": \"m\", \"Ratio\": 1.50 }").unwrap();
    let (mut child, mut client) = start(&workspace, &home).await;
    assert_eq!(client.call("mcp/list", json!({})).await, json!({ "servers": [] }));

    let mut server = entry(&workspace);
    server["name"] = json!("pantry");
    server["transport"] = json!("stdio");
    let tested = client.call("mcp/test", json!({ "server": server })).await;
    assert_eq!(tested, json!({ "success": true, "toolCount": 6 }));
    let absent = json!({ "name": "x", "transport": "stdio", "command": "/no/such/pantry" });
    let tested = client.call("mcp/test", json!({ "server": absent })).await;
    assert_eq!(
        (&tested["success"], &tested["errorCode"]),
        (&json!(false), &json!("McpServerTestFailed"))
    );

    // The folder's model waits for its user.
    client.wait_for("system/event").await;
    let id = client.request("mcp/upsert", json!({ "server": server })).await;
    let first = client.next().await.unwrap();
    assert_eq!(first["id"], id, "the answer comes before what it causes");
    let stored = &first["result"]["server"];
    assert_eq!(
        (&stored["origin"]["kind"], &stored["readOnly"]),
        (&json!("workspace"), &json!(false))
    );
    assert_eq!(stored["env"], server["env"]);
    let changed = client.wait_for("workspace/configChanged").await;
    assert_eq!(
        (&changed["params"]["source"], &changed["params"]["regions"]),
        (&json!("mcp/upsert"), &json!(["mcp"]))
    );
    ready(&mut client).await;
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.contains("\"Model\": \"m\",\n  \"Ratio\": 1.50,\n"),
        "{written}"
    );
    let got = client.call("mcp/get", json!({ "name": "PANTRY" })).await;
    assert_eq!(got["server"]["name"], "pantry");

    let odd = json!({ "server": { "name": "x", "transport": "stdio", "command": "x", "url": "http://y" } });
    let errors = [
        ("mcp/get", json!({ "name": "ghost" }), -32070),
        ("mcp/remove", json!({ "name": "ghost" }), -32070),
        ("mcp/upsert", odd, -32072),
        (
            "mcp/upsert",
            json!({ "server": { "name": " ", "command": "x" } }),
            -32072,
        ),
    ];
    for (method, params, code) in errors {
        assert_eq!(client.error(method, params).await["code"], code, "{method}");
    }
    assert_eq!(
        client.call("mcp/remove", json!({ "name": "Pantry" })).await,
        json!({ "removed": true })
    );
    assert_eq!(client.call("mcp/list", json!({})).await, json!({ "servers": [] }));
    client.finish().await;
    child.wait().await.unwrap();
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains("\"McpServers\": {}")
    );
}

#[tokio::test]
async fn a_server_is_added_tried_and_removed_on_the_command_line() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    home.configure(&json!({ "Model": "offline" }));
    let run = async |args: &[&str]| {
        let ran = workspace.bobbin(args).env("HOME", home.path()).output();
        let ran = ran.await.unwrap();
        (
            ran.status.success(),
            String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned(),
        )
    };
    let (command, args) = tea_server::command("mcp::pantry");
    let set = format!("{}={}", tea_server::LOG, log(&workspace));
    for here in [&[][..], &["--here"]] {
        let mut add = [
            &["mcp", "add", "pantry", "--env", &set][..],
            here,
            &["--", &command],
        ]
        .concat();
        add.extend(args.iter().map(String::as_str));
        let (added, said) = run(&add).await;
        assert!(added && said.contains("bobbin mcp test pantry"), "{said}");
        assert_eq!(
            run(&["mcp", "test", "pantry"]).await,
            (true, "pantry: works, 6 tools\n".to_owned())
        );
        let remove = [&["mcp", "remove", "PANTRY"][..], here].concat();
        assert!(run(&remove).await.0);
        let (removed, said) = run(&remove).await;
        assert!(
            !removed && said.contains("there is no MCP server PANTRY"),
            "{said}"
        );
    }
    let written = std::fs::read_to_string(home.path().join(".craft/config.json")).unwrap();
    assert!(written.contains("\"offline\""), "{written}");
    let (added, said) = run(&["mcp", "add", "pantry"]).await;
    assert!(!added && said.contains("--url"), "{said}");
}

#[tokio::test]
async fn what_a_server_has_is_listed_read_and_filled_in_over_the_wire() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "pantry": entry(&workspace) }));
    let (mut child, mut client) = start(&workspace, &home).await;
    ready(&mut client).await;
    let page = client.call("mcp/tool/list", json!({ "limit": 4 })).await;
    let names = |page: &Value| -> Vec<String> {
        let tools = page["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&page).len(), 4);
    assert_eq!(
        (&page["tools"][0]["offeredAs"], &page["tools"][0]["annotations"]),
        (&json!("mcp__pantry__steep"), &json!({ "readOnlyHint": true }))
    );
    let rest = json!({ "server": "PANTRY", "cursor": page["nextCursor"] });
    let rest = client.call("mcp/tool/list", rest).await;
    assert_eq!((names(&rest).len(), &rest["nextCursor"]), (2, &json!(null)));
    // What it has besides is listed a moment later.
    let resources = loop {
        let listed = client.call("mcp/resource/list", json!({})).await;
        if listed["resources"]
            .as_array()
            .is_some_and(|listed| !listed.is_empty())
        {
            break listed;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(resources["resources"][0]["uri"], "tea://menu");
    let read = json!({ "server": "pantry", "uri": "tea://menu" });
    assert!(
        !client.call("mcp/resource/read", read).await["text"]
            .as_str()
            .unwrap()
            .is_empty()
    );
    let prompts = client.call("mcp/prompt/list", json!({})).await;
    assert_eq!(prompts["prompts"][0]["name"], "brew");
    let fill = json!({ "server": "pantry", "name": "brew", "arguments": { "leaf": "green" } });
    let filled = client.call("mcp/prompt/get", fill).await["text"].clone();
    assert!(filled.as_str().unwrap().contains("green"), "{filled}");
    for (method, params) in [
        ("mcp/tool/list", json!({ "server": "ghost" })),
        ("mcp/resource/read", json!({ "server": "ghost", "uri": "x" })),
    ] {
        assert_eq!(client.error(method, params).await["code"], -32070, "{method}");
    }

    // A prompt is a command of its own.
    let commands = client.call("command/list", json!({})).await;
    let mut commands = commands["commands"].as_array().unwrap().iter();
    assert!(commands.any(|command| command["name"] == "/pantry:brew"));
    let thread = client.start_thread().await;
    let execute = json!({ "threadId": thread, "command": "/pantry:brew", "arguments": ["green"] });
    let executed = client.call("command/execute", execute).await;
    assert_eq!(executed["expandedPrompt"], filled);
    let missing = json!({ "threadId": thread, "command": "/pantry:brew" });
    let why = client.error("command/execute", missing).await;
    assert!(
        why["data"]["detail"].as_str().unwrap().contains("needs leaf"),
        "{why}"
    );
    client.finish().await;
    child.wait().await.unwrap();
}

#[tokio::test]
async fn a_server_of_the_users_cannot_be_changed_or_replaced_from_the_workspace() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "pantry": entry(&workspace) }));
    configure(
        workspace.path(),
        &json!({ "Pantry": { "command": "/no/such/pantry" } }),
    );
    let (mut child, mut client) = start(&workspace, &home).await;
    ready(&mut client).await;
    let listed = client.call("mcp/list", json!({})).await;
    assert_eq!(listed["servers"].as_array().unwrap().len(), 1);
    assert_eq!(listed["servers"][0]["origin"]["kind"], "user");
    let server = json!({ "server": { "name": "pantry", "command": "x" } });
    assert_eq!(client.error("mcp/upsert", server).await["code"], -32075);
    client.finish().await;
    child.wait().await.unwrap();
}

#[tokio::test]
async fn a_server_goes_into_the_file_that_the_client_names() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    let (mut child, mut client) = start_with(&workspace, &home, json!({ "mcpElicitation": true })).await;
    let server = |scope: &str, command: &str| json!({ "server": { "name": "pantry", "command": command, "enabled": false }, "scope": scope });
    let in_file = |of: &Workspace| {
        let text = std::fs::read_to_string(of.path().join(".craft/config.json")).unwrap_or_default();
        let file: Value = serde_json::from_str(&text).unwrap_or_default();
        file["McpServers"]["pantry"]["Command"].clone()
    };
    let of_user = client.call("mcp/upsert", server("user", "mine")).await;
    assert_eq!(
        (
            &of_user["server"]["origin"]["kind"],
            &of_user["server"]["readOnly"]
        ),
        (&json!("user"), &json!(false))
    );
    assert_eq!(
        (in_file(&home), in_file(&workspace)),
        (json!("mine"), Value::Null)
    );
    // The workspace's hides it, and its removal shows it again.
    client.call("mcp/upsert", server("workspace", "theirs")).await;
    let of_user = client.call("mcp/upsert", server("user", "mine again")).await;
    assert_eq!(of_user["server"]["command"], "mine again");
    let get = async |client: &mut Client| {
        let found = client.call("mcp/get", json!({ "name": "pantry" })).await;
        (
            found["server"]["origin"]["kind"].clone(),
            found["server"]["command"].clone(),
        )
    };
    assert_eq!(get(&mut client).await, (json!("workspace"), json!("theirs")));
    let remove = |scope: &str| json!({ "name": "pantry", "scope": scope });
    client.call("mcp/remove", remove("workspace")).await;
    assert_eq!(get(&mut client).await, (json!("user"), json!("mine again")));
    assert_eq!(
        client.error("mcp/remove", json!({ "name": "pantry" })).await["code"],
        -32075
    );
    client.call("mcp/remove", remove("user")).await;
    assert_eq!((in_file(&home), in_file(&workspace)), (Value::Null, Value::Null));
    let gone = client.error("mcp/remove", remove("user")).await;
    assert_eq!(gone["code"], -32070);
    assert_eq!(
        client.error("mcp/upsert", server("planet", "x")).await["code"],
        -32602
    );
    client.finish().await;
    child.wait().await.unwrap();
}

#[tokio::test]
async fn an_editor_sees_stops_starts_and_calls_a_server() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    configure(workspace.path(), &json!({ "pantry": entry(&workspace) }));
    let (mut child, mut client) = eca::start(&home, &["eca", "--log-level", "error"]);
    client.call("initialize", eca::hello(&workspace)).await;
    client.notify("initialized", json!({})).await;
    let native = client.wait_for("tool/serverUpdated").await;
    assert_eq!(native["params"]["type"], "native");
    let shown = client.wait_for("tool/serverUpdated").await;
    assert_eq!(
        (
            &shown["params"]["type"],
            &shown["params"]["name"],
            &shown["params"]["status"]
        ),
        (&json!("mcp"), &json!("pantry"), &json!("stopped"))
    );
    let warned = client.wait_for("$/showMessage").await;
    assert!(warned["params"]["message"].as_str().unwrap().contains("pantry"));
    // Unknown names are nobody's.
    client
        .notify("mcp/startServer", json!({ "name": "cellar" }))
        .await;
    client
        .notify("mcp/startServer", json!({ "name": "pantry" }))
        .await;
    for wanted in ["starting", "running"] {
        let updated = client.wait_for("tool/serverUpdated").await;
        assert_eq!(updated["params"]["status"], wanted);
    }
    // What it has besides is listed a moment later.
    let menu = loop {
        let found = client.call("chat/queryContext", json!({ "query": "menu" })).await;
        let resources = found["contexts"].as_array().unwrap().iter();
        let mut resources = resources.filter(|context| context["type"] == "mcpResource");
        if let Some(menu) = resources.next() {
            break menu.clone();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(
        menu,
        json!({ "type": "mcpResource", "uri": "tea://menu", "name": "menu", "description": "What there is.",
            "mimeType": "text/plain", "server": "pantry" })
    );
    let commands = client
        .call("chat/queryCommands", json!({ "query": "brew" }))
        .await;
    let leaf = json!({ "name": "leaf", "required": true });
    let milk = json!({ "name": "milk", "description": "With milk, and how.", "required": false });
    assert_eq!(
        commands["commands"],
        json!([{ "name": "pantry:brew", "description": "Asks for a cup.", "type": "mcp-prompt",
            "arguments": [leaf, milk] }])
    );
    let gone = json!({ "type": "mcpResource", "uri": "tea://gone", "name": "", "description": "", "mimeType": "",
        "server": "pantry" });
    let message = "call mcp__pantry__steep with {\"minutes\": 2}";
    let prompt = json!({ "chatId": "c-1", "message": message, "contexts": [menu, gone] });
    client.call("chat/prompt", prompt).await;
    let called = client
        .find("a call", |message| eca::content(message, "toolCalled"))
        .await;
    let content = &called["params"]["content"];
    assert_eq!(
        (&content["origin"], &content["server"], &content["name"]),
        (&json!("mcp"), &json!("pantry"), &json!("steep"))
    );
    assert_eq!(content["outputs"][0]["text"], "steeped for 2 minutes");
    client.notify("mcp/stopServer", json!({ "name": "pantry" })).await;
    let stopped = client.wait_for("tool/serverUpdated").await;
    assert_eq!(
        (&stopped["params"]["status"], &stopped["params"]["tools"]),
        (&json!("stopped"), &json!([]))
    );
    assert_eq!(client.call("shutdown", json!(null)).await, json!(null));
    client.notify("exit", json!({})).await;
    assert!(child.wait().await.unwrap().success());
    assert_eq!(noted(&workspace), ["started", "steep", "ended"]);
}

/// `.mcp.json` of a folder: read as what the folder brings, never written, filled in after its user's word.
#[tokio::test]
async fn servers_of_mcp_json_wait_for_a_word_get_their_variables_and_are_not_changed_by_clients() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    let mut server = entry(&workspace);
    server["env"][tea_server::LOG] = json!("${TEA_LOG}");
    let text = json!({ "mcpServers": { "pantry": server } }).to_string();
    std::fs::write(workspace.path().join(".mcp.json"), &text).unwrap();
    let bobbin = |args: &[&str]| {
        let mut command = workspace.bobbin(args);
        command.env("HOME", home.path()).env("TEA_LOG", log(&workspace));
        command
    };
    let listed = bobbin(&["mcp", "list"]).output().await.unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for part in ["from .mcp.json, not allowed yet", "filled in with your TEA_LOG"] {
        assert!(listed.contains(part), "{listed}");
    }
    assert!(!listed.contains(&log(&workspace)), "{listed}");
    let (mut child, mut client) = start(&workspace, &home).await;
    assert_eq!(status(&mut client).await["startupState"], "idle");
    let remove = client.error("mcp/remove", json!({ "name": "pantry" })).await;
    assert_eq!(remove["code"], -32075, "{remove}");
    client.finish().await;
    child.wait().await.unwrap();
    assert_eq!(noted(&workspace), Vec::<String>::new());

    assert!(
        bobbin(&["mcp", "allow", "pantry"])
            .status()
            .await
            .unwrap()
            .success()
    );
    let tested = bobbin(&["mcp", "test", "pantry"]).output().await.unwrap();
    assert!(tested.status.success(), "{tested:?}");
    assert_eq!(noted(&workspace), ["started", "ended"]);
    // The same text where nothing is filled in is another server.
    configure(workspace.path(), &json!({ "pantry": server }));
    std::fs::remove_file(workspace.path().join(".mcp.json")).unwrap();
    let listed = bobbin(&["mcp", "list"]).output().await.unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains("from .craft/config.json, not allowed yet"),
        "{listed}"
    );
}
