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
                    "header": "Which tea?",
                    "question": "Which tea?",
                    "options": [
                        { "label": "green", "description": "As ever." },
                        { "label": "black", "description": "" },
                    ],
                    "isOther": false,
                    "isSecret": false,
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
    let named = |name: &str| seen.iter().filter(|message| message["method"] == name).count();
    assert_eq!(
        (named(REQUEST), named(RESOLVED)),
        (0, 1),
        "only the end concerns a client that answers nothing"
    );
}

#[tokio::test]
async fn what_is_no_answer_leaves_the_question_open_and_the_client_may_be_asked_again() {
    let server = server().await;
    let mut one = asked_client(&server).await;
    let mut other = asked_client(&server).await;
    let id = one.start_thread().await;
    let here = json!({ "threadId": id });
    other.call("thread/subscribe", here.clone()).await;
    one.start_turn(&id, ASK).await;
    let (first, second) = (one.wait_for(REQUEST).await, other.wait_for(REQUEST).await);
    let error = json!({ "code": -32601, "message": "Method not found" });
    let error = json!({ "jsonrpc": "2.0", "id": first["id"], "error": error });
    one.send_text(error.to_string()).await;
    other.reply(&second, json!("what?")).await;
    for client in [&mut one, &mut other] {
        let read = client.call("thread/read", here.clone()).await;
        assert_eq!(read["thread"]["runtime"]["waitingOnInput"], true);
    }
    one.call("thread/subscribe", here.clone()).await;
    let again = one.wait_for(REQUEST).await;
    assert_eq!(again["params"], first["params"]);
    other.call("thread/resume", here).await;
    let again = other.wait_for(REQUEST).await;
    other.reply(&again, answer("black")).await;
    let ended = one.wait_for("turn/completed").await;
    assert_eq!(result_of(&ended), ("black", true));
}

#[tokio::test]
async fn items_record_the_question_and_its_answer_around_the_request() {
    let server = server().await;
    let mut client = server
        .client_with(json!({ "requestUserInputSupport": true }))
        .await;
    let id = client.start_thread().await;
    client.start_turn(&id, ASK).await;
    let seen = client.until(REQUEST).await;
    let asked = seen.last().unwrap().clone();
    let params = &asked["params"];
    let place =
        |messages: &[Value], wanted: &dyn Fn(&Value) -> bool| messages.iter().position(wanted).unwrap();
    let is = |method: &'static str, kind: &'static str| {
        move |message: &Value| message["method"] == method && message["params"]["item"]["type"] == kind
    };
    let started = place(&seen, &is("item/started", "userInputRequest"));
    let item = &seen[started + 1]["params"]["item"];
    assert!(is("item/completed", "userInputRequest")(&seen[started + 1]));
    assert_eq!(item["id"], params["itemId"]);
    assert_eq!(
        item["payload"],
        json!({
            "requestId": params["requestId"],
            "callId": params["callId"],
            "isBlocking": false,
            "questions": params["questions"],
        })
    );
    let runtime =
        |waits: bool| move |message: &Value| message["params"]["runtime"]["waitingOnInput"] == waits;
    assert!(place(&seen[started..], &runtime(true)) > 1);
    client.reply(&asked, answer("green")).await;
    let seen = client.until("turn/completed").await;
    let started = place(&seen, &is("item/started", "userInputResponse"));
    let resolved = &seen[started + 1];
    assert!(is(RESOLVED, "userInputResponse")(resolved), "{resolved}");
    assert_eq!(resolved["params"]["requestId"], params["requestId"]);
    let response = json!({ "requestId": params["requestId"], "response": answer("green") });
    assert_eq!(resolved["params"]["item"]["payload"], response);
    assert!(is("item/completed", "userInputResponse")(&seen[started + 2]));
    assert!(!seen[..started].iter().any(runtime(false)) && runtime(false)(&seen[started + 3]));
}

#[tokio::test]
async fn a_question_in_plan_mode_is_part_of_the_plan() {
    let server = server().await;
    let mut client = asked_client(&server).await;
    let id = client.start_thread().await;
    let mode = json!({ "threadId": id, "mode": "plan" });
    client.call("thread/mode/set", mode).await;
    client.start_turn(&id, ASK).await;
    let asked = client.wait_for(REQUEST).await;
    assert_eq!(asked["params"]["isBlocking"], true);
    client.reply(&asked, answer("green")).await;
    client.wait_for("turn/completed").await;
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
    let resolved = seen.iter().find(|message| message["method"] == RESOLVED).unwrap();
    assert_eq!(
        resolved["params"]["item"]["payload"]["response"],
        json!({ "answers": {} })
    );
    client.reply(&asked, answer("green")).await;
    assert_eq!(client.error("no/such", json!({})).await["code"], -32601);
}
