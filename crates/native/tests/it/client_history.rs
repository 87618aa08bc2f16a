//! Threads whose history the client stores (02 §5.1 `historyMode`, 03 §2.1 `messages`).

use std::sync::Arc;

use bobbin_agent::AgentEngine;
use bobbin_agent_api::model::{
    Message, Model, ModelError, ModelEvent, ModelReply, ModelRequest, ModelSink, Stop,
};
use bobbin_model::InputPart;
use bobbin_testkit::Client;
use bobbin_tools::ToolSet;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::Server;

/// A model that records its prompts and answers each, or never answers.
#[derive(Clone, Default)]
struct Notes {
    asked: Arc<Mutex<Vec<Vec<String>>>>,
    is_silent: bool,
}

impl Model for Notes {
    fn history_turns(&self, _: Option<&str>) -> u32 {
        8
    }

    fn respond<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn ModelSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        let messages = request.messages.iter().map(words).collect();
        self.asked.lock().push(messages);
        async move {
            if self.is_silent {
                return std::future::pending().await;
            }
            sink.event(ModelEvent::Text("Noted.".to_owned())).await?;
            let stop = Stop::Done;
            Ok(ModelReply { stop, usage: None })
        }
        .boxed()
    }
}

fn words(message: &Message) -> String {
    match message {
        Message::User { parts } => {
            let parts = parts.iter().map(|part| match part {
                InputPart::Context { label, text } => format!("({label}) {text}"),
                other => other.display().into_owned(),
            });
            format!("user: {}", parts.collect::<String>())
        }
        Message::Agent { text, calls } => {
            let calls: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
            format!("agent: {text}{calls:?}")
        }
        Message::Result { text, .. } => format!("result: {text}"),
    }
}

impl Notes {
    fn engine(&self) -> AgentEngine {
        AgentEngine::new(Arc::new(self.clone()), ToolSet::default())
    }

    fn last(&self) -> Vec<String> {
        self.asked.lock().last().unwrap().clone()
    }
}

async fn start(client: &mut Client, mode: &str) -> String {
    let params = json!({ "identity": { "channelName": "test" }, "historyMode": mode });
    let thread = client.call("thread/start", params).await["thread"].clone();
    assert_eq!(thread["historyMode"], mode);
    thread["id"].as_str().unwrap().to_owned()
}

fn turn(thread: &str, text: &str, messages: Option<Value>) -> Value {
    let mut params = json!({ "threadId": thread, "input": [{ "type": "text", "text": text }] });
    if let Some(messages) = messages {
        params["messages"] = messages;
    }
    params
}

fn history() -> Value {
    json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "Boil water" },
        { "role": "assistant", "content": "", "toolCalls": [{ "id": "1", "name": "boil", "arguments": {} }] },
        { "role": "tool", "toolCallId": "1", "content": "hot" },
        { "role": "assistant", "content": "It boils." },
    ])
}

const GIVEN: [&str; 5] = [
    "user: (system) Be brief.",
    "user: Boil water",
    "agent: [\"boil\"]",
    "result: hot",
    "agent: It boils.[]",
];

#[tokio::test]
async fn the_model_is_given_the_clients_history_and_nothing_of_what_the_server_has() {
    let notes = Notes::default();
    let server = Server::over(notes.engine()).await;
    let mut client = server.client().await;
    let id = start(&mut client, "client").await;
    client
        .call("turn/start", turn(&id, "First", Some(json!([]))))
        .await;
    client.wait_for("turn/completed").await;
    assert_eq!(notes.last(), ["user: First"]);
    client
        .call("turn/start", turn(&id, "Second", Some(history())))
        .await;
    client.wait_for("turn/completed").await;
    assert_eq!(notes.last()[..5], GIVEN);
    assert_eq!(notes.last()[5..], ["user: Second"]);
    // For users, the server stores the events, but not the given history.
    let read = json!({ "threadId": id, "includeTurns": true });
    let thread = client.call("thread/read", read).await["thread"].clone();
    let turns = thread["turns"].as_array().unwrap();
    let said: Vec<&str> = turns
        .iter()
        .flat_map(|turn| turn["items"].as_array().unwrap())
        .map(|item| item["payload"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["First", "Noted.", "Second", "Noted."]);
}

#[tokio::test]
async fn messages_against_the_history_mode_are_refused_and_start_nothing() {
    let notes = Notes::default();
    let server = Server::over(notes.engine()).await;
    let mut client = server.client().await;
    let ours = start(&mut client, "server").await;
    let theirs = start(&mut client, "client").await;
    let enqueue = turn(&theirs, "x", None);
    let orphan = json!([{ "role": "tool", "toolCallId": "9", "content": "hot" }]);
    for (method, params, detail) in [
        (
            "turn/start",
            turn(&ours, "x", Some(json!([]))),
            "history the client keeps",
        ),
        ("turn/start", turn(&theirs, "x", None), "'messages'"),
        (
            "turn/start",
            turn(&theirs, "x", Some(json!("all of it"))),
            "'messages'",
        ),
        (
            "turn/start",
            turn(&theirs, "x", Some(json!([{ "role": "ghost" }]))),
            "'messages[0]'",
        ),
        ("turn/start", turn(&theirs, "x", Some(orphan)), "'messages[0]'"),
        // A queued input would start by itself, without its history.
        ("turn/enqueue", enqueue, "'messages'"),
    ] {
        let error = client.error(method, params).await;
        let told = error["data"]["detail"].as_str().unwrap();
        assert!(error["code"] == -32602 && told.contains(detail), "{error}");
    }
    let error = client
        .error(
            "thread/start",
            json!({ "identity": { "channelName": "test" }, "historyMode": "nobody" }),
        )
        .await;
    assert_eq!(error["code"], -32602);
    assert!(notes.asked.lock().is_empty());
}

#[tokio::test]
async fn a_turn_that_a_crash_interrupts_goes_on_with_the_history_it_was_given() {
    let notes = Notes {
        is_silent: true,
        ..Notes::default()
    };
    let server = Server::over(notes.engine()).await;
    let mut client = server.client().await;
    let id = start(&mut client, "client").await;
    client
        .call("turn/start", turn(&id, "Next", Some(history())))
        .await;
    while notes.asked.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    // Nothing was stopped.
    let again = Notes::default();
    let threads = server.reopen_with(again.engine()).await;
    while again.asked.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(again.last(), notes.last());
    assert_eq!(again.last()[..5], GIVEN);
    threads.stop().await;
}
