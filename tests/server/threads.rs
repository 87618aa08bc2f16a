//! `bobbin threads`, `bobbin resume`, `bobbin models` and `bobbin mcp test`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use bobbin_testkit::{ModelServer, Script};

use crate::support::{PATIENCE, Workspace};

#[tokio::test]
async fn threads_are_listed_shown_renamed_and_deleted_with_and_without_a_server() {
    let workspace = Workspace::new();
    workspace.run(&["exec", "say hello"]).await;
    for served in [false, true] {
        let server = served.then(|| workspace.web_socket());
        if let Some(server) = &server {
            server.address().await;
        }
        let listed = text(&workspace, &["threads", "--json"]).await;
        let thread: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
        let id = thread["id"].as_str().unwrap();
        let title = if served { "greeting again" } else { "greeting" };
        text(&workspace, &["threads", "rename", id, title]).await;
        let listed = text(&workspace, &["threads"]).await;
        assert!(listed.contains(id) && listed.contains(title), "{listed}");
        let shown = text(&workspace, &["threads", "show", id]).await;
        assert!(shown.contains("> say hello\nhello\n"), "{shown}");
        let unasked = workspace.run(&["threads", "delete", id]).await;
        assert!(!unasked.status.success());
        if served {
            text(&workspace, &["threads", "delete", id, "--yes"]).await;
            assert_eq!(text(&workspace, &["threads"]).await, "");
        }
    }
}

#[tokio::test]
async fn threads_are_searched_put_away_and_taken_out_again() {
    let workspace = Workspace::new();
    workspace.run(&["exec", "say oolong"]).await;
    workspace.run(&["exec", "say sencha"]).await;
    let found = text(&workspace, &["threads", "search", "oolong"]).await;
    let id = found.split_whitespace().next().unwrap().to_owned();
    assert!(found.contains("turn_001") && !found.contains("sencha"), "{found}");
    text(&workspace, &["threads", "archive", &id]).await;
    assert!(!text(&workspace, &["threads"]).await.contains(&id));
    let found = text(&workspace, &["threads", "search", "oolong", "--json"]).await;
    let hit: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!(hit["threadId"], id.as_str(), "archived ones are found, too");
    text(&workspace, &["threads", "unarchive", &id]).await;
    assert!(text(&workspace, &["threads"]).await.contains(&id));
    for (limit, more) in [("1", "1 of 2; --limit N shows more\n"), ("2", "")] {
        let listed = workspace.run(&["threads", "list", "--limit", limit]).await;
        assert_eq!(String::from_utf8_lossy(&listed.stderr), more);
    }
}

#[tokio::test]
async fn a_thread_is_exported_in_three_formats() {
    let workspace = Workspace::new();
    workspace
        .run(&["exec", "--approve", "run `echo '<script>'` then say done"])
        .await;
    for _ in 0..2 {
        workspace.run(&["exec", "--last", "say again"]).await;
    }
    let listed = text(&workspace, &["threads", "--json"]).await;
    let id = serde_json::from_str::<Value>(listed.lines().next().unwrap()).unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let markdown = text(&workspace, &["threads", "export", id]).await;
    assert!(markdown.contains("```\necho '<script>'\n```"), "{markdown}");
    let [first, last] = ["## turn_001", "## turn_003"].map(|turn| markdown.find(turn).unwrap());
    assert!(first < last, "{markdown}");
    let lines = text(&workspace, &["threads", "export", id, "--format", "jsonl"]).await;
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (lines.len(), &lines[0]["id"], &lines[3]["id"]),
        (4, &json!(id), &json!("turn_003"))
    );

    let export = ["threads", "export", id, "--output", "tea.md"];
    assert_eq!(text(&workspace, &export).await, "");
    let path = workspace.path().join("tea.md");
    let page = std::fs::read_to_string(&path).unwrap();
    assert_eq!(page, markdown);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let again = workspace.run(&export).await;
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(
        !again.status.success() && said.contains("cannot make tea.md"),
        "{said}"
    );
}

#[tokio::test]
async fn a_conversation_is_resumed_where_it_was() {
    let workspace = Workspace::new();
    let nothing = workspace.run(&["resume", "say more"]).await;
    let said = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(said.contains("there is no thread to continue"), "{said}");
    workspace.run(&["exec", "say oolong"]).await;
    let listed = text(&workspace, &["threads", "--json"]).await;
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let first = first["id"].as_str().unwrap();
    workspace.run(&["exec", "say sencha"]).await;
    let last = workspace.run(&["resume", "say more"]).await;
    let said = String::from_utf8_lossy(&last.stderr);
    assert!(said.contains("> say sencha\nsencha\n"), "{said}");
    assert_eq!(String::from_utf8_lossy(&last.stdout), "more\n");
    let chosen = workspace.run(&["resume", "--thread", first, "say most"]).await;
    let said = String::from_utf8_lossy(&chosen.stderr);
    assert!(said.contains("> say oolong\noolong\n"), "{said}");
    let shown = text(&workspace, &["threads", "show", first]).await;
    assert!(
        shown.contains("> say oolong") && shown.contains("> say most"),
        "{shown}"
    );
    // Nothing comes from stdin.
    let only_shown = workspace.run(&["resume", "--thread", first]).await;
    let said = String::from_utf8_lossy(&only_shown.stderr);
    assert!(
        only_shown.status.success() && said.contains("> say most\nmost\n"),
        "{said}"
    );
    assert_eq!(String::from_utf8_lossy(&only_shown.stdout), "");
}

#[tokio::test]
async fn models_are_listed_with_the_default_marked() {
    let workspace = Workspace::new();
    assert_eq!(text(&workspace, &["models"]).await, "* offline\n");
    let script = Script {
        models: vec!["assam".into(), "ceylon".into()],
        ..Script::default()
    };
    let model = ModelServer::start(script).await.unwrap();
    workspace.configure(&json!({
        "Model": "tea/ceylon",
        "Providers": { "tea": { "Wire": "chat", "BaseUrl": model.base_url() } },
    }));
    let listed = text(&workspace, &["models"]).await;
    assert!(
        listed.contains("  tea/assam\n")
            && listed.contains("* tea/ceylon\n")
            && listed.contains("  offline\n"),
        "{listed}"
    );
    let listed = text(&workspace, &["models", "--json"]).await;
    let default = listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let default: Vec<Value> = default.filter(|model| model["isDefault"] == true).collect();
    assert_eq!((default.len(), &default[0]["id"]), (1, &json!("tea/ceylon")));
}

#[tokio::test]
async fn rules_are_tested_against_the_commands_of_the_past() {
    let workspace = Workspace::new();
    let untested = workspace.run(&["rules", "test"]).await;
    assert!(String::from_utf8_lossy(&untested.stderr).contains("no agent has run a command"));
    for _ in 0..2 {
        workspace.run(&["exec", "--approve", "run `touch cup`"]).await;
    }
    workspace.run(&["exec", "--approve", "run `ls`"]).await;
    workspace.run(&["exec", "--approve", "run `mkdir pot`"]).await;
    workspace.configure(&json!({ "Permissions": { "Rules": [{ "Action": "deny", "Command": "mkdir *" }] } }));
    assert_eq!(
        text(&workspace, &["rules", "test"]).await,
        "refused    1 x  mkdir pot\nasks       2 x  touch cup\nruns       1 x  ls\n"
    );
    assert_eq!(
        text(&workspace, &["rules", "list"]).await,
        text(&workspace, &["rules"]).await
    );
}

#[tokio::test]
async fn an_mcp_server_is_tried_and_what_is_wrong_with_it_is_said() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "McpServers": { "gone": { "command": "no-such-program" } } }));
    let output = workspace.run(&["mcp", "test", "gone"]).await;
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with("bobbin: gone: "), "{said}");
    let output = workspace.run(&["mcp", "test", "other"]).await;
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("there is no MCP server other")
    );
}

async fn text(workspace: &Workspace, args: &[&str]) -> String {
    let output = workspace.run(args).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_fork_has_the_turns_up_to_one_and_a_title_of_its_own() {
    let workspace = Workspace::new();
    let server = workspace.web_socket();
    let mut client = server.client("one").await;
    let thread = client.start_thread().await;
    let rename = json!({ "threadId": thread, "displayName": "Tea" });
    client.call("thread/rename", rename).await;
    let mut turns = Vec::new();
    for text in ["say one", "say two"] {
        turns.push(client.start_turn(&thread, text).await);
        client.wait_for("turn/completed").await;
    }
    let fork = |turn: &str| json!({ "threadId": thread, "turnId": turn, "clientRequestId": "f" });
    let copy = client.call("thread/fork", fork(&turns[0])).await;
    assert_eq!(copy["thread"]["displayName"], "Tea (fork)");
    assert_ne!(copy["thread"]["id"], thread);
    // A repeated request makes no second copy.
    assert_eq!(client.call("thread/fork", fork(&turns[0])).await, copy);
    let read = json!({ "threadId": copy["thread"]["id"], "includeTurns": true });
    let read = client.call("thread/read", read).await;
    assert_eq!(read["thread"]["turns"].as_array().unwrap().len(), 1);
    let missing = json!({ "threadId": thread, "turnId": "turn_009" });
    assert_eq!(client.error("thread/fork", missing).await["code"], -32013);
}

#[tokio::test]
async fn an_old_thread_is_archived_when_the_server_starts() {
    let workspace = Workspace::new();
    let running = workspace.web_socket();
    let mut client = running.client("ada").await;
    for title in ["old", "new"] {
        let started = client
            .call(
                "thread/start",
                json!({ "identity": { "channelName": "test" }, "displayName": title }),
            )
            .await;
        assert_eq!(started["thread"]["status"], "active");
    }
    drop(client);
    running.terminate().await;
    let url = format!("sqlite://{}", workspace.database().display());
    let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
    let statement =
        "UPDATE thread SET last_active_at = last_active_at - 100 * 86400000 WHERE display_name = 'old'";
    let done = sqlx::query(statement).execute(&pool).await.unwrap();
    assert_eq!(done.rows_affected(), 1);
    pool.close().await;

    // A folder cannot have its user's conversations deleted.
    let craft = workspace.path().join(".craft");
    std::fs::create_dir_all(&craft).unwrap();
    let theirs = json!({ "Threads": { "ArchiveAfterDays": 1 } }).to_string();
    std::fs::write(craft.join("config.json"), theirs).unwrap();
    let titles = |listed: &Value| -> Vec<String> {
        let all = listed["data"].as_array().unwrap().iter();
        all.map(|thread| thread["displayName"].as_str().unwrap().to_owned())
            .collect()
    };
    for (own, expected) in [
        (json!({}), vec!["new", "old"]),
        (json!({ "ArchiveAfterDays": 99 }), vec!["new"]),
    ] {
        workspace.configure(&json!({ "Threads": own }));
        let running = workspace.web_socket();
        let mut client = running.client("ada").await;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let listed = client
                .call("thread/list", json!({ "identity": { "channelName": "test" } }))
                .await;
            if titles(&listed) == expected {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{listed}");
        }
        running.terminate().await;
    }
}
