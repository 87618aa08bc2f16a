//! An extension and the clients that it asks.

use serde_json::json;

use crate::support::Server;

const SCRIPT: &str = r#"
send() { printf 'Content-Length: %d\r\n\r\n%s' "${#1}" "$1"; }
while IFS= read -r head; do
  length=$(printf %s "$head" | tr -dc 0-9)
  IFS= read -r blank
  body=$(dd bs=1 count="$length" 2>/dev/null)
  case $body in
    *'"initialize"'*) send '{"jsonrpc":"2.0","id":1,"result":{"name":"sh","version":"1.0.0","toolbarButtons":[{"id":"a","label":"Ask","icon":"<svg onload=\"x()\"></svg>","command":"sh/ask"}]}}' ;;
    *'"command/execute"'*) echo '[WARN] asked' >&2
      send '{"jsonrpc":"2.0","id":1,"method":"ui/openWindow","params":{"url":"http://127.0.0.1:1/","title":"Tea"}}'
      send '{"jsonrpc":"2.0","id":2,"method":"ui/showConfirm","params":{"message":"Set it?"}}' ;;
    *'"confirmed":true'*) send '{"jsonrpc":"2.0","id":3,"method":"editor/patchMessage","params":{"patches":[{"path":"PID.5.1","value":"ROE"}]}}' ;;
    *'"window/closed"'*) echo "ERROR: $body" >&2 ;;
    *'"shutdown"'*) send '{"jsonrpc":"2.0","id":2,"result":{}}'; exit 0 ;;
  esac
done
"#;

#[tokio::test]
async fn an_extension_asks_the_client_that_ran_its_command_and_changes_the_document() {
    let server = Server::start().await;
    let directory = tempfile::tempdir().unwrap();
    let all = json!({ "windows": true, "dialogs": true, "files": true });
    let mut user = server.client(Some(all.clone())).await;
    let mut other = server.client(Some(all)).await;
    let mut plain = server.client(None).await;
    server.run(directory.path(), SCRIPT);
    let state = |message: &serde_json::Value| {
        message["method"] == "hermes/extension/changed" && message["params"]["state"] == "running"
    };
    let running = user.find("a running extension", state).await;
    let id = running["params"]["id"].clone();
    let buttons = user.call("hermes/toolbar/list", json!({})).await;
    let button = json!({ "id": "a", "label": "Ask", "icon": "<svg></svg>", "command": "sh/ask" });
    assert_eq!(
        buttons,
        json!({ "buttons": [{ "extensionId": id, "button": button }] })
    );

    let thread = server.thread(&mut user).await;
    let text = "MSH|^~\\&\rPID|1||4711||DOE^ANN\r";
    user.call(
        "hermes/document/open",
        json!({ "threadId": thread, "text": text }),
    )
    .await;
    assert_eq!(
        user.error("hermes/command/execute", json!({ "command": "sh/no" }))
            .await["code"],
        -32009
    );
    user.call(
        "hermes/command/execute",
        json!({ "command": "sh/ask", "threadId": thread }),
    )
    .await;
    let window = user.wait_for("hermes/ui/openWindow").await;
    user.reply(&window, json!({})).await;
    let question = user.wait_for("hermes/ui/showConfirm").await;
    assert_eq!(question["params"]["extensionId"], id);
    user.reply(&question, json!({ "confirmed": true })).await;
    let by = |message: &serde_json::Value| {
        message["method"] == "hermes/document/changed" && message["params"]["origin"]["kind"] == "extension"
    };
    other.find("a change by the extension", by).await;
    let read = user
        .call("hermes/document/get", json!({ "threadId": thread }))
        .await;
    assert_eq!(read["text"], text.replace("DOE", "ROE"));

    let closed = json!({ "windowId": window["params"]["windowId"] });
    user.notify("hermes/ui/windowClosed", closed).await;
    let logs = async |client: &mut bobbin_testkit::Client| {
        let logs = client
            .call("hermes/extension/logs", json!({ "id": id, "limit": 1000 }))
            .await;
        logs["entries"].to_string()
    };
    while !logs(&mut user).await.contains(r#"\"reason\":\"user\""#) {
        tokio::task::yield_now().await;
    }
    // Clients that show nothing get nothing.
    plain
        .call(
            "hermes/extension/setEnabled",
            json!({ "id": id, "enabled": false }),
        )
        .await;
    let stopped = |message: &serde_json::Value| message["params"]["state"] == "stopped";
    other.find("a stopped extension", stopped).await;
    while plain.unread() > 0 {
        let message = plain.next().await.unwrap();
        assert!(
            !message["method"].as_str().unwrap().starts_with("hermes/"),
            "{message}"
        );
    }
    plain
        .call(
            "hermes/extension/setEnabled",
            json!({ "id": id, "enabled": true }),
        )
        .await;
    other.find("a running extension", state).await;
    plain.call("hermes/extension/reload", json!({})).await;
    other.find("a running extension", state).await;
    server.host.end().await;
}

#[tokio::test]
async fn a_question_is_taken_back_when_its_extension_ends() {
    let server = Server::start().await;
    let directory = tempfile::tempdir().unwrap();
    let dialogs = json!({ "dialogs": true });
    let mut user = server.client(Some(dialogs)).await;
    server.run(directory.path(), SCRIPT);
    let running = |message: &serde_json::Value| message["params"]["state"] == "running";
    let extension = user.find("a running extension", running).await["params"]["id"].clone();
    user.call("hermes/command/execute", json!({ "command": "sh/ask" }))
        .await;
    let question = user.wait_for("hermes/ui/showConfirm").await;
    let off = json!({ "id": extension, "enabled": false });
    user.call("hermes/extension/setEnabled", off).await;
    let taken_back = user.wait_for("$/cancelRequest").await;
    assert_eq!(taken_back["params"]["id"], question["id"]);
    server.host.end().await;
}
