//! Two peers in memory.
#![cfg(test)]
use bobbin_peer::*;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn smoke() {
    let (near, far) = Peer::pair(
        |_| {
            Handlers::new()
                .on_call("echo", |_cx, p: Value| async move { Ok(p) })
                .on_call_deferred("late", Mode::ordered("a"), |cx, r| async move {
                    let peer = cx.peer.clone();
                    tokio::spawn(async move {
                        peer.notify("n", json!({"x":1})).await.unwrap();
                        r.ok(json!([1]));
                    });
                })
                .fallback_call_deferred(Mode::ordered("a"), |cx, r| async move {
                    r.err(ErrorObject::method_not_found(&cx.method));
                })
                .fallback_notification_deferred(Mode::ordered("a"), |_cx| async move {})
        },
        |_| Handlers::new().on_notification("n", |_cx, _p: Value| async move { Ok(()) }),
    )
    .unwrap();
    let r: Value = far.call("echo", json!({"a":1})).await.unwrap();
    assert_eq!(r, json!({"a":1}));
    let r: Value = far.call("late", ()).await.unwrap();
    assert_eq!(r, json!([1]));
    let e = far.call::<Value>("nope", ()).await.unwrap_err();
    assert_eq!(e.code(), -32601);
    let e = far
        .call_with_timeout::<Value>("echo", json!({}), Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(e, json!({}));
    far.send_batch(vec![r#"{"jsonrpc":"2.0","method":"x"}"#.into(); 5])
        .await
        .unwrap();
    println!("{:?}", near.stats());
    tokio::time::timeout(Duration::from_secs(5), near.shutdown())
        .await
        .unwrap();
    tokio::time::timeout(Duration::from_secs(5), far.closed())
        .await
        .unwrap();
    println!("{:?}", far.stats());
}
