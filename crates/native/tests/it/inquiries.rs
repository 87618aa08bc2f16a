//! A model's questions to a user (04 §10), with the real engine.

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_children::{Children, Environment, Shell};
use bobbin_offline::Offline;
use bobbin_testkit::Client;
use bobbin_tools::ToolSet;
use serde_json::{Value, json};

use crate::support::Server;

const REQUEST: &str = "item/tool/requestUserInput";
const RESOLVED: &str = "item/tool/requestUserInput/resolved";
const ASK: &str = r#"call `AskUser` with {"question": "Which tea?", "options": [{"label": "green", "description": "As ever."}, {"label": "black"}], "allowFreeform": false}"#;

async fn server() -> Server {
    let tools = ToolSet::built_in(Children::new(None), Environment::empty(), Shell::Posix);
    Server::over(AgentEngine::new(Arc::new(Offline), tools)).await
}

async fn asked_client(server: &Server) -> Client {
    server.client_with(json!({ "userInputSupport": true })).await
}

fn answer(text: &str) -> Value {
    json!({ "answers": { "1": { "answers": [text] } } })
}

fn result_of(ended: &Value) -> (&str, bool) {
    let items = ended["params"]["turn"]["items"].as_array().unwrap();
    let result = items.iter().find(|item| item["type"] == "toolResult").unwrap();
    let payload = &result["payload"];
    (
        payload["result"].as_str().unwrap(),
        payload["success"].as_bool().unwrap(),
    )
}

fn is_idle(message: &Value) -> bool {
    message["params"]["runtime"]["running"] == false
}

#[tokio::test]
async fn a_person_is_asked_and_the_answer_is_the_calls_result() {
    let server = server().await;
    let mut client = asked_client(&server).await;
    let id = client.start_thread().await;
    for (reply, text, success) in [
        (answer("green"), "green", true),
        (
            answer("coffee"),
            "the user answered none of the options: coffee",
            false,
        ),
        (json!({ "answers": {} }), "the user did not want to answer", false),
        (json!("what?"), "the user did not want to answer", false),
    ] {
        client.start_turn(&id, ASK).await;
        let seen = client.until(REQUEST).await;
        let asked = seen.last().unwrap().clone();
        let params = &asked["params"];
        let call = seen
            .iter()
            .find(|message| message["params"]["item"]["type"] == "toolCall");
        assert_eq!(
            call.unwrap()["params"]["item"]["payload"]["callId"],
            params["callId"]
        );
        assert_eq!(
            (&params["threadId"], &params["questions"]),
            (
                &json!(id),
                &json!([{
                    "id": "1",
                    "question": "Which tea?",
                    "options": [{ "label": "green", "description": "As ever." }, { "label": "black" }],
                    "isOther": false,
                }])
            )
        );
        client.reply(&asked, reply).await;
        let seen = client.until("turn/completed").await;
        assert_eq!(result_of(seen.last().unwrap()), (text, success));
        client.find("idle", is_idle).await;
    }
}

#[tokio::test]
async fn everybody_who_can_is_asked_and_the_first_answer_counts() {
    let server = server().await;
    let mut starter = asked_client(&server).await;
    let mut plain = server.client().await;
    let id = starter.start_thread().await;
    plain.call("thread/subscribe", json!({ "threadId": id })).await;
    starter.start_turn(&id, ASK).await;
    let first = starter.wait_for(REQUEST).await;
    // A client that comes later is asked, too.
    let mut second = asked_client(&server).await;
    second.call("thread/subscribe", json!({ "threadId": id })).await;
    let asked = second.wait_for(REQUEST).await;
    assert_eq!(asked["params"], first["params"]);
    second.reply(&asked, answer("black")).await;
    let closed = starter.wait_for(RESOLVED).await;
    assert_eq!(closed["params"]["requestId"], first["params"]["requestId"]);
    // A late answer is ignored.
    starter.reply(&first, answer("green")).await;
    let seen = plain.until("turn/completed").await;
    assert_eq!(result_of(seen.last().unwrap()), ("black", true));
    let told = |message: &Value| {
        message["method"]
            .as_str()
            .is_some_and(|method| method.starts_with(REQUEST))
    };
    assert!(
        !seen.iter().any(told),
        "a client that says nothing of questions hears nothing of them"
    );
}

#[tokio::test]
async fn a_client_that_cannot_answer_does_not_answer_for_the_others() {
    let server = server().await;
    let mut one = asked_client(&server).await;
    let mut other = asked_client(&server).await;
    let id = one.start_thread().await;
    other.call("thread/subscribe", json!({ "threadId": id })).await;
    let cannot = async |client: &Client, asked: &Value| {
        let error = json!({ "code": -32601, "message": "Method not found" });
        let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error });
        client.send_text(reply.to_string()).await;
    };
    one.start_turn(&id, ASK).await;
    let (first, second) = (one.wait_for(REQUEST).await, other.wait_for(REQUEST).await);
    cannot(&one, &first).await;
    // Earlier messages have been read.
    assert_eq!(one.error("no/such", json!({})).await["code"], -32601);
    other.reply(&second, answer("black")).await;
    let ended = one.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("black", true));
    // If no client can answer, the model does not wait.
    one.find("idle", is_idle).await;
    one.start_turn(&id, ASK).await;
    let (first, second) = (one.wait_for(REQUEST).await, other.wait_for(REQUEST).await);
    cannot(&one, &first).await;
    cannot(&other, &second).await;
    let ended = one.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("the user did not want to answer", false));
}

#[tokio::test]
async fn where_nobody_is_there_the_model_cannot_ask() {
    let server = server().await;
    let mut plain = server.client().await;
    let id = plain.start_thread().await;
    plain.start_turn(&id, ASK).await;
    let ended = plain.wait_for("turn/completed").await;
    assert!(
        !ended.to_string().contains("\"type\":\"toolResult\"") || !result_of(&ended).1,
        "{ended}"
    );
}

#[tokio::test]
async fn interrupting_takes_a_question_back() {
    let server = server().await;
    let mut client = asked_client(&server).await;
    let id = client.start_thread().await;
    client.start_turn(&id, ASK).await;
    let asked = client.wait_for(REQUEST).await;
    client
        .call("turn/interrupt", json!({ "threadId": id, "turnId": "" }))
        .await;
    let seen = client.until("turn/cancelled").await;
    if !seen.iter().any(|message| message["method"] == RESOLVED) {
        client.wait_for(RESOLVED).await;
    }
    client.reply(&asked, answer("green")).await;
    assert_eq!(client.error("no/such", json!({})).await["code"], -32601);
}

#[tokio::test]
async fn that_a_question_is_settled_is_told_to_those_who_follow_the_thread() {
    let server = server().await;
    let mut client = asked_client(&server).await;
    let mut stranger = asked_client(&server).await;
    let id = client.start_thread().await;
    client.start_turn(&id, ASK).await;
    let asked = client.wait_for(REQUEST).await;
    client.reply(&asked, answer("green")).await;
    client.wait_for(RESOLVED).await;
    // The same log has both, this one later.
    let seen = async {
        let mut seen = Vec::new();
        loop {
            let message = stranger.next().await.unwrap();
            if is_idle(&message) && message["params"]["threadId"] == id.as_str() {
                return seen;
            }
            seen.push(message);
        }
    };
    assert!(!seen.await.iter().any(|message| message["method"] == RESOLVED));
}
