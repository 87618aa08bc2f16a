//! From Turns to sums in every shape.

use std::sync::Arc;

use bobbin_agent_api::Services;
use bobbin_core::Threads;
use bobbin_framing::{Limits, Transport};
use bobbin_native::Endpoint;
use bobbin_native::group::Groups;
use bobbin_testkit::{Client, Link, ScriptEngine, TestWorkspace};
use serde_json::{Value, json};

fn link(threads: &Arc<Threads>) -> Link {
    let groups = Groups::of(&[bobbin_native::GROUPS, bobbin_usage::GROUPS]);
    let server = Arc::new(bobbin_native::Server::new(
        threads.clone(),
        Services::default(),
        groups,
    ));
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let transport = Transport::lines(reader, writer, Limits::default());
    // The task ends with its client.
    tokio::spawn(bobbin_native::serve(transport, Endpoint::Stdio, server));
    let (reader, writer) = tokio::io::split(far);
    Link::lines(reader, writer)
}

async fn turn(client: &mut Client, thread: &str, text: &str) {
    client.start_turn(thread, text).await;
    client.wait_for("turn/completed").await;
}

async fn started(client: &mut Client, channel: &str, model: Option<&str>) -> String {
    let params = json!({
        "identity": { "channelName": channel }, "displayName": channel, "config": { "model": model },
    });
    let thread = client.call("thread/start", params).await;
    thread["thread"]["id"].as_str().unwrap().to_owned()
}

/// Returns a line for each day of a history.
async fn history(client: &mut Client, more: Value) -> Vec<String> {
    let mut params = json!({ "metric": "tokens" });
    params
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let found = client.call("usage/history", params).await;
    let days = found["days"].as_array().unwrap().iter().map(|day| {
        let values = day["values"].as_array().unwrap().iter();
        let values = values.map(|one| format!(" {}={}", one["key"].as_str().unwrap(), one["value"]));
        format!(
            "{} {}:{}",
            day["date"].as_str().unwrap(),
            day["total"],
            values.collect::<String>()
        )
    });
    days.collect()
}

#[tokio::test]
async fn what_turns_used_is_summed_in_every_shape() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let mut client = Client::ready(link(&threads), "test", json!({ "toolExecutionLifecycle": true })).await;
    let nothing = client.call("usage/summary", json!({})).await;
    assert_eq!(
        (
            nothing.as_object().unwrap().len(),
            &nothing["totalTokens"],
            &nothing["cacheHitRate"]
        ),
        (18, &json!(0), &json!(0.0))
    );
    let kettle = started(&mut client, "kettle", Some("m/big")).await;
    turn(
        &mut client,
        &kettle,
        "usage 100 20\ncall boil\nusage 50 5\nsay hot",
    )
    .await;
    workspace.clock.advance(86_400_000);
    let desk = started(&mut client, "desk", None).await;
    turn(&mut client, &desk, "usage 10 1\ncall pour\ncall pour").await;

    // A copy costs nothing.
    workspace.clock.advance(1);
    client.call("thread/fork", json!({ "threadId": kettle })).await;

    let summary = client.call("usage/summary", json!({})).await;
    for (member, value) in [
        ("sessionCount", 2),
        ("totalRequests", 3),
        ("totalToolCalls", 3),
        ("totalInputTokens", 160),
        ("totalOutputTokens", 26),
        ("totalTokens", 186),
        ("totalErrors", 0),
    ] {
        assert_eq!(summary[member], value, "{member}");
    }
    let (first, second) = ("2027-01-04", "2027-01-05");
    for (more, expected) in [
        (
            json!({}),
            vec![format!("{first} 175: all=175"), format!("{second} 11: all=11")],
        ),
        (
            json!({ "groupBy": "model" }),
            vec![
                format!("{first} 175: m/big=175"),
                format!("{second} 11: default=11"),
            ],
        ),
        (
            json!({ "metric": "turns", "groupBy": "surface" }),
            vec![format!("{first} 1: kettle=1"), format!("{second} 1: desk=1")],
        ),
        (
            json!({ "metric": "toolCalls", "groupBy": "tool" }),
            vec![format!("{first} 1: Exec=1"), format!("{second} 2: Exec=2")],
        ),
        (json!({ "from": second }), vec![format!("{second} 11: all=11")]),
        (json!({ "to": first }), vec![format!("{first} 175: all=175")]),
        // At 10:15 in London it is the next day in the far east.
        (
            json!({ "tzOffsetMinutes": 5000, "to": second }),
            vec![format!("{second} 175: all=175")],
        ),
    ] {
        assert_eq!(history(&mut client, more.clone()).await, expected, "{more}");
    }

    let most = client.call("usage/threads", json!({ "limit": 1 })).await["threads"].clone();
    assert_eq!(most.as_array().unwrap().len(), 1);
    for (member, value) in [
        ("threadId", json!(kettle)),
        ("title", json!("kettle")),
        ("originChannel", json!("kettle")),
        ("totalTokens", json!(175)),
        ("turns", json!(1)),
        ("archived", json!(false)),
    ] {
        assert_eq!(most[0][member], value, "{member}");
    }
    let one = client.call("usage/thread", json!({ "threadId": kettle })).await;
    assert_eq!(
        (&one["totalTokens"], &one["groups"][0]["model"]),
        (&json!(175), &json!("m/big"))
    );
    let insights = client.call("profile/insights", json!({})).await;
    assert_eq!(insights["totalThreads"], 2);
    assert_eq!(insights["topModel"]["total"], 2);
}

#[tokio::test]
async fn bad_questions_about_usage_are_refused() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let mut client = Client::ready(link(&threads), "test", json!({})).await;
    for (method, params, code) in [
        ("usage/summary", json!({ "from": "yesterday" }), -32602),
        ("usage/history", json!({ "metric": "sugar" }), -32602),
        (
            "usage/history",
            json!({ "metric": "turns", "groupBy": "tool" }),
            -32602,
        ),
        (
            "usage/history",
            json!({ "metric": "turns", "topLimit": 21 }),
            -32602,
        ),
        ("usage/threads", json!({ "limit": 0 }), -32602),
        ("usage/thread", json!({ "threadId": "nowhere" }), -32010),
        ("profile/insights", json!({ "topSkills": 0 }), -32602),
    ] {
        assert_eq!(
            client.error(method, params.clone()).await["code"],
            code,
            "{method} {params}"
        );
    }
}
