//! Questions of the model as forms.

use std::sync::Arc;

use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::{Choice, Inquiry, ItemBody};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Server, said, text, until, until_answer};

/// An engine that asks one question and says the answer.
struct Curious;

impl Engine for Curious {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        async move {
            let inquiry = Inquiry {
                text: "Which tea?".to_owned(),
                choices: vec![Choice {
                    label: "green".to_owned(),
                    description: Some("It is fresh.".to_owned()),
                }],
                free: false,
            };
            let text = if turn.can_inquire() {
                format!("{:?}", turn.inquire("call_1", inquiry).await?)
            } else {
                "nobody can be asked".to_owned()
            };
            Ok(turn.add(ItemBody::AgentMessage { text }).await?)
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_question_is_a_form_for_clients_that_show_forms() {
    let server = Server::over(Arc::new(Curious)).await;
    let (mut client, session) = server
        .session_with(json!({ "elicitation": { "form": {} } }))
        .await;
    let id = client.request("session/prompt", text(&session, "ask me")).await;
    let seen = until(&mut client, |message| message["method"] == "elicitation/create").await;
    let asked = &seen.last().unwrap()["params"];
    assert_eq!(
        (&asked["mode"], &asked["message"]),
        (&json!("form"), &json!("Which tea?"))
    );
    assert_eq!(asked["sessionId"], session.as_str());
    let field = &asked["requestedSchema"]["properties"]["answer"];
    assert_eq!(
        field["oneOf"],
        json!([{ "const": "green", "title": "green", "description": "It is fresh." }])
    );
    let accepted = json!({ "action": "accept", "content": { "answer": "green" } });
    client.reply(seen.last().unwrap(), accepted).await;
    let seen = until_answer(&mut client, id).await;
    assert!(said(&seen, "agent_message_chunk").contains("green"), "{seen:?}");
}

#[tokio::test]
async fn a_client_that_shows_no_forms_is_not_asked() {
    for capabilities in [
        json!({}),
        json!({ "elicitation": { "url": {} } }),
        json!({ "elicitation": { "form": null } }),
    ] {
        let server = Server::over(Arc::new(Curious)).await;
        let (mut client, session) = server.session_with(capabilities).await;
        let id = client.request("session/prompt", text(&session, "ask me")).await;
        let seen = until_answer(&mut client, id).await;
        assert!(
            !seen
                .iter()
                .any(|message| message["method"] == "elicitation/create"),
            "{seen:?}"
        );
        assert_eq!(seen.last().unwrap()["result"]["stopReason"], "end_turn");
    }
}
