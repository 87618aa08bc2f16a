//! Configuration files as their users meet them: misspelt, broken, described.

use std::os::unix::fs::PermissionsExt as _;

use bobbin_testkit::{ModelServer, Script};
use serde_json::{Value, json};

use crate::mcp;
use crate::support::Workspace;

/// Writes the configuration of a directory.
fn write(directory: &Workspace, text: &str) {
    std::fs::create_dir_all(directory.path().join(".craft")).unwrap();
    std::fs::write(directory.path().join(".craft/config.json"), text).unwrap();
}

/// Runs a command in a workspace of a user whose home is elsewhere; returns its exit code and all that it wrote.
async fn run(home: &Workspace, workspace: &Workspace, args: &[&str]) -> (Option<i32>, String) {
    let mut command = workspace.bobbin(args);
    let output = command.env("HOME", home.path()).output().await.unwrap();
    let written = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(written).unwrap())
}

#[tokio::test]
async fn the_doctor_names_each_misspelt_member_with_its_file_and_the_nearest_name() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    for (config, path, nearest, stops) in [
        (
            json!({ "Permisions": { "Rules": [] } }),
            "Permisions",
            "Permissions",
            true,
        ),
        (
            json!({ "Sandbox": { "Netwrok": false } }),
            "Sandbox.Netwrok",
            "Network",
            true,
        ),
        (
            json!({ "Sandbox": { "Limits": { "Memory": 512 } } }),
            "Sandbox.Limits.Memory",
            "MemoryMiB",
            true,
        ),
        (
            json!({ "Permissions": { "Rules": [{ "Action": "deny", "Comand": "rm *" }] } }),
            "Permissions.Rules[0].Comand",
            "Command",
            true,
        ),
        (
            json!({ "Limits": { "Tokns": 1000 } }),
            "Limits.Tokns",
            "Tokens",
            true,
        ),
        (json!({ "Modle": "a/m" }), "Modle", "Model", false),
        (
            json!({ "Providers": { "a": { "BaseUlr": "http://a" } } }),
            "Providers.a.BaseUlr",
            "BaseUrl",
            true,
        ),
        (
            json!({ "McpServers": { "a": { "comand": "x" } } }),
            "McpServers.a.comand",
            "Command",
            false,
        ),
        (
            json!({ "AppServer": { "WebSocket": { "Prot": 1 } } }),
            "AppServer.WebSocket.Prot",
            "Port",
            false,
        ),
        (
            json!({ "Compaction": { "AtPrecent": 80 } }),
            "Compaction.AtPrecent",
            "AtPercent",
            false,
        ),
    ] {
        write(&home, &config.to_string());
        let (code, said) = run(&home, &workspace, &["doctor"]).await;
        let file = home.path().join(".craft/config.json").display().to_string();
        let sentence = format!("{path} is not a setting; did you mean {nearest}?");
        let line = said.lines().find(|line| line.contains(&sentence));
        let line = line.unwrap_or_else(|| panic!("{sentence}\n{said}"));
        let verdict = if stops { "bad" } else { "note" };
        assert!(line.starts_with(verdict) && line.contains(&file), "{line}");
        assert!(!stops || code == Some(1), "{code:?} {said}");
        let (code, said) = run(&home, &workspace, &["exec", "list the files"]).await;
        assert_eq!(code, Some(i32::from(stops)), "{said}");
        assert!(said.contains(&sentence), "{said}");
    }
}

#[tokio::test]
async fn a_broken_file_of_a_folder_that_nobody_trusts_is_reported_and_left_aside() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    std::fs::write(workspace.path().join("AGENTS.md"), "x").unwrap();
    for broken in ["{", r#"{ "Limits": { "Rounds": "many" } }"#] {
        write(&workspace, broken);
        let (code, said) = run(&home, &workspace, &["exec", "list the files"]).await;
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("config.json") && said.contains("nothing in that file is used"),
            "{said}"
        );
    }
    assert_eq!(run(&home, &workspace, &["trust", "--yes"]).await.0, Some(0));
    let (code, said) = run(&home, &workspace, &["exec", "list the files"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("Limits.Rounds is not a number"), "{said}");
}

#[tokio::test]
async fn the_doctor_says_what_is_missing_and_how_to_mend_it() {
    let (home, workspace, no_programs) = (Workspace::new(), Workspace::new(), Workspace::new());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let servers = json!({
        "gone": { "command": "no-such-program" },
        "keyed": { "url": "http://127.0.0.1:1/mcp", "bearerTokenEnvVar": "NO_SUCH_TOKEN" },
    });
    let own = json!({ "AppServer": { "WebSocket": { "Port": port } }, "McpServers": servers });
    write(&home, &own.to_string());
    write(
        &workspace,
        r#"{ "McpServers": { "brought": { "command": "true" } } }"#,
    );
    let shared = "{ \"mcpServers\": {\n  \"shared\": { \"command\": \"true\",\n    \"alwaysAllow\": [] } } }";
    std::fs::write(workspace.path().join(".mcp.json"), shared).unwrap();
    let mut doctor = workspace.bobbin(&["doctor"]);
    doctor
        .env("HOME", home.path())
        .env("PATH", no_programs.path())
        .env("ANTHROPIC_API_KEY", "sesame")
        .env("OPENAI_API_KEY", "sesame");
    let output = doctor.output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("sesame"), "{said}");
    for (start, part) in [
        (
            "note  model",
            "OPENAI_API_KEY is set: put { \"Model\": \"openai/NAME\" }",
        ),
        ("note  undo", "install git"),
        (
            "bad   MCP server",
            "gone (~/.craft/config.json): there is no program \"no-such-program\"; install it",
        ),
        (
            "note  MCP server",
            "keyed (~/.craft/config.json): the variable NO_SUCH_TOKEN, which it gets, is not set; export it",
        ),
        (
            "note  MCP server",
            "brought (.craft/config.json): not trusted yet: `bobbin mcp allow brought`",
        ),
        (
            "note  MCP server",
            "shared (.mcp.json): not trusted yet: `bobbin mcp allow shared`",
        ),
        ("", ".mcp.json:3: alwaysAllow of shared is not known and left out"),
        ("bad   port", "`bobbin serve --listen ws://127.0.0.1:0`"),
    ] {
        let is_there = |line: &str| line.starts_with(start) && line.contains(part);
        assert!(said.lines().any(is_there), "{start} {part}\n{said}");
    }
}

#[tokio::test]
async fn clients_of_a_running_server_get_the_findings_of_the_doctor() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let servers = json!({ "gone": { "command": "no-such-program", "env": { "KEY": "sesame" } } });
    write(&home, &json!({ "McpServers": servers }).to_string());
    let (mut server, mut client) = mcp::start(&workspace, &home).await;
    let answer = client.call("doctor/run", json!({})).await;
    assert!(!answer.to_string().contains("sesame"), "{answer}");
    let findings = answer["findings"].as_array().unwrap();
    let gone = json!({
        "level": "error",
        "subject": "MCP server",
        "message": "gone (~/.craft/config.json): there is no program \"no-such-program\"",
        "mend": "install it, or correct its Command",
    });
    assert!(findings.contains(&gone), "{answer:#}");
    let of = |subject: &str| {
        let found: Vec<_> = findings
            .iter()
            .filter(|finding| finding["subject"] == subject)
            .collect();
        found
    };
    assert_eq!(of("workspace")[0]["level"], "ok");
    assert!(
        of("server")[0]["message"]
            .as_str()
            .unwrap()
            .starts_with("running, process")
    );
    for left_out in ["port", "database"] {
        assert!(of(left_out).is_empty(), "{answer:#}");
    }

    // The command beside it says the same, and exits with 1.
    let (code, said) = run(&home, &workspace, &["doctor"]).await;
    assert_eq!(code, Some(1), "{said}");
    let line = "gone (~/.craft/config.json): there is no program \"no-such-program\"; install it, or correct its Command";
    assert!(said.contains(line), "{said}");

    // What was mended meanwhile is found on the next call.
    write(&home, "{}");
    let answer = client.call("doctor/run", json!({})).await;
    assert!(!answer.to_string().contains("no-such-program"), "{answer:#}");
    client.finish().await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn the_schema_of_configuration_files_is_printed() {
    let workspace = Workspace::new();
    let output = workspace.run(&["config", "schema"]).await;
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let copy = include_str!("../../proto-schema/configuration.json");
    assert_eq!(schema, serde_json::from_str::<Value>(copy).unwrap());
}

#[tokio::test]
async fn a_completion_script_ends_well_where_its_reader_has_left() {
    let workspace = Workspace::new();
    let output = workspace.run(&["completions", "bash"]).await;
    assert!(output.stdout.starts_with(b"_bobbin() {"));
    let mut child = workspace.bobbin(&["completions", "bash"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
async fn a_client_without_a_model_is_led_to_one() {
    let script = Script {
        models: vec!["scripted".into()],
        key: Some("sk-sesame".into()),
        ..Script::default()
    };
    let provider = ModelServer::start(script).await.unwrap();
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let (mut server, mut client) = mcp::start(&workspace, &home).await;
    let defaults = client.call("workspace/defaults/read", json!({})).await;
    assert_eq!(
        (&defaults["model"], &defaults["modelSource"]),
        (&json!("offline"), &json!("nothing"))
    );
    assert!(defaults["notice"].as_str().unwrap().contains("`bobbin setup`"));

    // The address of a built-in provider is its own: its key goes nowhere else.
    let elsewhere = json!({ "provider": { "name": "Anthropic", "baseUrl": provider.base_url() } });
    let refused = client.error("workspace/config/update", elsewhere).await;
    assert_eq!(refused["code"], -32602);

    let kiln = |key: &str| json!({ "name": "kiln", "baseUrl": provider.base_url(), "apiKey": key });
    client
        .call("workspace/config/update", json!({ "provider": kiln("wrong") }))
        .await;
    let listed = client.call("model/list", json!({})).await;
    assert_eq!(
        (&listed["success"], &listed["errorCode"]),
        (&json!(false), &json!("Unauthorized"))
    );
    client
        .call(
            "workspace/config/update",
            json!({ "provider": kiln("sk-sesame") }),
        )
        .await;
    let listed = client.call("model/list", json!({})).await;
    assert_eq!(listed["models"][1]["id"], "kiln/scripted");
    let model = json!({ "model": "kiln/scripted", "saveUserConfig": true });
    client.call("workspace/config/update", model).await;
    let defaults = client.call("workspace/defaults/read", json!({})).await;
    assert_eq!(
        (&defaults["model"], &defaults["modelSource"], &defaults["notice"]),
        (&json!("kiln/scripted"), &json!("setting"), &json!(null))
    );
    let own = home.path().join(".craft/config.json");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&own).unwrap()).unwrap();
    assert_eq!(written["Model"], "kiln/scripted");
    assert_eq!(
        std::fs::metadata(&own).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(!workspace.path().join(".craft/config.json").exists());
    // Another address gets no key that was given for this one.
    let moved =
        json!({ "provider": { "name": "kiln", "baseUrl": "http://127.0.0.1:1/v1", "wire": "messages" } });
    client.call("workspace/config/update", moved).await;
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&own).unwrap()).unwrap();
    assert_eq!(
        written["Providers"]["kiln"],
        json!({ "BaseUrl": "http://127.0.0.1:1/v1", "Wire": "messages" })
    );
    client.finish().await;
    server.wait().await.unwrap();
}

#[tokio::test]
#[expect(
    clippy::too_many_lines,
    reason = "one conversation from the first read to the last write"
)]
async fn a_client_of_today_reads_and_writes_single_settings() {
    let provider = ModelServer::start(Script::default()).await.unwrap();
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let stove = json!({ "BaseUrl": provider.base_url(), "ApiKey": "sk-sesame" });
    let own = json!({ "Model": "stove/m1", "Providers": { "stove": stove }, "Titles": { "Enabled": false } });
    write(&home, &own.to_string());
    std::fs::set_permissions(
        home.path().join(".craft/config.json"),
        std::fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    write(&workspace, r#"{ "Tea": 1.50, "Sandbox": { "Network": true } }"#);
    let (mut server, mut client) =
        mcp::start_with(&workspace, &home, json!({ "appBindingVersion": 1 })).await;

    let schema = client.call("config/schema", json!({})).await;
    assert_eq!(schema, client.call("workspace/config/schema", json!({})).await);
    let sections = schema["sections"].as_array().unwrap();
    let sandbox = sections
        .iter()
        .find(|section| section["section"] == "Sandbox")
        .unwrap();
    assert_eq!(sandbox["path"], json!(["Sandbox"]));

    let read = client.call("config/read", json!({ "includeLayers": true })).await;
    assert!(!read.to_string().contains("sesame"), "{read}");
    assert_eq!(read["config"]["Providers"]["stove"]["ApiKey"], "***");
    assert_eq!(read["config"]["Model"], "stove/m1");
    assert_eq!(read["origins"]["Model"]["name"]["type"], "user");
    // A value that waits for trust is in its file only.
    assert!(read["config"]["Sandbox"].is_null(), "{read}");
    let kinds = [0, 1].map(|layer| read["layers"][layer]["name"]["type"].clone());
    assert_eq!(kinds, [json!("user"), json!("workspace")]);
    assert_eq!(read["layers"][1]["config"]["Sandbox"]["Network"], true);
    let version = read["layers"][1]["version"].clone();

    let model = json!({ "keyPath": "model", "value": "stove/m2", "mergeStrategy": "replace" });
    let mut write_model = model.clone();
    write_model["keyPath"] = json!("Model");
    write_model["expectedVersion"] = version.clone();
    let written = client.request("config/value/write", write_model).await;
    let is_news = |message: &Value| {
        message["method"]
            .as_str()
            .is_some_and(|name| name.ends_with("onfigChanged"))
    };
    let first = |message: &Value| message["id"] == written || is_news(message);
    let answer = client.find("the answer, or the news", first).await;
    assert_eq!(answer["id"], written, "the answer precedes the news: {answer}");
    let written = &answer["result"];
    assert_eq!(written["status"], "ok");
    assert!(
        written["filePath"]
            .as_str()
            .unwrap()
            .ends_with("/.craft/config.json")
    );
    let old = client.wait_for("workspace/configChanged").await;
    assert_eq!(old["params"]["regions"], json!(["workspace.model"]));
    let new = client.wait_for("config/changed").await;
    assert_eq!(new["params"]["regions"], json!(["Model"]));
    assert_eq!(new["params"]["changedAt"], old["params"]["changedAt"]);
    let text = || std::fs::read_to_string(workspace.path().join(".craft/config.json")).unwrap();
    assert!(text().contains("\"Tea\": 1.50"), "{}", text());

    // The same again, under another spelling, changes nothing.
    let before = text();
    let again = client.call("config/value/write", model).await;
    assert_eq!(
        (&again["status"], &again["version"]),
        (&json!("ok"), &written["version"])
    );
    assert_eq!(text(), before);

    let own_file = read["layers"][0]["name"]["file"].clone();
    let hidden = json!({
        "keyPath": "Model", "value": "stove/m3", "mergeStrategy": "replace", "filePath": own_file,
    });
    let hidden = client.call("config/value/write", hidden).await;
    assert_eq!(hidden["status"], "okOverridden");
    assert_eq!(hidden["overriddenMetadata"]["effectiveValue"], "stove/m2");

    // What needs trust is stored and waits.
    let waits = json!({ "keyPath": "Sandbox", "value": { "Network": true }, "mergeStrategy": "upsert" });
    assert_eq!(client.call("config/value/write", waits).await["status"], "ok");
    let read = client.call("config/read", json!({})).await;
    assert!(
        read["config"]["Sandbox"].is_null() && read["layers"].is_null(),
        "{read}"
    );

    let mix = json!({ "keyPath": "Model", "value": "a", "mergeStrategy": "mix" });
    assert_eq!(client.error("config/value/write", mix).await["code"], -32602);
    let none = json!({ "keyPath": "Model", "mergeStrategy": "replace" });
    assert_eq!(client.error("config/value/write", none).await["code"], -32602);
    assert_eq!(
        client.error("config/batchWrite", json!({ "edits": [] })).await["code"],
        -32602
    );
    let before = (
        text(),
        std::fs::read_to_string(home.path().join(".craft/config.json")).unwrap(),
    );
    for (key, value, file, code) in [
        ("Modle", json!("a"), None, "configSchemaUnknownKey"),
        (
            "Providers.stove.ApiKey",
            json!("a"),
            None,
            "configValidationError",
        ),
        ("ApiKey", json!("a"), None, "configValidationError"),
        (
            "Providers.pot",
            json!({ "ApiKeyEnv": "KEY" }),
            None,
            "configValidationError",
        ),
        ("Hub", json!({ "Port": 1 }), None, "configValidationError"),
        (
            "EndPoint",
            json!("http://127.0.0.1:1"),
            None,
            "configValidationError",
        ),
        ("Limits.Rounds", json!("many"), None, "configValidationError"),
        (
            "Sandbox",
            json!({ "Netwrok": true }),
            None,
            "configValidationError",
        ),
        (
            "Model",
            json!("a"),
            Some("/etc/config.json"),
            "configLayerReadonly",
        ),
        (
            "Providers.stove.BaseUrl",
            json!("http://127.0.0.1:1"),
            own_file.as_str(),
            "configValidationError",
        ),
        (
            "Providers.stove",
            Value::Null,
            own_file.as_str(),
            "configValidationError",
        ),
    ] {
        let edit = json!({ "keyPath": key, "value": value, "mergeStrategy": "replace" });
        let good = json!({ "keyPath": "Model", "value": "stove/m4", "mergeStrategy": "replace" });
        let mut params = json!({ "edits": [good, edit] });
        if let Some(file) = file {
            params["filePath"] = json!(file);
        }
        let error = client.error("config/batchWrite", params).await;
        assert_eq!(
            (&error["code"], &error["data"]["configWriteErrorCode"]),
            (&json!(-32600), &json!(code)),
            "{key} {error}"
        );
    }
    let stale = json!({
        "edits": [{ "keyPath": "Model", "value": null, "mergeStrategy": "replace" }], "expectedVersion": "sha256:0",
    });
    let error = client.error("config/batchWrite", stale.clone()).await;
    assert_eq!(error["data"]["configWriteErrorCode"], "configVersionConflict");
    assert_eq!(error["data"]["code"], "InvalidRequest");
    let after = (
        text(),
        std::fs::read_to_string(home.path().join(".craft/config.json")).unwrap(),
    );
    assert_eq!(after, before);

    // `null` removes; the user's value counts again.
    let mut removes = stale;
    removes.as_object_mut().unwrap().remove("expectedVersion");
    client.call("config/batchWrite", removes).await;
    let read = client.call("config/read", json!({})).await;
    assert_eq!(read["config"]["Model"], "stove/m3");

    // The method of May notifies under both names too.
    let may = json!({ "defaultApprovalPolicy": "default" });
    client.call("workspace/config/update", may).await;
    client.wait_for("config/changed").await;
    let news = client.wait_for("config/changed").await;
    assert_eq!(
        news["params"]["regions"],
        json!(["Permissions.DefaultApprovalPolicy"])
    );
    client.finish().await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn a_client_sets_model_key_and_policy_and_they_count_at_once() {
    let script = Script {
        models: vec!["scripted".into()],
        key: Some("sk-sesame".into()),
        ..Script::default()
    };
    let provider = ModelServer::start(script).await.unwrap();
    let (home, workspace) = (Workspace::new(), Workspace::new());
    write(&workspace, "{ \"Ratio\": 1.50 }");
    write(&home, r#"{ "Titles": { "Enabled": false } }"#);
    let (mut server, mut client) = mcp::start(&workspace, &home).await;

    let schema = client.call("workspace/config/schema", json!({})).await;
    let core = &schema["sections"][0];
    assert_eq!((&core["section"], &core["order"]), (&json!("Core"), &json!(0)));
    let model = json!("Model");
    let mut fields = core["fields"].as_array().unwrap().iter();
    let model = fields.find(|field| field["key"] == model).unwrap();
    assert_eq!(
        (&model["type"], &model["reload"]),
        (&json!("text"), &json!("hot"))
    );

    let nothing = client.error("workspace/config/update", json!({})).await;
    assert_eq!(nothing["code"], -32602);
    let update = json!({
        "model": "scripted",
        "apiKey": "sk-sesame",
        "endPoint": provider.base_url(),
        "defaultApprovalPolicy": "autoApprove",
        "skillsSelfLearningEnabled": false,
    });
    let answer = client.answer_to("workspace/config/update", update).await;
    assert_eq!(
        answer["result"],
        json!({
            "model": "scripted",
            "apiKey": "sk-sesame",
            "endPoint": provider.base_url(),
            "welcomeSuggestionsEnabled": null,
            "skillsSelfLearningEnabled": false,
            "memoryAutoConsolidateEnabled": null,
            "defaultApprovalPolicy": "autoApprove",
        })
    );
    let changed = client.wait_for("workspace/configChanged").await;
    assert_eq!(
        changed["params"]["regions"],
        json!([
            "workspace.model",
            "workspace.apiKey",
            "workspace.endpoint",
            "skills",
            "workspace.defaultApprovalPolicy"
        ])
    );
    assert!(!changed.to_string().contains("sesame"));

    // The model answers without a new start, and a command is not asked about.
    let thread = client.start_thread().await;
    client
        .start_turn(&thread, "call Exec {\"command\": \"touch made\"}")
        .await;
    client.wait_for("turn/completed").await;
    assert!(workspace.path().join("made").exists());

    let folders = std::fs::read_to_string(workspace.path().join(".craft/config.json")).unwrap();
    assert!(folders.starts_with("{\n  \"Ratio\": 1.50,\n"), "{folders}");
    assert!(
        !folders.contains("sesame") && !folders.contains("EndPoint"),
        "{folders}"
    );
    let own = std::fs::read_to_string(home.path().join(".craft/config.json")).unwrap();
    assert!(own.contains("sesame"), "{own}");

    // Nothing is different: nobody is told. An empty text and `null` remove.
    let update = json!({ "model": "scripted" });
    client.call("workspace/config/update", update).await;
    let update = json!({ "model": "", "defaultApprovalPolicy": null, "apiKey": null, "endPoint": null });
    let left = client.call("workspace/config/update", update).await;
    assert_eq!(left["model"], Value::Null);
    let told = client.wait_for("workspace/configChanged").await;
    assert_eq!(
        told["params"]["regions"],
        json!([
            "workspace.model",
            "workspace.apiKey",
            "workspace.endpoint",
            "workspace.defaultApprovalPolicy"
        ])
    );
    let folders = std::fs::read_to_string(workspace.path().join(".craft/config.json")).unwrap();
    assert!(
        !folders.contains("Permissions") && folders.contains("SelfLearning"),
        "{folders}"
    );
    let rest = client.finish().await;
    assert!(
        rest.iter().all(|message| message["method"] != "config/changed"),
        "a client of May gets the old name alone"
    );
    server.wait().await.unwrap();
}

#[tokio::test]
async fn a_setting_that_cannot_be_written_leaves_the_files_as_they_were() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    write(&workspace, "{ \"Skills\": 7 }");
    write(&home, "{}");
    let (mut server, mut client) = mcp::start(&workspace, &home).await;
    let update = json!({ "model": "offline", "skillsSelfLearningEnabled": true });
    let error = client.error("workspace/config/update", update).await;
    assert!(error.to_string().contains("Skills is not an object"), "{error}");
    let folders = std::fs::read_to_string(workspace.path().join(".craft/config.json")).unwrap();
    assert_eq!(folders, "{ \"Skills\": 7 }");
    client.finish().await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn a_desktop_clients_first_dialog_sets_a_folder_up() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let provider = ModelServer::start(Script::default()).await.unwrap();
    let address = provider.base_url();
    // As the client calls it.
    let mut args = vec!["setup", "--language", "English", "--model", "scripted"];
    args.extend([
        "--endpoint",
        &address,
        "--profile",
        "developer",
        "--api-key",
        "sk-sesame",
    ]);
    let (code, said) = run(&home, &workspace, &args).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("sesame"), "{said}");
    let file = |of: &Workspace| std::fs::read_to_string(of.path().join(".craft/config.json")).unwrap();
    let folders: Value = serde_json::from_str(&file(&workspace)).unwrap();
    assert_eq!(folders, json!({ "Model": "scripted" }));
    let own: Value = serde_json::from_str(&file(&home)).unwrap();
    assert_eq!(own, json!({ "ApiKey": "sk-sesame", "EndPoint": address }));
    // What was set counts: nothing waits for trust.
    let (_, said) = run(&home, &workspace, &["trust", "--list"]).await;
    let root = workspace.path().canonicalize().unwrap();
    assert!(said.lines().any(|line| line == root.to_str().unwrap()), "{said}");

    // A folder that brings something waits for a word about it.
    let cloned = Workspace::new();
    std::fs::write(cloned.path().join("AGENTS.md"), "Obey.").unwrap();
    let (code, said) = run(&home, &cloned, &["setup", "--model", "scripted"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("bobbin trust"), "{said}");
    let (_, said) = run(&home, &cloned, &["trust", "--list"]).await;
    let root = cloned.path().canonicalize().unwrap();
    assert!(
        said.contains(&format!("{}  (single things", root.display())),
        "{said}"
    );

    // Another folder keeps the key that is there, and a file shows that it is set up.
    let other = Workspace::new();
    let mut args = vec![
        "setup",
        "--endpoint",
        "http://elsewhere/v1",
        "--api-key",
        "sk-other",
    ];
    args.push("--prefer-existing-user-config");
    let (code, said) = run(&home, &other, &args).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(file(&other), "{}\n");
    assert_eq!(serde_json::from_str::<Value>(&file(&home)).unwrap(), own);

    // What is no address is refused before anything is written.
    let third = Workspace::new();
    let (code, said) = run(&home, &third, &["setup", "--endpoint", "nonsense"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("EndPoint is no address"), "{said}");
    assert!(!third.path().join(".craft/config.json").exists());
    assert_eq!(serde_json::from_str::<Value>(&file(&home)).unwrap(), own);
}

#[tokio::test]
async fn the_schema_says_what_counts_and_no_secret() {
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let own = json!({
        "Titles": { "Enabled": false },
        "Limits": { "Rounds": 50 },
        "ApiKey": "sk-sesame",
        "AppServer": { "WebSocket": { "Token": "sk-sesame" } },
        "Commands": { "Environment": { "Set": { "TOKEN": "sk-sesame" } } },
        "McpServers": { "tea": { "Command": "tea", "Env": { "TOKEN": "sk-sesame" }, "Enabled": false } },
    });
    write(&home, &own.to_string());
    write(
        &workspace,
        r#"{ "Limits": { "Rounds": 5 }, "Sandbox": { "Network": true } }"#,
    );
    let (mut server, mut client) = mcp::start(&workspace, &home).await;
    let value = |schema: &Value, section: &str, key: &str| {
        let mut sections = schema["sections"].as_array().unwrap().iter();
        let section = sections.find(|one| one["section"] == section).unwrap();
        let mut fields = section["fields"].as_array().unwrap().iter();
        fields.find(|field| field["key"] == key).unwrap()["value"].clone()
    };
    let schema = client.call("workspace/config/schema", json!({})).await;
    assert_eq!(value(&schema, "Titles", "Enabled"), false);
    // What is stricter counts at once; what loosens waits for trust.
    assert_eq!(value(&schema, "Limits", "Rounds"), 5);
    assert_eq!(value(&schema, "Sandbox", "Network"), Value::Null);
    assert!(!schema.to_string().contains("sesame"));

    client
        .call("workspace/trust/set", json!({ "trusted": true }))
        .await;
    let schema = client.call("workspace/config/schema", json!({})).await;
    assert_eq!(value(&schema, "Sandbox", "Network"), true);
    client.finish().await;
    server.wait().await.unwrap();
}

#[tokio::test]
async fn providers_are_made_tested_changed_and_removed() {
    let script = Script {
        models: vec!["scripted".into()],
        key: Some("sk-sesame".into()),
        ..Script::default()
    };
    let provider = ModelServer::start(script).await.unwrap();
    let (home, workspace) = (Workspace::new(), Workspace::new());
    let (mut server, mut client) = mcp::start(&workspace, &home).await;
    assert_eq!(
        client.call("provider/list", json!({})).await,
        json!({ "providers": [] })
    );
    let mut draft =
        json!({ "protocol": "openai-chat-completions", "endPoint": provider.base_url(), "apiKey": "wrong" });
    let tested = client.call("provider/test", draft.clone()).await;
    assert_eq!(
        (&tested["success"], &tested["errorCode"]),
        (&json!(false), &json!("Unauthorized"))
    );
    draft["apiKey"] = json!("sk-sesame");
    let tested = client.call("provider/test", draft.clone()).await;
    assert_eq!(
        (&tested["success"], &tested["models"][0]["id"]),
        (&json!(true), &json!("scripted"))
    );
    draft["id"] = json!("kiln");
    draft["displayName"] = json!("The kiln");
    draft["streamIdleTimeoutMs"] = json!(60_000);
    let made = client.call("provider/create", draft.clone()).await["provider"].clone();
    assert_eq!(
        made,
        json!({
            "id": "kiln", "displayName": "The kiln", "protocol": "openai-chat-completions", "hasApiKey": true,
            "apiKey": "***", "endPoint": provider.base_url(), "authMethod": "apiKey",
            "supportsImageGeneration": false,
            "capabilities": { "modelListing": true, "streamingChat": true, "toolCalling": true },
            "streamIdleTimeoutMs": 60_000, "streamMaxRetries": 3,
        })
    );
    assert_eq!(
        client.call("provider/list", json!({})).await,
        json!({ "providers": [made] })
    );
    let news = client.wait_for("workspace/configChanged").await;
    assert_eq!(news["params"]["regions"], json!(["workspace.providers"]));
    let listed = client.call("model/list", json!({ "providerId": "kiln" })).await;
    assert_eq!(listed["models"][0]["id"], "kiln/scripted");

    // A key stays at its address.
    let elsewhere = json!({ "providerId": "kiln", "endPoint": "http://127.0.0.1:1/v1" });
    let tested = client.call("provider/test", elsewhere).await;
    assert_eq!(tested["success"], false);
    let renamed = json!({ "id": "Kiln", "displayName": "Kiln 2", "endPoint": provider.base_url() });
    let changed = client.call("provider/update", renamed).await["provider"].clone();
    assert_eq!(
        (&changed["displayName"], &changed["hasApiKey"]),
        (&json!("Kiln 2"), &json!(true))
    );
    let own = home.path().join(".craft/config.json");
    let written = || -> Value { serde_json::from_str(&std::fs::read_to_string(&own).unwrap()).unwrap() };
    assert_eq!(written()["Providers"]["kiln"]["ApiKey"], "sk-sesame");
    assert_eq!(
        std::fs::metadata(&own).unwrap().permissions().mode() & 0o777,
        0o600
    );
    for (method, params) in [
        ("provider/create", draft),
        ("provider/create", json!({ "id": "shelf" })),
        (
            "provider/create",
            json!({ "id": "a/b", "protocol": "anthropic", "endPoint": provider.base_url() }),
        ),
        (
            "provider/update",
            json!({ "id": "anthropic", "endPoint": provider.base_url() }),
        ),
        ("provider/update", json!({ "id": "kiln", "endPoint": "nowhere" })),
        ("provider/update", json!({ "id": "shelf" })),
        ("provider/delete", json!({ "id": "shelf" })),
        ("provider/test", json!({ "providerId": "shelf" })),
    ] {
        let error = client.error(method, params.clone()).await;
        assert_eq!(error["code"], -32602, "{method} {params}");
    }
    for (change, has_key) in [
        (json!({ "apiKey": null }), false),
        (json!({ "apiKey": "sk-sesame" }), true),
        (json!({ "endPoint": "http://127.0.0.1:1/v1" }), false),
    ] {
        let mut params = json!({ "id": "kiln" });
        params
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let changed = client.call("provider/update", params).await;
        assert_eq!(changed["provider"]["hasApiKey"], has_key, "{change}");
    }
    let gone = client.call("provider/delete", json!({ "id": "kiln" })).await;
    assert_eq!(gone, json!({ "deleted": true }));
    assert_eq!(written().get("Providers"), None);
    client.finish().await;
    server.wait().await.unwrap();
}
