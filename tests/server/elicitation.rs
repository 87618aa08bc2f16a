//! Questions of MCP servers, put to one client as the servers mean them.

use bobbin_testkit::{Client, Link};
use serde_json::{Value, json};

use crate::mcp::{configure, start_with};
use crate::mcp_runtime::{clerk, listed};
use crate::support::{Workspace, rich};

const REQUEST: &str = "mcpServer/elicitation/request";

/// What a client of today declares that is asked.
fn asked() -> Value {
    json!({ "appBindingVersion": 1, "mcpElicitation": true, "approvalSupport": true })
}

/// Returns the structured content of the result of a Turn's tool call.
fn result_of(turn: &Value) -> Value {
    let items = turn["params"]["turn"]["items"].as_array().unwrap();
    let result = items.iter().find(|item| item["type"] == "toolResult").unwrap();
    let text = result["payload"]["result"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

/// Starts a Turn that calls a tool of the clerk.
async fn turn(client: &mut Client, thread: &str, tool: &str) -> String {
    let call = format!("call mcp__clerk__{tool} with {{}}");
    client.start_turn(thread, &call).await
}

/// Waits for the end of a Turn, and returns the answer that the clerk got during it.
async fn answer_in(client: &mut Client, turn: &str) -> Value {
    let ended =
        |message: &Value| message["method"] == "turn/completed" && message["params"]["turn"]["id"] == *turn;
    result_of(&client.find("the end of the turn", ended).await)["answer"].clone()
}

/// Returns the answer that the clerk got to its last question.
async fn last(client: &mut Client, thread: &str) -> Value {
    let hello = json!({ "threadId": thread, "server": "clerk", "tool": "hello" });
    let said = client.call("mcpServer/tool/call", hello).await;
    said["structuredContent"].clone()
}

#[tokio::test]
async fn a_form_is_filled_in_by_one_client_and_checked() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "clerk": clerk() }));
    let (mut child, mut client) = start_with(&workspace, &home, asked()).await;
    listed(&mut client, "clerk").await;
    let thread = client.start_thread().await;
    let hello = last(&mut client, &thread).await["hello"].clone();
    assert_eq!(
        hello["params"]["capabilities"]["elicitation"],
        json!({ "form": {}, "url": {} })
    );
    let table = [
        (
            json!({ "action": "accept", "content": { "leaf": "mint", "cups": 2 }, "_meta": { "by": "ada" } }),
            Ok(
                json!({ "action": "accept", "content": { "leaf": "mint", "cups": 2 }, "_meta": { "by": "ada" } }),
            ),
        ),
        (json!({ "action": "decline" }), Ok(json!({ "action": "decline" }))),
        (
            json!({ "action": "cancel", "content": null }),
            Ok(json!({ "action": "cancel" })),
        ),
        (
            json!({ "action": "accept", "content": { "leaf": "m" } }),
            Err("does not fit"),
        ),
        (
            json!({ "action": "accept", "content": { "leaf": "mint", "cups": 0 } }),
            Err("does not fit"),
        ),
        (json!({ "action": "accept" }), Err("does not fit")),
        (
            json!({ "action": "decline", "content": { "leaf": "mint" } }),
            Err("does not fit"),
        ),
        (json!({ "action": "shrug" }), Err("does not fit")),
        (json!("accept"), Err("does not fit")),
    ];
    for (reply, expected) in table {
        let turn = turn(&mut client, &thread, "form").await;
        let request = client.wait_for(REQUEST).await;
        let params = &request["params"];
        assert_eq!(
            (
                &params["serverName"],
                &params["mode"],
                &params["threadId"],
                &params["turnId"]
            ),
            (&json!("clerk"), &json!("form"), &json!(thread), &json!(turn))
        );
        assert_eq!(params["message"], "Which leaf?");
        assert_eq!(params["requestedSchema"]["required"], json!(["leaf"]));
        client.reply(&request, reply.clone()).await;
        let answer = result_of(&client.wait_for("turn/completed").await)["answer"].clone();
        match expected {
            Ok(expected) => assert_eq!(answer["result"], expected, "{reply}"),
            Err(word) => {
                let message = answer["error"]["message"].as_str().unwrap_or_default();
                assert!(message.contains(word), "{reply}: {answer}");
            }
        }
    }
    // An error of the client is one for the server, without the client's words.
    turn(&mut client, &thread, "form").await;
    let request = client.wait_for(REQUEST).await;
    let error =
        json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": -32000, "message": "no dialog" } });
    client.send_text(error.to_string()).await;
    let answer = result_of(&client.wait_for("turn/completed").await)["answer"].clone();
    assert!(
        answer["error"].is_object() && !answer.to_string().contains("no dialog"),
        "{answer}"
    );

    // Outside of a Turn the caller is asked.
    let form = json!({ "threadId": thread, "server": "clerk", "tool": "form" });
    let call = client.request("mcpServer/tool/call", form).await;
    let request = client.wait_for(REQUEST).await;
    assert_eq!(
        (&request["params"]["threadId"], request["params"].get("turnId")),
        (&json!(thread), None)
    );
    client
        .reply(
            &request,
            json!({ "action": "accept", "content": { "leaf": "mint" } }),
        )
        .await;
    let answered = client.answer(call).await;
    let answer = &answered["result"]["structuredContent"]["answer"]["result"];
    assert_eq!(
        answer,
        &json!({ "action": "accept", "content": { "leaf": "mint" } })
    );
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_page_is_opened_only_if_it_is_one_of_the_web() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "clerk": clerk() }));
    let (mut child, mut client) = start_with(&workspace, &home, asked()).await;
    listed(&mut client, "clerk").await;
    let thread = client.start_thread().await;
    for (reply, action) in [
        (json!({ "action": "accept" }), Some("accept")),
        (json!({ "action": "decline" }), Some("decline")),
        (json!({ "action": "accept", "content": { "card": "1234" } }), None),
    ] {
        turn(&mut client, &thread, "page").await;
        let request = client.wait_for(REQUEST).await;
        let mut params = request["params"].clone();
        params["turnId"] = json!(null);
        assert_eq!(
            params,
            json!({ "serverName": "clerk", "mode": "url", "threadId": thread, "turnId": null, "message": "Pay here.",
                "url": "https://tea.example/pay", "elicitationId": "e-1" })
        );
        client.reply(&request, reply).await;
        let answer = result_of(&client.wait_for("turn/completed").await)["answer"].clone();
        assert_eq!(answer["result"]["action"].as_str(), action, "{answer}");
        assert!(answer["result"].get("content").is_none(), "{answer}");
    }
    turn(&mut client, &thread, "script").await;
    let seen = client.until("turn/completed").await;
    assert!(seen.iter().all(|message| message["method"] != REQUEST));
    let answer = result_of(seen.last().unwrap())["answer"].clone();
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("no page"),
        "{answer}"
    );
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn one_connection_is_asked_and_its_end_is_no_answer() {
    let workspace = Workspace::new();
    workspace.configure(&json!({ "McpServers": { "clerk": clerk() } }));
    let server = workspace.web_socket();
    let address = server.address().await;
    let join = async |name: &str, capabilities: Value| {
        Client::ready(Link::web_socket(&address).await, name, capabilities).await
    };
    // A May client starts Turns; nobody who could be asked follows the Thread.
    let mut old = join("old", rich()).await;
    listed(&mut old, "clerk").await;
    let thread = old.start_thread().await;
    let stranger = join("stranger", asked()).await;
    let running = turn(&mut old, &thread, "form").await;
    let answer = answer_in(&mut old, &running).await;
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("no client"),
        "{answer}"
    );

    // The first that follows it is asked, and no other.
    let subscribe = json!({ "threadId": thread });
    let mut first = join("first", asked()).await;
    first.call("thread/subscribe", subscribe.clone()).await;
    let mut second = join("second", asked()).await;
    second.call("thread/subscribe", subscribe).await;
    let running = turn(&mut old, &thread, "form").await;
    let request = first.wait_for(REQUEST).await;
    first.reply(&request, json!({ "action": "decline" })).await;
    let answer = answer_in(&mut old, &running).await;
    assert_eq!(answer["result"]["action"], "decline");

    // The one that started the Turn comes first.
    let running = turn(&mut second, &thread, "form").await;
    let request = second.wait_for(REQUEST).await;
    second
        .reply(
            &request,
            json!({ "action": "accept", "content": { "leaf": "mint" } }),
        )
        .await;
    let answer = answer_in(&mut second, &running).await;
    assert_eq!(answer["result"]["action"], "accept");

    // The end of the asked connection is an error, and nobody else is asked.
    let running = turn(&mut old, &thread, "form").await;
    first.wait_for(REQUEST).await;
    drop(first);
    let answer = answer_in(&mut old, &running).await;
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("gone"),
        "{answer}"
    );

    // The end of the Turn is `cancel`.
    let running = turn(&mut second, &thread, "form").await;
    let request = second.wait_for(REQUEST).await;
    let stop = json!({ "threadId": thread, "turnId": running });
    second.call("turn/interrupt", stop).await;
    second.wait_for("turn/cancelled").await;
    second
        .reply(
            &request,
            json!({ "action": "accept", "content": { "leaf": "mint" } }),
        )
        .await;
    let got = last(&mut second, &thread).await["last"].clone();
    assert_eq!(got["result"], json!({ "action": "cancel" }));
    for client in [old, stranger, second] {
        let seen = client.finish().await;
        assert!(seen.iter().all(|message| message["method"] != REQUEST));
    }
}

#[tokio::test]
async fn clients_that_answer_other_questions_fill_in_a_form_member_by_member() {
    let (workspace, home) = (Workspace::new(), Workspace::new());
    configure(home.path(), &json!({ "clerk": clerk() }));
    let capabilities = json!({ "userInputSupport": true });
    let (mut child, mut client) = start_with(&workspace, &home, capabilities).await;
    listed(&mut client, "clerk").await;
    let thread = client.start_thread().await;
    turn(&mut client, &thread, "form").await;
    for answer in ["2", "mint"] {
        let question = client.wait_for("item/tool/requestUserInput").await;
        let id = question["params"]["questions"][0]["id"].as_str().unwrap();
        let answers = json!({ "answers": { id: { "answers": [answer] } } });
        client.reply(&question, answers).await;
    }
    let answer = result_of(&client.wait_for("turn/completed").await)["answer"].clone();
    assert_eq!(
        answer["result"],
        json!({ "action": "accept", "content": { "leaf": "mint", "cups": 2 } })
    );
    // A page needs a client that can show it.
    turn(&mut client, &thread, "page").await;
    let answer = result_of(&client.wait_for("turn/completed").await)["answer"].clone();
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("no client"),
        "{answer}"
    );
    client.finish().await;
    assert!(child.wait().await.unwrap().success());
}
