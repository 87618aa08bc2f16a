//! Secrets that no log may show, whatever way their message goes.

use std::time::Duration;

use bobbin_peer::{CallError, Handlers, Peer, PeerOptions, Redaction};
use serde_json::{Value, json};

use crate::support::{Entries, Far, Wire, connected, within};

struct Logged {
    peer: Peer,
    far: Far,
    log: Entries,
}

impl Logged {
    async fn new(mut options: PeerOptions) -> Self {
        let log = Entries::default();
        options.log = Some(log.callback());
        options.redaction = Redaction::default()
            .blank("login", ["/params/token", "/result/session"])
            .blank("ask", ["/params/key", "/result/answer"]);
        let (near, far) = connected(Wire::Lines, 1 << 14).await;
        let peer = Peer::start(near, options, |_| {
            Handlers::new()
                .on_call("login", |_, _: Value| async {
                    Ok(json!({ "session": "hush", "name": "n" }))
                })
                .on_call("plain", |_, _: Value| async { Ok(json!({ "session": "shown" })) })
        })
        .unwrap();
        Self {
            peer,
            far: Far(far),
            log,
        }
    }

    /// Everything read and written.
    fn all(&self) -> String {
        [self.log.of("RpcRead"), self.log.of("RpcWrite")]
            .concat()
            .join("\n")
    }
}

#[tokio::test]
async fn batches_are_blanked_element_by_element_in_and_out() {
    let mut world = Logged::new(PeerOptions::default()).await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "plain", "params": { "token": "shown" } },
        { "jsonrpc": "2.0", "id": 2, "method": "login", "params": { "token": "hush" } },
        7,
    ]);
    world.far.send(batch.to_string()).await;
    let answers = world.far.recv().await;
    assert_eq!(answers[1]["result"]["session"], "hush");
    // The entry of a message is made before its sender hears of the flush, and so before the next one is written.
    world.peer.notify("after", ()).await.unwrap();
    let all = world.all();
    assert!(!all.contains("hush"), "{all}");
    assert_eq!(
        (all.matches("redacted").count(), all.matches("shown").count()),
        (2, 2),
        "{all}"
    );
}

#[tokio::test]
async fn a_batch_nobody_looks_into_is_not_shown() {
    let mut world = Logged::new(PeerOptions {
        max_batch: 1,
        ..PeerOptions::default()
    })
    .await;
    let login = json!({ "jsonrpc": "2.0", "id": 2, "method": "login", "params": { "token": "hush" } });
    world.far.send(json!([login, login]).to_string()).await;
    assert_eq!(world.far.recv().await["error"]["code"], -32600);
    assert_eq!(world.log.of("RpcRead"), ["redacted"]);
}

#[tokio::test]
async fn batches_of_our_own_and_their_answers_are_blanked() {
    let mut world = Logged::new(PeerOptions::default()).await;
    let calls = tokio::spawn({
        let me = world.peer.handle();
        async move {
            me.call_batch(&[("ask", json!({ "key": "hush" })), ("other", json!({}))])
                .await
        }
    });
    let asked = world.far.recv().await;
    let answers = json!([
        { "jsonrpc": "2.0", "id": asked[1]["id"], "result": { "answer": "shown" } },
        { "jsonrpc": "2.0", "id": asked[0]["id"], "result": { "answer": "hush" } },
    ]);
    world.far.send(answers.to_string()).await;
    assert!(within(calls).await.unwrap().unwrap().iter().all(Result::is_ok));
    let encoded = json!({ "jsonrpc": "2.0", "method": "ask", "params": { "key": "hush" } });
    let both = json!([encoded, { "jsonrpc": "2.0", "method": "tell", "params": { "key": "shown" } }]);
    let frames = vec![encoded.to_string().into(), both.to_string().into()];
    world.peer.send_batch(frames).await.unwrap();
    let all = world.all();
    assert!(!all.contains("hush"), "{all}");
    assert_eq!(
        (all.matches("redacted").count(), all.matches("shown").count()),
        (4, 2),
        "{all}"
    );
}

#[tokio::test(start_paused = true)]
async fn late_answers_are_blanked() {
    let mut world = Logged::new(PeerOptions {
        cancel_on_abandon: |_| false,
        ..PeerOptions::default()
    })
    .await;
    let limit = Duration::from_millis(200);
    let timed_out = world.peer.call_with_timeout::<Value>("ask", (), limit).await;
    assert!(matches!(timed_out, Err(CallError::TimedOut(_))));
    // Another is abandoned by its caller.
    let abandoned = tokio::time::timeout(limit, world.peer.call::<Value>("ask", ())).await;
    assert!(abandoned.is_err());
    for _ in 0..2 {
        let asked = world.far.recv().await;
        world.far.answer(&asked["id"], json!({ "answer": "hush" })).await;
    }
    crate::support::eventually(|| world.log.of("RpcWarn").len() >= 3).await;
    let all = world.all();
    assert!(
        !all.contains("hush") && all.matches("redacted").count() == 2,
        "{all}"
    );
}
