//! Bytes of the connection, and their errors.

use std::time::Duration;

use bobbin_hermes::ExtensionState;
use serde_json::{Value, json};

use crate::fake::frame;
use crate::support::{ADT, World, plain, with_commands};

fn hl7() -> Value {
    json!({ "format": "hl7" })
}

#[tokio::test]
async fn behaviour_18_every_byte_that_is_written_is_ascii() {
    let mut world = World::new();
    let thread = world.open("thread_1", ADT).await;
    let (_, mut fake) = world.run(with_commands(&["tea/grün\u{1f375}"])).await;
    let message = fake.result("editor/getMessage", hl7()).await["message"].clone();
    assert_eq!(message, ADT);
    world
        .host
        .execute("tea/grün\u{1f375}", Some(&thread), None)
        .await
        .unwrap();
    let command = fake.receive_method("command/execute").await;
    assert_eq!(command["params"]["command"], "tea/grün\u{1f375}");
    assert!(fake.raw.is_ascii());
    assert!(String::from_utf8_lossy(&fake.raw).contains("M\\u00dcLLER"));
}

#[tokio::test]
async fn behaviour_19_utf8_and_escapes_are_both_read() {
    let mut world = World::new();
    let thread = world.open("thread_1", "MSH|^~\\&\rPID|1\r").await;
    let (_, mut fake) = world.run(plain()).await;
    for value in ["J\u{f6}rg", "J\\u00f6rg"] {
        let patch = format!(r#"{{"patches":[{{"path":"PID.5","value":"{value}"}}]}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":5,"method":"editor/patchMessage","params":{patch}}}"#);
        fake.print(frame(&body)).await;
        assert_eq!(fake.receive().await["result"]["success"], true);
        let (text, _) = world.host.text(&thread).await.unwrap();
        assert_eq!(text, "MSH|^~\\&\rPID|1||||J\u{f6}rg\r");
    }
}

#[tokio::test]
async fn behaviour_20_what_is_no_frame_is_logged_and_harms_nothing() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    fake.print("starting up, 100 % of DOE^ANN\n").await;
    fake.print(frame("{\"jsonrpc\": not json")).await;
    fake.print("one more line\r\n\r\n").await;
    fake.result("editor/getMessage", hl7()).await;
    let first = world.logs("read error").await;
    assert!(!first.message.contains("DOE"), "{first:?}");
    world.logs("parse error").await;
}

#[tokio::test]
async fn behaviour_20_garbage_without_an_end_fails_the_extension() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    fake.print(vec![b'x'; 3 << 20]).await;
    world.reaches(&id, ExtensionState::Failed).await;
    fake.ended().await;
}

#[tokio::test]
async fn behaviour_21_headers_in_any_case_and_other_headers_are_read() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"editor/getMessage","params":{"format":"hl7"}}"#;
    let head = format!(
        "X-Tea: green\r\ncontent-LENGTH:  {}\r\nContent-Type: text/plain",
        body.len()
    );
    fake.print(format!("{head}\r\n\r\n{body}")).await;
    assert_eq!(fake.receive().await["id"], 1);
}

#[tokio::test]
async fn behaviour_22_a_message_over_ten_mebibytes_is_skipped() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    let body = |length: usize| {
        let start = r#"{"jsonrpc":"2.0","id":8,"method":"editor/getMessage","params":{"format":"hl7","x":""#;
        format!("{start}{}\"}}}}", "x".repeat(length - start.len() - 3))
    };
    fake.print(frame(&body((10 << 20) + 1))).await;
    fake.result("editor/getMessage", hl7()).await;
    fake.print(frame(&body(10 << 20))).await;
    assert_eq!(fake.receive().await["id"], 8);
}

#[tokio::test]
async fn behaviour_23_ids_come_back_as_they_were_sent() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    for id in [json!("7"), json!("tea"), json!(7)] {
        fake.request(id.clone(), "editor/getMessage", hl7()).await;
        assert_eq!(fake.receive().await["id"], id);
    }
    assert_eq!(fake.refused("editor/melt", json!({})).await, -32601);
    assert_eq!(
        fake.refused("editor/getMessage", json!({ "format": 7 })).await,
        -32602
    );
}

#[tokio::test]
async fn behaviour_24_both_sides_may_use_one_id_at_once() {
    let mut world = World::new();
    let (id, mut fake) = world.run(plain()).await;
    world.host.set_enabled(id.as_str(), false).unwrap();
    let shutdown = fake.receive_method("shutdown").await;
    fake.request(shutdown["id"].clone(), "editor/getMessage", hl7())
        .await;
    let answer = fake.receive().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["hasFile"]),
        (&shutdown["id"], &json!(false))
    );
    fake.answer(&shutdown, json!({ "success": true })).await;
    fake.exit(0).await;
    world.reaches(&id, ExtensionState::Stopped).await;
}

#[tokio::test]
async fn behaviour_25_answers_may_come_in_any_order() {
    let mut world = World::new();
    let ((one, first), (two, second)) = (world.fake("one"), world.fake("two"));
    let ids = world.load(&[one, two]);
    let (mut first, mut second) = (first.started().await, second.started().await);
    let (one, two) = (first.receive().await, second.receive().await);
    // The answer to an unknown request comes first, and is dropped.
    second
        .send(json!({ "jsonrpc": "2.0", "id": 99, "result": plain() }))
        .await;
    second.answer(&two, plain()).await;
    world.reaches(&ids[1], ExtensionState::Running).await;
    first.answer(&one, plain()).await;
    world.reaches(&ids[0], ExtensionState::Running).await;
}

#[tokio::test]
async fn behaviour_26_a_notification_arrives_while_the_extension_waits() {
    let mut world = World::new();
    let (_, mut fake) = world.run(with_commands(&["tea/boil"])).await;
    let screen = crate::screens::Scripted::new();
    screen.attach(&world.host);
    fake.request(4, "ui/showConfirm", json!({ "message": "Boil?" }))
        .await;
    screen.asked().await;
    world.host.execute("tea/boil", None, None).await.unwrap();
    fake.receive_method("command/execute").await;
    screen.answer(json!({ "confirmed": true }));
    assert_eq!(
        fake.receive().await,
        json!({ "jsonrpc": "2.0", "id": 4, "result": { "confirmed": true } })
    );
}

#[tokio::test]
async fn notifications_of_an_extension_are_ignored() {
    let mut world = World::new();
    let (_, mut fake) = world.run(plain()).await;
    fake.send(json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }))
        .await;
    fake.send(json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 1 } }))
        .await;
    fake.result("editor/getMessage", hl7()).await;
    tokio::time::sleep(Duration::ZERO).await;
    assert_eq!(world.host.extensions()[0].state, ExtensionState::Running);
}
