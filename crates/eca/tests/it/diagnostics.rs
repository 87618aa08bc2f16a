//! `editor/getDiagnostics` (section 15): a tool of the agent if the editor supports it.

use bobbin_testkit::Client;
use serde_json::{Value, json};

use crate::support::{Server, is_content, is_finished, kinds, prompt, transcript, until};

/// Collects everything up to the question to the editor.
async fn until_asked(client: &mut Client) -> Vec<Value> {
    until(client, |message| message["method"] == "editor/getDiagnostics").await
}

/// Returns the output of the call; empty if there was none.
fn output(messages: &[Value]) -> &str {
    let called = messages.iter().find(|message| is_content(message, "toolCalled"));
    let text = called.and_then(|called| called["params"]["content"]["outputs"][0]["text"].as_str());
    text.unwrap_or_default()
}

#[tokio::test]
async fn an_editor_that_can_is_asked_and_its_answer_reaches_the_agent() {
    let server = Server::start().await;
    let mut client = server.editor_with_diagnostics().await;
    let message = r#"use editor_diagnostics {"path":"src/spout.rs"}"#;
    client
        .request("chat/prompt", json!({ "chatId": "c", "message": message }))
        .await;
    let mut seen = until_asked(&mut client).await;
    // Other requests are answered meanwhile, and other prompts.
    let id = client
        .request("chat/queryCommands", json!({ "query": "costs" }))
        .await;
    seen.extend(
        until(&mut client, |message| {
            message["id"] == id && message.get("method").is_none()
        })
        .await,
    );
    let asked = seen
        .iter()
        .find(|message| message["method"] == "editor/getDiagnostics")
        .cloned()
        .unwrap();
    let place = |line| json!({ "line": line, "character": 4 });
    let answer = json!({ "diagnostics": [
        { "uri": format!("file://{}/src/spout.rs", server.root().display()), "severity": "error", "source": null,
          "code": null, "range": { "start": place(2), "end": place(2) }, "message": "a drop is missing" },
    ]});
    client.reply(&asked, answer).await;
    seen.extend(until(&mut client, is_finished).await);
    assert_eq!(output(&seen), "src/spout.rs:2:4 error a drop is missing\n");
    seen.retain(|message| !is_content(message, "metadata"));
    // Contents and requests are independent; each has its own order.
    seen.sort_by_key(|message| message.get("id").is_some());
    transcript!(server, seen);
}

#[tokio::test]
async fn only_an_editor_that_said_so_is_asked_and_only_while_it_is_there() {
    let server = Server::start().await;
    let mut plain = server.editor().await;
    let request = json!({ "chatId": "c", "message": "use editor_diagnostics" });
    let seen = prompt(&mut plain, request.clone()).await;
    assert!(!kinds(&seen).contains(&"toolCallRun"), "{seen:?}");

    let mut able = server.editor_with_diagnostics().await;
    // The editor of another chat is not asked.
    prompt(&mut able, json!({ "chatId": "d", "message": "hi" })).await;
    let seen = prompt(&mut plain, request.clone()).await;
    assert!(!kinds(&seen).contains(&"toolCallRun"), "{seen:?}");
    // Once it opens the chat, it is asked for the other's prompt.
    able.call("chat/open", json!({ "chatId": "c" })).await;
    plain.request("chat/prompt", request.clone()).await;
    let asked = until_asked(&mut able).await;
    assert_eq!(asked.last().unwrap()["params"], json!({}));
    able.reply(asked.last().unwrap(), json!({ "diagnostics": null }))
        .await;
    let seen = until(&mut plain, is_finished).await;
    assert_eq!(output(&seen), "The editor shows no errors or warnings.");
    able.finish().await;
    let seen = prompt(&mut plain, request).await;
    assert!(!kinds(&seen).contains(&"toolCallRun"), "{seen:?}");
}

#[tokio::test]
async fn an_error_and_an_editor_that_leaves_are_results_of_the_call() {
    let server = Server::start().await;
    let mut watching = server.editor().await;
    let mut able = server.editor_with_diagnostics().await;
    let request = json!({ "chatId": "c", "message": "use editor_diagnostics\nsay on" });
    able.request("chat/prompt", request.clone()).await;
    let asked = until_asked(&mut able).await;
    let error = json!({ "code": -32603, "message": "no server runs" });
    let refusal = json!({ "jsonrpc": "2.0", "id": asked.last().unwrap()["id"], "error": error });
    able.send_text(refusal.to_string()).await;
    let seen = until(&mut able, is_finished).await;
    assert!(output(&seen).contains("no server runs"), "{}", output(&seen));

    watching.call("chat/open", json!({ "chatId": "c" })).await;
    able.request("chat/prompt", request).await;
    until_asked(&mut able).await;
    able.finish().await;
    let seen = until(&mut watching, is_finished).await;
    assert!(
        output(&seen).contains("the editor could not say"),
        "{}",
        output(&seen)
    );
}
