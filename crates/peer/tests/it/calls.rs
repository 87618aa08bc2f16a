//! Calls out and their deadlines, over every framing. Checklist 68 to 90.

use std::time::Duration;

use bobbin_peer::{CallError, Handlers, PeerOptions};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Framing, Wire, World, within};

async fn world(wire: Wire) -> World {
    World::new(wire, |_| Handlers::new()).await
}

fn ask(world: &World, method: &'static str) -> JoinHandle<Result<Value, CallError>> {
    let me = world.peer.handle();
    tokio::spawn(async move { me.call(method, ()).await })
}

fn ask_within(world: &World, method: &'static str, limit: Duration) -> JoinHandle<Result<Value, CallError>> {
    let me = world.peer.handle();
    tokio::spawn(async move { me.call_with_timeout(method, (), limit).await })
}

/// Checklist 68, 69 and 77.
#[rstest]
#[tokio::test]
async fn calls_have_sequential_ids_and_resolve_with_their_results(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    for id in 1..=3 {
        let call = ask(&world, "ask");
        assert_eq!(
            world.far.text().await,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ask"}}"#)
        );
        let stats = world.peer.stats();
        assert_eq!((stats.pending_outbound_call_count, stats.timer_armed), (1, false));
        world.far.answer(&json!(id), json!({ "n": id })).await;
        assert_eq!(within(call).await.unwrap().unwrap(), json!({ "n": id }));
        assert_eq!(world.peer.stats().pending_outbound_call_count, 0);
    }
}

/// Checklist 70 and 71.
#[rstest]
#[tokio::test]
async fn an_error_answer_arrives_intact(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    let call = ask(&world, "ask");
    world.far.recv().await;
    world
        .far
        .send(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy","data":{"a":1.50}}}"#)
        .await;
    let Err(CallError::Remote(error)) = within(call).await.unwrap() else {
        panic!("no remote error")
    };
    assert_eq!(
        (error.code, error.message.as_ref(), error.data.unwrap().get()),
        (-32000, "busy", r#"{"a":1.50}"#)
    );
}

/// Checklist 72.
#[rstest]
#[tokio::test]
async fn answers_in_any_order_find_their_calls(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    let first = ask(&world, "first");
    world.far.recv().await;
    let second = ask(&world, "second");
    world.far.recv().await;
    world
        .far
        .send(r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#)
        .await;
    world.far.answer(&json!(1), json!("yes")).await;
    assert_eq!(within(second).await.unwrap().unwrap_err().code(), 1);
    assert_eq!(within(first).await.unwrap().unwrap(), "yes");
}

/// Checklist 73, 74 and 75.
#[rstest]
#[tokio::test]
async fn answers_that_match_nothing_are_one_entry_each(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    let call = ask(&world, "ask");
    world.far.recv().await;
    for id in ["7", "\"1\"", "1.5", "{}", "-1", "18446744073709551617"] {
        world
            .far
            .send(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"wrong"}}"#))
            .await;
    }
    world.expect_silence().await;
    assert_eq!(world.errors().len(), 6);
    // Equal by value.
    world
        .far
        .send(r#"{"jsonrpc":"2.0","id":1.0,"result":"right"}"#)
        .await;
    assert_eq!(within(call).await.unwrap().unwrap(), "right");
    world.far.answer(&json!(1), json!("again")).await;
    world.expect_silence().await;
    assert!(world.errors()[6].contains("unknown"));
}

/// Checklist 76.
#[rstest]
#[tokio::test]
async fn result_and_error_together_or_absent_follow_the_rules(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    for (id, (members, result)) in [
        (r#""result":1,"error":{"code":9,"message":"m"}"#, Err(9)),
        (r#""error":{"code":9,"message":"m"},"result":null"#, Err(9)),
        (r#""result":1,"error":null"#, Ok(json!(1))),
        (r#""more":1"#, Ok(Value::Null)),
        (r#""error":"not an object""#, Err(-32603)),
    ]
    .into_iter()
    .enumerate()
    {
        let call = ask(&world, "ask");
        world.far.recv().await;
        world
            .far
            .send(format!(r#"{{"jsonrpc":"2.0","id":{},{members}}}"#, id + 1))
            .await;
        assert_eq!(
            within(call).await.unwrap().map_err(|error| error.code()),
            result,
            "{members}"
        );
    }
}

#[tokio::test]
async fn a_result_of_another_type_is_a_decode_error() {
    let mut world = world(Wire::Lines).await;
    let me = world.peer.handle();
    let call = tokio::spawn(async move { me.call::<u32>("ask", ()).await });
    world.far.recv().await;
    world.far.answer(&json!(1), json!("text")).await;
    assert!(matches!(call.await.unwrap(), Err(CallError::Decode(_))));
}

/// Checklist 78.
#[rstest]
#[tokio::test(start_paused = true)]
async fn an_untimed_call_waits_until_the_shutdown(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let world = world(wire).await;
    let call = ask(&world, "ask");
    sleep(Duration::from_hours(1000)).await;
    assert!(!call.is_finished());
    assert_eq!(world.peer.stats().pending_outbound_call_count, 1);
    world.peer.start_shutdown();
    let error = within(call).await.unwrap().unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (-32099, "transport shut down")
    );
}

/// Checklist 79.
#[rstest]
#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_far_end(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    let call = ask(&world, "ask");
    world.far.recv().await;
    call.abort();
    assert_eq!(
        world.far.text().await,
        r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#
    );
    assert_eq!(world.peer.stats().pending_outbound_call_count, 0);
    world.far.answer(&json!(1), json!("late")).await;
    world.expect_silence().await;
    assert!(world.errors().is_empty());
    assert!(world.log.of("RpcWarn")[0].contains("late"));
}

#[tokio::test]
async fn abandoned_calls_are_cancelled_where_their_method_is() {
    let options = PeerOptions {
        cancel_on_abandon: |method| method == "show",
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| Handlers::new()).await;
    let shown = ask(&world, "show");
    let id = world.far.recv().await["id"].clone();
    shown.abort();
    let cancel = world.far.recv().await;
    assert_eq!(cancel["method"], "$/cancelRequest");
    assert_eq!(cancel["params"]["id"], id);
    let call = ask(&world, "ask");
    world.far.recv().await;
    call.abort();
    world
        .eventually(|stats| stats.pending_outbound_call_count == 0)
        .await;
    world.expect_silence().await;
}

/// Checklist 80, 84, 85 and 89.
#[rstest]
#[tokio::test(start_paused = true)]
async fn a_call_past_its_deadline_times_out(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    let start = Instant::now();
    let call = ask_within(&world, "slow/method", Duration::from_millis(200));
    world.far.recv().await;
    let error = within(call).await.unwrap().unwrap_err();
    assert!((200..205).contains(&start.elapsed().as_millis()));
    assert_eq!(error.code(), -32000);
    assert!(matches!(error, CallError::TimedOut(limit) if limit == Duration::from_millis(200)));
    let warned = world.log.of("RpcWarn");
    assert!(
        warned[0].contains("slow/method") && warned[0].contains("200ms"),
        "{warned:?}"
    );
    assert_eq!(world.far.recv().await["method"], "$/cancelRequest");
    world.far.answer(&json!(1), json!("late")).await;
    world.expect_silence().await;
    let warned = world.log.of("RpcWarn");
    assert!(
        warned[1].contains("late") && warned[1].contains('1'),
        "{warned:?}"
    );
    assert!(world.errors().is_empty());
    let next = ask_within(&world, "next", Duration::from_millis(200));
    assert_eq!(world.far.recv().await["id"], 2);
    world.far.answer(&json!(2), json!("fine")).await;
    assert_eq!(within(next).await.unwrap().unwrap(), "fine");
}

/// Checklist 81.
#[rstest]
#[tokio::test(start_paused = true)]
async fn an_answer_in_time_disarms_the_timer(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    let call = ask_within(&world, "ask", Duration::from_secs(5));
    world.far.recv().await;
    assert!(world.peer.stats().timer_armed);
    world.far.answer(&json!(1), json!(1)).await;
    assert_eq!(within(call).await.unwrap().unwrap(), 1);
    assert!(!world.peer.stats().timer_armed);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.peer.stats().calls_timed_out, 0);
}

/// Checklist 82 and 83.
#[rstest]
#[tokio::test(start_paused = true)]
async fn every_deadline_fires_at_its_own_time(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let world = world(wire).await;
    let start = Instant::now();
    let long = ask_within(&world, "long", Duration::from_secs(5));
    sleep(Duration::from_millis(1)).await;
    let first = ask_within(&world, "first", Duration::from_millis(200));
    let second = ask_within(&world, "second", Duration::from_millis(220));
    world
        .eventually(|stats| stats.pending_outbound_call_count == 3 && stats.timer_armed)
        .await;
    assert_eq!(first.await.unwrap().unwrap_err().code(), -32000);
    assert!(
        (200..210).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(second.await.unwrap().unwrap_err().code(), -32000);
    assert!(
        (220..230).contains(&start.elapsed().as_millis()),
        "{:?}",
        start.elapsed()
    );
    let stats = world.peer.stats();
    assert_eq!((stats.pending_outbound_call_count, stats.timer_armed), (1, true));
    assert_eq!(stats.recently_timed_out_call_count, 2);
    assert!(!long.is_finished());
    assert_eq!(long.await.unwrap().unwrap_err().code(), -32000);
    assert!(!world.peer.stats().timer_armed);
}

/// Checklist 86 and 87.
#[rstest]
#[tokio::test(start_paused = true)]
async fn the_grace_window_ends_after_a_minute(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    assert_eq!(
        ask_within(&world, "ask", Duration::from_secs(1))
            .await
            .unwrap()
            .unwrap_err()
            .code(),
        -32000
    );
    assert_eq!(world.peer.stats().recently_timed_out_call_count, 1);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(world.peer.stats().recently_timed_out_call_count, 0);
    world.far.answer(&json!(1), json!("very late")).await;
    let _sent_before = world.until_probe().await;
    assert!(world.errors()[0].contains("unknown"));
}

/// Checklist 88.
#[rstest]
#[tokio::test(start_paused = true)]
async fn a_timed_call_ends_with_the_shutdown_as_such(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let world = world(wire).await;
    let call = ask_within(&world, "ask", Duration::from_secs(30));
    world.eventually(|stats| stats.timer_armed).await;
    world.peer.start_shutdown();
    assert!(!world.peer.stats().timer_armed);
    assert_eq!(within(call).await.unwrap().unwrap_err().code(), -32099);
}

/// Checklist 90.
#[rstest]
#[tokio::test(start_paused = true)]
async fn timeouts_of_nothing_and_of_ages_behave(
    #[values(
        Wire::Lines,
        Wire::ContentLength,
        Wire::WebSocket,
        Wire::Unlogged(Framing::Lines),
        Wire::Unlogged(Framing::ContentLength),
        Wire::Unlogged(Framing::WebSocket)
    )]
    wire: Wire,
) {
    let mut world = world(wire).await;
    assert_eq!(
        within(ask_within(&world, "now", Duration::ZERO))
            .await
            .unwrap()
            .unwrap_err()
            .code(),
        -32000
    );
    for limit in [Duration::from_hours(10_000 * 365 * 24), Duration::MAX] {
        let call = ask_within(&world, "ages", limit);
        sleep(Duration::from_hours(24 * 365)).await;
        assert!(!call.is_finished());
        let asked = loop {
            let message = world.far.recv().await;
            if message["method"] == "ages" {
                break message;
            }
        };
        world.far.answer(&asked["id"], json!(1)).await;
        assert_eq!(within(call).await.unwrap().unwrap(), 1);
    }
}

#[tokio::test]
async fn escaped_output_is_plain_ascii() {
    let options = PeerOptions {
        ascii_json: true,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::ContentLength, options, |_| Handlers::new()).await;
    world.peer.notify("töne", json!(["ü😀"])).await.unwrap();
    let text = world.far.text().await;
    assert_eq!(
        text,
        r#"{"jsonrpc":"2.0","method":"t\u00f6ne","params":["\u00fc\ud83d\ude00"]}"#
    );
    assert!(
        timeout(Duration::from_secs(1), world.expect_silence())
            .await
            .is_ok()
    );
}
