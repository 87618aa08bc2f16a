//! One peer against a far end that writes any bytes, reads when it likes, and breaks.

use std::sync::Arc;
use std::time::Duration;

use bobbin_framing::Limits;
use bobbin_peer::{
    CallContext, CallError, EofPolicy, ErrorObject, Handlers, Mode, NullId, ParseErrorReply, Peer,
    PeerHandle, PeerOptions, Phase, Responder, Transport, VersionCheck,
};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Notify;

/// Answers by method: `echo`, `fail`, `panic`, `hold` (until released or cancelled), `drop`; keeps order.
#[derive(Clone, Default)]
struct Scripted {
    seen: Arc<Mutex<Vec<String>>>,
    release: Arc<Notify>,
}

impl Scripted {
    fn handlers(&self) -> Handlers {
        let (calls, told) = (self.clone(), self.clone());
        Handlers::new()
            .fallback_call_deferred(Mode::ordered("in"), move |cx, responder| {
                let scripted = calls.clone();
                async move { scripted.request(&cx, responder) }
            })
            .fallback_notification_deferred(Mode::ordered("in"), move |cx| {
                let scripted = told.clone();
                async move {
                    scripted.seen.lock().push(format!("{} {}", cx.ordinal, cx.method));
                    assert!(&*cx.method != "panic", "on purpose");
                }
            })
    }

    fn request(&self, request: &CallContext, responder: Responder) {
        self.seen
            .lock()
            .push(format!("{} {}", request.ordinal, request.method));
        match &*request.method {
            "echo" => responder.ok(&request.params),
            "fail" => responder.err(ErrorObject::new(-32010, "no").with_data(json!({ "a": [1] }))),
            "panic" => panic!("on purpose"),
            "drop" => drop(responder),
            "hold" => {
                let (release, token) = (self.release.clone(), request.token().clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = release.notified() => responder.ok("released"),
                        () = token.cancelled() => responder.err(ErrorObject::cancelled()),
                    }
                });
            }
            other => responder.err(ErrorObject::method_not_found(other)),
        }
    }
}

/// The other end of the wire.
struct Far {
    reader: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Far {
    async fn send(&mut self, text: &str) {
        self.writer.write_all(text.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_mins(1), self.reader.next_line()).await;
        serde_json::from_str(&line.expect("a message").unwrap().expect("the stream is open")).unwrap()
    }

    async fn raw(&mut self) -> String {
        self.reader
            .next_line()
            .await
            .unwrap()
            .expect("the stream is open")
    }
}

fn start(options: PeerOptions, pipe: usize) -> (Peer, Scripted, Far) {
    let (near, far) = tokio::io::duplex(pipe);
    let (reader, writer) = tokio::io::split(near);
    let scripted = Scripted::default();
    let transport = Transport::lines(reader, writer, Limits::default().with_max_body_bytes(1 << 20));
    let peer = Peer::start(transport, options, |_| scripted.handlers()).unwrap();
    let (reader, writer) = tokio::io::split(far);
    (
        peer,
        scripted,
        Far {
            reader: BufReader::new(reader).lines(),
            writer,
        },
    )
}

fn usual() -> (Peer, Scripted, Far) {
    // Lines do not answer garbage by default (peer specification 18-A); here it shows what was taken for it.
    start(
        PeerOptions {
            parse_error_reply: ParseErrorReply::Always,
            ..PeerOptions::default()
        },
        1 << 16,
    )
}

/// Checklist 15, 17, 18: ids come back as they went.
#[tokio::test]
async fn an_id_is_answered_digit_for_digit_and_type_for_type() {
    let (_peer, _, mut far) = usual();
    for id in [
        "7",
        r#""7""#,
        "1.50",
        "1e2",
        "9007199254740993",
        "18446744073709551616",
        "-0",
        "null",
    ] {
        far.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo"}}"#))
            .await;
        let answer = far.raw().await;
        assert!(answer.contains(&format!(r#""id":{id},"#)), "{id}: {answer}");
    }
}

/// Checklist 11, 12, 13: parameters are untouched; absent and null are the same.
#[tokio::test]
async fn params_are_seen_exactly_as_sent() {
    let (_peer, _, mut far) = usual();
    for (sent, seen) in [
        (r#","params":{"b":1e2,"a":1.50}"#, r#"{"b":1e2,"a":1.50}"#),
        (r#","params":[]"#, "[]"),
        (r#","params":null"#, "null"),
        ("", "null"),
    ] {
        far.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo"{sent}}}"#))
            .await;
        assert!(far.raw().await.ends_with(&format!(r#""result":{seen}}}"#)));
    }
}

/// Checklist 4, 8, 10, 50: every failure is one answer and the connection lives.
#[tokio::test]
async fn failures_are_answered_once_and_the_connection_lives() {
    let (_peer, _, mut far) = usual();
    for (method, code) in [
        ("fail", -32010),
        ("panic", -32603),
        ("drop", -32603),
        ("nothing", -32601),
    ] {
        far.send(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#))
            .await;
        let answer = far.read().await;
        assert_eq!(answer["error"]["code"], code, "{method}");
        assert!(!answer.to_string().contains("on purpose"));
    }
    far.send(r#"{"jsonrpc":"2.0","method":"panic"}"#).await;
    far.send(r#"{"jsonrpc":"2.0","id":2,"method":"echo"}"#).await;
    assert_eq!(far.read().await["id"], 2);
}

/// Checklist 19, 20, 30 to 41: shapes that are not quite requests.
#[tokio::test]
async fn odd_shapes_follow_the_table() {
    let (_peer, scripted, mut far) = usual();
    let table = [
        (r#"{"id":1,"method":"echo"}"#, Some((json!(1), -32600))),
        (
            r#"{"jsonrpc":"1.0","id":2,"method":"echo"}"#,
            Some((json!(2), -32600)),
        ),
        (
            r#"{"jsonrpc":2.0,"id":3,"method":"echo"}"#,
            Some((json!(3), -32600)),
        ),
        (r#"{"method":"echo"}"#, None),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"echo"}"#,
            Some((Value::Null, -32600)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"echo"}"#,
            Some((Value::Null, -32600)),
        ),
        (r#"{"jsonrpc":"2.0","id":4,"method":5}"#, Some((json!(4), -32600))),
        (r#"{"jsonrpc":"2.0","id":99}"#, None),
        (r#"{"jsonrpc":"2.0"}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":1}"#, None),
        ("[]", Some((Value::Null, -32600))),
        ("17", Some((Value::Null, -32600))),
        ("{\"a\":", Some((Value::Null, -32700))),
        ("{\"a\":\"x", Some((Value::Null, -32700))),
    ];
    for (sent, expected) in table {
        far.send(sent).await;
        // A request behind it shows that nothing else was sent.
        far.send(r#"{"jsonrpc":"2.0","id":"probe","method":"echo"}"#)
            .await;
        if let Some((id, code)) = expected {
            let answer = far.read().await;
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&id, &json!(code)),
                "{sent}"
            );
        }
        assert_eq!(far.read().await["id"], "probe", "{sent}");
    }
    assert!(scripted.seen.lock().iter().all(|line| line.ends_with("echo")));
}

/// Checklist 121, 122, 123.
#[tokio::test]
async fn bad_utf_8_and_deep_nesting_are_parse_errors_and_a_byte_order_mark_is_not() {
    let (_peer, _, mut far) = usual();
    far.writer
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n")
        .await
        .unwrap();
    assert_eq!(far.read().await["error"]["code"], -32700);
    for (depth, fine) in [(110, true), (10_000, false), (400_000, false)] {
        let params = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        far.send(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":{params}}}"#
        ))
        .await;
        assert_eq!(far.read().await.get("result").is_some(), fine, "{depth}");
    }
    far.send("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}")
        .await;
    assert_eq!(far.read().await["id"], 1);
}

#[tokio::test]
async fn the_lenient_dialect_takes_what_the_strict_one_refuses() {
    let options = PeerOptions {
        version_check: VersionCheck::Lenient,
        null_id: NullId::Notification,
        ..PeerOptions::default()
    };
    let (_peer, scripted, mut far) = start(options, 1 << 16);
    far.send(r#"{"id":1,"method":"echo"}"#).await;
    assert!(far.read().await.get("result").is_some());
    far.send(r#"{"id":null,"method":"told"}"#).await;
    far.send(r#"{"id":2,"method":"echo"}"#).await;
    assert_eq!(far.read().await["id"], 2);
    assert_eq!(*scripted.seen.lock(), ["0 echo", "1 told", "2 echo"]);
}

/// Checklist 26, 52: one lane, arrival order, ordinals without a gap.
#[tokio::test]
async fn messages_are_handed_over_in_the_order_they_came() {
    let (_peer, scripted, mut far) = usual();
    let mut text = String::new();
    for n in 0..100 {
        let id = if n % 3 == 0 {
            String::new()
        } else {
            format!(r#""id":{n},"#)
        };
        text = text + r#"{"jsonrpc":"2.0","# + &id + r#""method":"m"# + &n.to_string() + "\"}\n";
    }
    far.send(text.trim_end()).await;
    far.send(r#"{"jsonrpc":"2.0","id":"last","method":"echo"}"#).await;
    while far.read().await["id"] != "last" {}
    let seen = scripted.seen.lock();
    for n in 0..100 {
        assert_eq!(seen[n], format!("{n} m{n}"));
    }
}

/// Checklist 16, 21, 53, 54, 55.
#[tokio::test]
async fn cancelling_reaches_the_request_of_that_id_and_no_other() {
    let (_peer, scripted, mut far) = usual();
    far.send(r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#).await;
    far.send(r#"{"jsonrpc":"2.0","id":"1","method":"hold"}"#).await;
    far.send(r#"{"jsonrpc":"2.0","id":1.0,"method":"hold"}"#).await;
    let duplicate = far.read().await;
    assert_eq!(
        (&duplicate["id"], &duplicate["error"]["code"]),
        (&json!(1.0), &json!(-32600))
    );
    for params in ["[]", "{}", "7", r#"{"id":5}"#, r#"{"id":1}"#] {
        far.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{params}}}"#
        ))
        .await;
    }
    let cancelled = far.read().await;
    assert_eq!(
        (&cancelled["id"], &cancelled["error"]["code"]),
        (&json!(1), &json!(-32800))
    );
    scripted.release.notify_one();
    assert_eq!(far.read().await["id"], "1");
}

/// Invariant 8: beyond the limit a request is answered at once and never runs.
#[tokio::test]
async fn requests_over_the_limit_are_answered_at_once_and_none_is_lost() {
    let overloaded = ErrorObject::new(-32001, "Server overloaded; retry later.");
    let options = PeerOptions {
        max_running_requests: 4,
        overload_error: overloaded,
        ..PeerOptions::default()
    };
    let (peer, scripted, mut far) = start(options, 1 << 20);
    for id in 0..10 {
        far.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hold"}}"#))
            .await;
    }
    for id in 4..10 {
        let answer = far.read().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(id), &json!(-32001))
        );
    }
    assert_eq!(peer.handle().stats().running_inbound_request_count, 4);
    for _ in 0..4 {
        scripted.release.notify_one();
        assert!(far.read().await.get("result").is_some());
    }
    assert_eq!(scripted.seen.lock().len(), 4);
}

/// Checklist 134: a far end that asks and does not read is not asked for more, and loses nothing.
#[tokio::test]
async fn a_reader_that_stalls_stops_being_read_and_later_gets_every_answer() {
    let options = PeerOptions {
        max_queue_bytes: 4096,
        ..PeerOptions::default()
    };
    let (peer, _, far) = start(options, 1024);
    let Far {
        mut reader,
        mut writer,
    } = far;
    let asking = tokio::spawn(async move {
        for id in 0..2000 {
            let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"echo\",\"params\":[{id}]}}\n");
            writer.write_all(text.as_bytes()).await.unwrap();
        }
        writer
    });
    while peer.handle().stats().write_queue_bytes < 4096 {
        tokio::task::yield_now().await;
    }
    assert!(!asking.is_finished(), "the peer stopped reading");
    for id in 0..2000 {
        let answer: Value = serde_json::from_str(&reader.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id);
        assert!(peer.handle().stats().write_queue_bytes < 3 * 4096 + 70_000);
    }
    drop(asking.await.unwrap());
}

/// Checklist 63, 64, 65, 67: sending resolves after the flush, in order.
#[tokio::test]
async fn a_batch_is_written_in_order_and_resolves_after_its_flush() {
    let (peer, _, mut far) = start(PeerOptions::default(), 64);
    let handle = peer.handle();
    let messages: Vec<Bytes> = (0..20).map(|n| Bytes::from(format!("{{\"n\":{n}}}"))).collect();
    let sending = tokio::spawn(async move { handle.send_batch(messages).await });
    tokio::task::yield_now().await;
    assert!(!sending.is_finished(), "the far end has not read yet");
    for n in 0..20 {
        assert_eq!(far.read().await["n"], n);
    }
    sending.await.unwrap().unwrap();
}

/// Checklist 68 to 76, 79.
#[tokio::test]
async fn calls_get_their_own_answers_in_any_order() {
    let (peer, _, mut far) = usual();
    let call =
        |handle: PeerHandle, n: u32| tokio::spawn(async move { handle.call_raw("ask", [n], None).await });
    let first = call(peer.handle(), 1);
    let asked = far.read().await;
    assert_eq!((&asked["id"], &asked["params"]), (&json!(1), &json!([1])));
    let second = call(peer.handle(), 2);
    assert_eq!(far.read().await["id"], 2);
    far.send(r#"{"jsonrpc":"2.0","id":"1","result":"wrong type"}"#)
        .await;
    far.send(r#"{"jsonrpc":"2.0","id":7,"result":"unknown"}"#).await;
    far.send(r#"{"jsonrpc":"2.0","id":2,"result":1,"error":{"code":-5,"message":"no","data":[1]}}"#)
        .await;
    far.send(r#"{"jsonrpc":"2.0","id":1.0}"#).await;
    let Err(CallError::Remote(error)) = second.await.unwrap() else {
        panic!("an error was sent")
    };
    assert_eq!((error.code, error.data.unwrap().get()), (-5, "[1]"));
    assert_eq!(first.await.unwrap().unwrap().get(), "null");
    let forgotten = call(peer.handle(), 3);
    far.read().await;
    assert_eq!(peer.handle().stats().pending_outbound_call_count, 1);
    forgotten.abort();
    drop(forgotten.await);
    assert_eq!(peer.handle().stats().pending_outbound_call_count, 0);
}

/// Checklist 80, 88, 96.
#[tokio::test(start_paused = true)]
async fn a_deadline_and_the_end_are_told_apart() {
    let (peer, _, mut far) = usual();
    let handle = peer.handle();
    let late = handle.call_raw("ask", (), Some(Duration::from_millis(200))).await;
    assert!(matches!(late, Err(CallError::TimedOut(_))));
    far.read().await;
    let waiting = tokio::spawn(async move { handle.call_raw("ask", (), None).await });
    far.read().await;
    let handle = peer.handle();
    handle.shutdown().await;
    assert!(matches!(waiting.await.unwrap(), Err(CallError::ShutDown)));
    assert!(matches!(
        handle.call_raw("ask", (), None).await,
        Err(CallError::ShutDown)
    ));
    assert!(handle.send_batch(vec![Bytes::from_static(b"{}")]).await.is_err());
    assert_eq!(handle.stats().phase, Phase::Stopped);
    handle.closed().await;
    peer.closed().await;
}

/// Checklist 92, 98, 102: the end cancels what runs, and its answer is still written.
#[tokio::test]
async fn the_end_of_input_cancels_what_runs_and_writes_its_answer() {
    let (peer, _, mut far) = usual();
    far.send(r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#).await;
    far.writer.shutdown().await.unwrap();
    assert_eq!(far.read().await["error"]["code"], -32800);
    assert!(far.reader.next_line().await.unwrap().is_none());
    peer.closed().await;
}

/// Checklist 106.
#[tokio::test]
async fn drain_first_lets_what_was_read_be_answered() {
    let options = PeerOptions {
        eof_policy: EofPolicy::DrainFirst(Duration::from_secs(5)),
        ..PeerOptions::default()
    };
    let (peer, scripted, mut far) = start(options, 1 << 16);
    for id in 0..3 {
        far.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hold"}}"#))
            .await;
    }
    far.writer.shutdown().await.unwrap();
    for _ in 0..3 {
        scripted.release.notify_one();
        assert_eq!(far.read().await["result"], "released");
    }
    peer.closed().await;
}

/// Checklist 103, 107: a far end that vanishes.
#[tokio::test]
async fn a_broken_connection_ends_in_stopped() {
    let (peer, _, far) = usual();
    let handle = peer.handle();
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.call_raw("ask", (), None).await }
    });
    drop(far);
    assert!(matches!(waiting.await.unwrap(), Err(CallError::ShutDown)));
    peer.closed().await;
    assert_eq!(
        (handle.stats().phase, handle.stats().write_queue_length),
        (Phase::Stopped, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_that_stands_still_ends_the_connection() {
    let options = PeerOptions {
        write_stall_timeout: Some(Duration::from_secs(30)),
        ..PeerOptions::default()
    };
    let (peer, _, far) = start(options, 16);
    let sent = peer
        .handle()
        .send_batch(vec![Bytes::from(vec![b' '; 1000])])
        .await;
    assert!(sent.is_err());
    peer.closed().await;
    drop(far);
}

#[tokio::test]
async fn garbage_is_answered_a_few_times_and_too_much_of_it_ends_the_connection() {
    let options = PeerOptions {
        parse_error_reply: ParseErrorReply::Always,
        max_parse_error_replies: 2,
        max_consecutive_errors: 10,
        ..PeerOptions::default()
    };
    let (peer, _, mut far) = start(options, 1 << 16);
    for _ in 0..10 {
        far.send("garbage").await;
    }
    let mut answers = 0;
    while far.reader.next_line().await.unwrap().is_some() {
        answers += 1;
    }
    assert_eq!(answers, 2);
    peer.closed().await;
}
