//! Requests that are answered at once.

use std::sync::Arc;
use std::time::Duration;

use bobbin_agent_api::Services;
use bobbin_agent_api::suggest::{
    CommitRequest, CompletionRequest, RewritePiece, RewriteRequest, SuggestError, Suggestions, Welcome,
    WelcomeRequest,
};
use bobbin_testkit::Client;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::support::Server;

#[tokio::test]
async fn server_stats() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.start_thread().await;
    client.wait_for("thread/started").await;
    let mut answer = client.answer_to("server/stats", json!({})).await;
    // Counters of bytes and time differ in each run.
    for name in ["bytesRead", "bytesWritten", "messagesWritten", "uptimeMs"] {
        answer["result"]["connection"][name] = json!("N");
    }
    answer["result"]["log"]["bytes"] = json!("N");
    insta::assert_snapshot!(server.redact(&[answer]));
}

#[tokio::test]
async fn model_list() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let answer = client.answer_to("model/list", json!({})).await;
    insta::assert_snapshot!(server.redact(&[answer]));
    let of = async |client: &mut Client, provider: &str| {
        let listed = client.call("model/list", json!({ "providerId": provider })).await;
        (
            listed["models"].as_array().unwrap().len(),
            listed["protocol"].clone(),
        )
    };
    assert_eq!(of(&mut client, "Kiln").await, (1, json!("openai-responses")));
    assert_eq!(of(&mut client, "oven").await, (0, json!(null)));
}

/// Models that are known at once, and suggestions that never come.
struct NoIdeas;

impl Suggestions for NoIdeas {
    fn commit_message(&self, _: CommitRequest) -> BoxFuture<'static, Result<String, SuggestError>> {
        std::future::pending().boxed()
    }

    fn welcome(&self, _: WelcomeRequest) -> BoxFuture<'static, Result<Welcome, SuggestError>> {
        std::future::pending().boxed()
    }

    fn rewrite(
        &self,
        _: RewriteRequest,
        _: mpsc::Sender<RewritePiece>,
    ) -> BoxFuture<'static, Result<(), SuggestError>> {
        std::future::pending().boxed()
    }

    fn complete(&self, _: CompletionRequest) -> BoxFuture<'static, Result<String, SuggestError>> {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn the_models_come_behind_the_answers_to_requests_that_came_meanwhile() {
    let server = Server::start().await;
    let services = Services {
        suggestions: Some(Arc::new(NoIdeas)),
        ..server.services()
    };
    let link = Server::link_to(&server.native(services));
    let mut client = Client::ready(link, "test", json!({})).await;
    tokio::time::pause();
    // Two at once do not wait for each other.
    let started = Instant::now();
    let models = client.request("model/list", json!({})).await;
    let again = client.request("model/list", json!({})).await;
    client.answer_to("command/list", json!({})).await;
    assert!(started.elapsed() < Duration::from_millis(100));
    client.answer(models).await;
    client.answer(again).await;
    assert!((100..150).contains(&started.elapsed().as_millis()));
    // A slow request delays them for two seconds.
    let started = Instant::now();
    let models = client.request("model/list", json!({})).await;
    let identity = json!({ "channelName": "test" });
    client
        .request("welcome/suggestions", json!({ "identity": identity }))
        .await;
    client.answer(models).await;
    assert!((2_000..2_050).contains(&started.elapsed().as_millis()));
}
