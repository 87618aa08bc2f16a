//! `chat/askQuestion` (21.1): a model's question to the user of the editor.

use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::{Choice, Inquiry, ItemBody, QuestionAnswer};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{Server, hello, is_content, is_finished, until};

/// An engine that asks one question and says what was answered.
pub(crate) struct Asks;

impl Engine for Asks {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        async move {
            let said = if turn.can_inquire() {
                let inquiry = Inquiry {
                    text: "Which tea?".to_owned(),
                    choices: vec![Choice {
                        label: "green".to_owned(),
                        description: Some("As ever.".to_owned()),
                    }],
                    free: true,
                };
                match turn.inquire("call_1", inquiry).await? {
                    Some(QuestionAnswer::Text(text)) => text,
                    Some(QuestionAnswer::None) => "no answer".to_owned(),
                    None => "too late".to_owned(),
                }
            } else {
                "nobody is there".to_owned()
            };
            let message = turn.open(ItemBody::AgentMessage { text: String::new() }).await?;
            message.text(said).await?;
            Ok(message.complete(None).await?)
        }
        .boxed()
    }
}

/// Returns the agent's reply to a prompt; the editor answers its question with `answer`.
async fn said(declared: serde_json::Value, answer: serde_json::Value) -> String {
    let server = Server::over(Asks).await;
    let (mut client, _) = server.connect();
    let mut hello = hello();
    hello["capabilities"]["codeAssistant"]["chatCapabilities"] = declared;
    client.call("initialize", hello).await;
    client.notify("initialized", json!({})).await;
    client.until("$/showMessage").await;
    client
        .request("chat/prompt", json!({ "chatId": "c", "message": "Boil water" }))
        .await;
    let mut seen = until(&mut client, |message| {
        message["method"] == "chat/askQuestion" || is_finished(message)
    })
    .await;
    let asked = seen.last().unwrap().clone();
    if asked["method"] == "chat/askQuestion" {
        let mut params = asked["params"].clone();
        assert!(params["requestId"].take().is_string());
        assert_eq!(
            params,
            json!({
                "chatId": "c",
                "question": "Which tea?",
                "options": [{ "label": "green", "description": "As ever." }],
                "toolCallId": "turn_001.call_1",
                "requestId": null,
                "allowFreeform": true,
            })
        );
        client.reply(&asked, answer).await;
        seen.extend(until(&mut client, is_finished).await);
    }
    let texts = seen
        .iter()
        .filter(|message| is_content(message, "text") && message["params"]["role"] == "assistant");
    texts
        .filter_map(|message| message["params"]["content"]["text"].as_str())
        .collect()
}

#[tokio::test]
async fn an_editor_that_declares_it_is_asked_and_its_answer_reaches_the_agent() {
    let asks = json!({ "askQuestion": true });
    for (answer, expected) in [
        (json!({ "answer": "green", "cancelled": false }), "green"),
        (json!({ "answer": null, "cancelled": true }), "no answer"),
        (json!({ "answer": "green", "cancelled": true }), "no answer"),
        (json!(null), "no answer"),
    ] {
        assert_eq!(said(asks.clone(), answer).await, expected);
    }
}

#[tokio::test]
async fn an_editor_that_does_not_is_not_asked() {
    for declared in [
        json!({}),
        json!({ "askQuestion": false }),
        json!(null),
        json!(true),
    ] {
        assert_eq!(said(declared, json!(null)).await, "nobody is there");
    }
}
