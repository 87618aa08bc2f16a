//! Broken and strange input, as the peer answers and logs it. Checklist 112 to 127.

use std::time::Duration;

use bobbin_framing::Limits;
use bobbin_peer::{
    Handlers, NoParams, OversizeReply, ParseErrorReply, Peer, PeerOptions, Phase, StreamFraming, TestClient,
    Transport,
};
use rstest::rstest;
use serde_json::Value;

use crate::support::{Entries, Framing, Wire, World, within};

fn raw(framing: StreamFraming, mut options: PeerOptions) -> (Peer, TestClient, Entries) {
    let log = Entries::default();
    options.log = Some(log.callback());
    let handlers = |_| Handlers::new().on_call("probe", |_, _: NoParams| async { Ok("here") });
    let (peer, far) = Peer::pair_raw(framing, 1 << 16, options, handlers).unwrap();
    (peer, far, log)
}

async fn recv(far: &mut TestClient) -> Value {
    serde_json::from_slice(&within(far.recv()).await.unwrap().unwrap()).unwrap()
}

const PROBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"probe"}"#;

/// Checklist 112, 114, 115 and 116: one entry, then the next message is served.
#[rstest]
#[case(b"Content-Length: abc\r\n\r\n")]
#[case(b"Content-Length: 0\r\n\r\n")]
#[case(b"Starting, please wait\r\n")]
#[case(br#"{"jsonrpc":"2.0","method":"unframed"}"#)]
#[tokio::test]
async fn a_framing_error_is_one_entry(#[case] garbage: &[u8]) {
    let (peer, mut far, log) = raw(StreamFraming::ContentLength, PeerOptions::default());
    far.write(garbage).await.unwrap();
    far.send(PROBE).await.unwrap();
    assert_eq!(recv(&mut far).await["result"], "here");
    assert_eq!(log.of("RpcError").len(), 1);
    assert_eq!((peer.phase(), peer.stats().read_errors), (Phase::Active, 1));
}

/// Checklist 120, 121, 123 and 124; and decision A: answered where the framing was intact.
#[rstest]
#[case(b"{\"jsonrpc\":".to_vec())]
#[case(b"not json".to_vec())]
#[case(b"{\"a\":\"\xff\"}".to_vec())]
#[case(b"{\"a\":\"\xc0\xaf\"}".to_vec())]
#[case(b"{\"a\":\"\xe2\x82".to_vec())]
#[case(b"{} {}".to_vec())]
#[case([vec![b'['; 10_000], vec![b']'; 10_000]].concat())]
#[case(vec![b'['; 1_000_000])]
#[tokio::test]
async fn a_body_that_is_not_json_is_one_entry_and_one_answer(
    #[case] body: Vec<u8>,
    #[values(StreamFraming::ContentLength, StreamFraming::Lines)] framing: StreamFraming,
) {
    let (_peer, mut far, log) = raw(framing, PeerOptions::default());
    let framed = match framing {
        StreamFraming::Lines => [&body[..], b"\n"].concat(),
        StreamFraming::ContentLength => [
            format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(),
            &body,
        ]
        .concat(),
    };
    far.write(&framed).await.unwrap();
    far.send(PROBE).await.unwrap();
    if framing == StreamFraming::ContentLength {
        let answer = recv(&mut far).await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &(-32700).into())
        );
    }
    assert_eq!(recv(&mut far).await["result"], "here");
    assert_eq!(log.of("RpcError").len(), 1);
    // Checklist 127: no read entry for what does not parse.
    assert_eq!(log.of("RpcRead"), [PROBE]);
}

/// Checklist 122 and 123.
#[rstest]
#[tokio::test]
async fn a_byte_order_mark_and_deep_but_allowed_nesting_are_accepted(
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
    let mut world = World::new(wire, |_| {
        Handlers::new().on_call("deep", |_, _: Vec<Value>| async { Ok("deep") })
    })
    .await;
    world.far.send(format!("\u{feff}{PROBE}")).await;
    assert_eq!(world.far.recv().await["result"], "here");
    // 119 levels of params inside the message object.
    let params = "[".repeat(119) + &"]".repeat(119);
    world
        .far
        .send(format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"deep","params":{params}}}"#
        ))
        .await;
    assert_eq!(world.far.recv().await["result"], "deep");
    let params = "[".repeat(120) + &"]".repeat(120);
    world
        .far
        .send(format!(
            r#"{{"jsonrpc":"2.0","id":3,"method":"deep","params":{params}}}"#
        ))
        .await;
    world.far.request(4, "probe", Value::Null).await;
    let answers = [world.far.recv().await];
    if wire.framing() != Framing::Lines {
        assert_eq!(answers[0]["error"]["code"], -32700);
    }
    assert!(world.errors()[0].contains("nested"));
}

/// Decision A: what is found after the boundaries were lost is not answered, and what follows it whole is.
#[tokio::test]
async fn garbage_found_while_resynchronising_is_not_answered() {
    let (_peer, mut far, log) = raw(StreamFraming::ContentLength, PeerOptions::default());
    far.write(b"a print with Content-Length: 8\r\n\r\nnot json")
        .await
        .unwrap();
    far.send(PROBE).await.unwrap();
    assert_eq!(recv(&mut far).await["result"], "here");
    assert_eq!(log.of("RpcError").len(), 2);
    far.send("not json").await.unwrap();
    assert_eq!(recv(&mut far).await["error"]["code"], -32700);
}

/// Checklist 125.
#[rstest]
#[case(b"Content-Length: 5\r\n".as_slice())]
#[case(b"Content-Length: 5\r\n\r\n{".as_slice())]
#[tokio::test]
async fn input_that_ends_inside_a_message_is_logged_and_stops_in_order(#[case] rest: &[u8]) {
    let (peer, mut far, log) = raw(StreamFraming::ContentLength, PeerOptions::default());
    far.write(rest).await.unwrap();
    far.end_input().await.unwrap();
    within(peer.closed()).await;
    let errors = log.of("RpcError");
    assert!(
        errors.len() == 1 && errors[0].contains("ended inside"),
        "{errors:?}"
    );
}

/// A reader that fails for ever.
struct Failing;

impl tokio::io::AsyncRead for Failing {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Err(std::io::ErrorKind::Other.into()))
    }
}

/// Checklist 126.
#[tokio::test]
async fn a_stream_that_only_fails_is_given_up() {
    let log = Entries::default();
    let options = PeerOptions {
        log: Some(log.callback()),
        max_consecutive_errors: 10,
        ..PeerOptions::default()
    };
    let transport = Transport::content_length(Failing, tokio::io::sink(), Limits::default());
    let peer = Peer::start(transport, options, |_| Handlers::new()).unwrap();
    within(peer.closed()).await;
    assert_eq!(log.of("RpcError").len(), 11);
    assert_eq!(peer.stats().read_errors, 10);
}

/// Checklist 127.
#[rstest]
#[tokio::test]
async fn every_message_that_parses_is_logged_before_any_check(
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
    let mut world = World::new(wire, |_| Handlers::new()).await;
    let messages = [
        r#"{"id":1}"#,
        r#"{"jsonrpc":"1.0","method":"x"}"#,
        "[]",
        "7",
        r#"{"jsonrpc":"2.0"}"#,
    ];
    for message in messages {
        world.far.send(message).await;
    }
    let answers = world.until_probe().await;
    assert_eq!(answers.len(), 3);
    if wire.is_logged() {
        assert_eq!(world.log.of("RpcRead")[..5], messages);
    }
}

#[tokio::test]
async fn parse_errors_are_answered_eight_times_in_a_row_at_most() {
    let options = PeerOptions {
        parse_error_reply: ParseErrorReply::Always,
        ..PeerOptions::default()
    };
    let mut world = World::with(Wire::Lines, options, |_| Handlers::new()).await;
    for _ in 0..20 {
        world.far.send("garbage").await;
    }
    assert_eq!(world.until_probe().await.len(), 8);
    world.far.send("garbage").await;
    assert_eq!(world.until_probe().await.len(), 1);
}

#[tokio::test]
async fn an_over_long_line_is_answered_where_asked() {
    let (near, far) = tokio::io::duplex(1 << 12);
    let (read, write) = tokio::io::split(near);
    let transport = Transport::lines(read, write, Limits::default().with_max_body_bytes(100));
    let options = PeerOptions {
        oversize_reply: OversizeReply::Always,
        ..PeerOptions::default()
    };
    let _peer = Peer::start(transport, options, |_| Handlers::new()).unwrap();
    let (read, write) = tokio::io::split(far);
    let mut far = crate::support::Far(Transport::lines(read, write, Limits::default()));
    far.send("x".repeat(100_000)).await;
    assert_eq!(far.error_of(Value::Null).await, -32600);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_stands_unfinished_is_mentioned_every_ten_seconds() {
    let (_peer, mut far, log) = raw(StreamFraming::ContentLength, PeerOptions::default());
    far.write(b"Content-Length: 50\r\n\r\n{").await.unwrap();
    tokio::time::sleep(Duration::from_secs(35)).await;
    let unfinished = || {
        log.of("RpcDebug")
            .iter()
            .filter(|text| text.contains("unfinished"))
            .count()
    };
    assert_eq!(unfinished(), 3);
    far.end_input().await.unwrap();
    tokio::time::sleep(Duration::from_secs(35)).await;
    assert_eq!(unfinished(), 3);
}
