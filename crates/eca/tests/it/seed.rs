//! Exchanges of the protocol's first version, each with its transcript. Further ones are in other tests:
//!
//! | exchange | transcript |
//! |---|---|
//! | `initialize`, `initialized`, `config/updated`, `tool/serverUpdated`, `$/showMessage` | `lifecycle::handshake` |
//! | a conversation with text, reasons and usage | `prompts::a_text_turn_in_a_chat_that_the_server_names` |
//! | one that goes on | `prompts::a_chat_that_the_client_names_and_goes_on` |
//! | a tool that runs by itself | `tools::a_call_that_needs_no_word` |
//! | `chat/toolCallApprove`, `chat/toolCallReject` | `tools::a_call_that_is_approved_runs_once`, `tools::a_call_that_is_rejected_…` |
//! | `chat/queryContext`, `chat/queryCommands` | `queries::contexts_files_commands_providers_and_jobs` |
//! | a call that fails | `tools::a_call_that_fails_says_so_and_the_turn_goes_on` |
//! | a change of a file (`fileChange`) | `tools::a_change_of_a_file_is_shown_before_it_is_made` |
//! | `chat/promptStop` | `prompts::a_stop_while_it_streams_…`, `tools::a_stop_while_a_call_waits_…` |
//! | `chat/delete` | `chats::deleting` |
//! | `chat/selectedBehaviorChanged` | `chats::selecting_a_behavior_or_a_model` |
//! | `mcp/startServer`, `mcp/stopServer` and what becomes of servers | `servers::a_server_is_stopped_started_and_fails` |
//! | `editor/getDiagnostics` | `diagnostics::an_editor_that_can_is_asked_…` |
//! | costs and limits | `usage::usage_has_costs_and_limits_…`, member by member |
//!
//! The binary is tested in `server/eca_golden` and `server/eca_golden_whole`. `url` contents have no exchange here,
//! as models here search nothing.

use serde_json::{Value, json};

use crate::support::{Server, hello, is_content, prompt, transcript, until};

#[tokio::test]
async fn leaving_while_a_turn_runs() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let hang = json!({ "chatId": "c-81", "message": "hang" });
    client.request("chat/prompt", hang).await;
    until(&mut client, |message| message["result"]["chatId"] == "c-81").await;
    let id = client.request("shutdown", json!(null)).await;
    let mut seen = until(&mut client, |message| message["id"] == id).await;
    seen.push(
        client
            .answer_to("chat/prompt", json!({ "message": "too late" }))
            .await,
    );
    client.notify("exit", json!(null)).await;
    seen.extend(client.finish().await);
    // Contents of the turn and answers are independent; each has its own order.
    seen.sort_by_key(|message| message.get("method").is_none());
    transcript!(server, seen);
}

#[tokio::test]
async fn a_prompt_with_every_context() {
    let server = Server::start().await;
    let root = server.root().to_owned();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/spout.rs"), "one\ntwo\nthree\n").unwrap();
    let mut client = server.editor().await;
    let at = json!({ "line": 2, "character": 1 });
    let contexts = json!([
        { "type": "file", "path": root.join("src/spout.rs") },
        { "type": "file", "path": root.join("src/spout.rs"), "linesRange": { "start": 2, "end": 3 } },
        { "type": "directory", "path": root.join("src") },
        { "type": "web", "url": "https://example.com/tea" },
        { "type": "repoMap" },
        { "type": "cursor", "path": root.join("src/spout.rs"), "position": { "start": at, "end": at } },
        { "type": "mcpResource", "uri": "file://tea", "name": "tea", "description": "A cup.",
          "mimeType": "text/markdown", "server": "kitchen" },
        { "type": "file", "path": root.join("missing") },
    ]);
    let params = json!({ "chatId": "c", "message": "hi", "behavior": "agent", "contexts": contexts });
    let mut seen = prompt(&mut client, params).await;
    // Cut at a length, which the root is part of.
    seen.retain(|message| !is_content(message, "metadata"));
    transcript!(server, seen);
}

#[tokio::test]
async fn a_call_that_a_rule_forbids() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    let params = json!({ "chatId": "c", "message": "deny touch tea\nsay not" });
    let seen = prompt(&mut client, params).await;
    transcript!(server, seen);
    assert_eq!(server.engine.effects(), Vec::<String>::new());
}

#[tokio::test]
async fn another_encoding_is_an_error_and_the_next_message_is_served() {
    let server = Server::start().await;
    let (mut client, _) = server.connect();
    client.call("initialize", hello()).await;
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"jobs/list"}"#;
    let head = format!("Content-Length: {}", body.len());
    let kind = "Content-Type: application/vscode-jsonrpc; charset";
    client
        .send_text(format!("{head}\r\n{kind}=latin1\r\n\r\n{body}"))
        .await;
    client
        .send_text(format!("{kind}=utf-8\r\n{head}\r\n\r\n{body}"))
        .await;
    let seen = until(&mut client, |message: &Value| message["id"] == 7).await;
    transcript!(server, seen);
}

#[tokio::test]
async fn what_means_nothing_now_is_answered_with_nothing() {
    let server = Server::start().await;
    let mut client = server.editor().await;
    for (method, params) in [
        ("mcp/stopServer", json!({ "name": "kitchen" })),
        ("mcp/startServer", json!({ "name": "kitchen" })),
        ("chat/promptStop", json!({ "chatId": "c" })),
        (
            "chat/toolCallApprove",
            json!({ "chatId": "c", "toolCallId": "x" }),
        ),
        ("chat/toolCallReject", json!({ "chatId": "c", "toolCallId": "x" })),
    ] {
        client.notify(method, params).await;
    }
    let id = client.request("chat/delete", json!({ "chatId": "c" })).await;
    let seen = until(&mut client, |message| message["id"] == id).await;
    transcript!(server, seen);
}
