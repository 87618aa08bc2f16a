//! Servers that misbehave: they cost their own tools and nothing else.

use std::time::{Duration, Instant};

use bobbin_agent_api::tool::ToolSource as _;
use bobbin_mcp::Secret;
use bobbin_model::ServerState::{Error, Ready, Starting};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bench, states};

#[tokio::test]
async fn one_that_dies_in_a_call_ends_that_call_and_is_started_again() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    let died = bench.call("die", json!({})).await;
    assert!(
        !died.success && died.text.contains("was not repeated"),
        "{}",
        died.text
    );
    // Its tools stay while it comes back, and a call waits for it.
    let steeped = bench.call("steep", json!({ "minutes": 2 })).await;
    assert_eq!(steeped.text, "steeped for 2 minutes");
    let seen = bench.until(Ready).await;
    assert_eq!(states(&seen), [Error, Starting, Ready]);
    assert!(
        seen[0]
            .problem
            .as_deref()
            .unwrap()
            .contains("started again in 1 s")
    );
    bench.host.end().await;
    let calls: Vec<_> = bench.noted().into_iter().filter(|line| line == "die").collect();
    assert_eq!(calls.len(), 1);
}

#[tokio::test]
async fn one_that_cannot_be_started_is_said_and_not_tried_again() {
    let mut bench = Bench::new();
    let mut spec = bench.shell("");
    if let bobbin_mcp::Launch::Child(process) = &mut spec.launch {
        process.program = "/no/such/pantry".into();
    }
    bench.host.set(spec).unwrap();
    let seen = bench.until(Error).await;
    let problem = seen.last().unwrap().problem.clone().unwrap();
    assert!(
        problem.contains("/no/such/pantry") && problem.contains("No such file"),
        "{problem}"
    );
    bench.host.settled(None).await;
    assert!(bench.host.tools().is_empty());
    bench.host.end().await;
}

#[tokio::test]
async fn one_that_talks_nonsense_or_ends_is_said_with_its_last_words_and_without_secrets() {
    let mut bench = Bench::new();
    let mut spec = bench.shell("echo nonsense; echo my key is hunter2 >&2; exit 3");
    spec.secrets = vec![Secret("hunter2".to_owned())];
    bench.host.set(spec).unwrap();
    let seen = bench.until(Error).await;
    let problem = seen.last().unwrap().problem.clone().unwrap();
    assert!(problem.contains("my key is [hidden]"), "{problem}");
    bench.host.end().await;
}

#[tokio::test]
async fn one_that_hangs_is_given_up_in_time_and_holds_nobody() {
    let mut bench = Bench::new();
    let mut spec = bench.shell("sleep 1000 & sleep 1000");
    spec.start_timeout = Duration::from_millis(200);
    let begun = Instant::now();
    bench.host.set(spec).unwrap();
    assert!(bench.host.tools().is_empty());
    bench.host.settled(None).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    let seen = bench.until(Error).await;
    assert!(seen.last().unwrap().problem.as_deref().unwrap().contains("200ms"));
    bench.host.end().await;
}

#[tokio::test]
async fn a_call_without_an_answer_ends_in_time() {
    let mut bench = Bench::new();
    let mut spec = bench.pantry();
    spec.call_timeout = Duration::from_millis(100);
    bench.host.set(spec).unwrap();
    bench.until(Ready).await;
    let late = bench.call("wait", json!({})).await;
    assert!(
        !late.success && late.text.contains("no answer within 100ms"),
        "{}",
        late.text
    );
    bench.until_noted("cancelled").await;
    bench.host.end().await;
}

#[tokio::test]
async fn a_call_to_one_that_was_stopped_says_so() {
    let mut bench = Bench::new();
    bench.host.set(bench.pantry()).unwrap();
    bench.until(Ready).await;
    let call = bench.begin("steep", &json!({ "minutes": 1 }), &CancellationToken::new());
    bench.host.stop("pantry");
    bench.next().await;
    let output = call.await;
    assert!(
        !output.success && output.text.contains("does not run"),
        "{}",
        output.text
    );
    bench.host.end().await;
}

#[tokio::test]
async fn what_a_server_says_when_it_refuses_is_told_without_secrets() {
    let mut bench = Bench::new();
    let mut spec = bench.pantry();
    spec.secrets = vec![Secret("hunter2".to_owned())];
    bench.host.set(spec).unwrap();
    bench.until(Ready).await;
    let refused = bench.call("steep", json!({ "minutes": "with hunter2" })).await;
    assert!(
        !refused.success && refused.text.contains("with [hidden]\" is no number"),
        "{}",
        refused.text
    );
    let unread = bench
        .host
        .read_resource("pantry", "tea://hunter2")
        .await
        .unwrap_err();
    assert!(unread.contains("there is no tea://[hidden]"), "{unread}");
    bench.host.end().await;
}

#[tokio::test]
async fn what_is_left_out_of_a_long_list_is_told_with_the_server() {
    let mut bench = Bench::new();
    let mut spec = bench.pantry();
    if let bobbin_mcp::Launch::Child(process) = &mut spec.launch {
        process.env.set(bobbin_testkit::tea_server::MANY, "260");
    }
    bench.host.set(spec).unwrap();
    let seen = bench.until(Ready).await;
    let ready = seen.last().unwrap();
    assert_eq!(ready.tools.len(), 256);
    let problem = ready.problem.as_deref().unwrap();
    assert!(problem.contains("lists 266 tools, and 256"), "{problem}");
    // The offered tools work.
    assert!(bench.call("steep", json!({ "minutes": 1 })).await.success);
    bench.host.end().await;
}
