//! `bobbin threads` and `bobbin mcp test`.

use serde_json::{Value, json};

use crate::support::Workspace;

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
