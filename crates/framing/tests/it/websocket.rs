//! WebSocket: messages, pings, closing, limits.

use std::task::Poll;
use std::time::Duration;

use bobbin_framing::{
    BinaryFrames, CloseReason, Counted, FramingError, KeepAlive, Transport, WebSocketOptions,
    websocket_config,
};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

type Client = WebSocketStream<DuplexStream>;

async fn pair(options: WebSocketOptions) -> (Transport, Client) {
    let (near, far) = duplex(1 << 16);
    let config = websocket_config(1 << 16);
    let server = WebSocketStream::from_raw_socket(near, Role::Server, Some(config)).await;
    let client = WebSocketStream::from_raw_socket(far, Role::Client, None).await;
    (Transport::websocket(server, options), client)
}

fn quiet() -> WebSocketOptions {
    WebSocketOptions {
        keep_alive: None,
        ..WebSocketOptions::default()
    }
}

async fn text(transport: &mut Transport) -> String {
    let frame = transport.next().await.unwrap().unwrap();
    String::from_utf8(frame.to_vec()).unwrap()
}

/// Checklist 130.
#[tokio::test]
async fn text_and_binary_frames_are_messages_and_blanks_are_trimmed() {
    let (mut server, mut client) = pair(quiet()).await;
    client.send(Message::text("{\"a\":1}\n")).await.unwrap();
    client.send(Message::text("  \n")).await.unwrap();
    client.send(Message::binary(&b" {\"b\":2}"[..])).await.unwrap();
    assert_eq!(text(&mut server).await, "{\"a\":1}");
    assert_eq!(text(&mut server).await, "{\"b\":2}");
    server.send("{\"c\":3}".into()).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::text("{\"c\":3}"));
}

#[tokio::test]
async fn binary_frames_are_ignored_where_asked() {
    let (mut server, mut client) = pair(WebSocketOptions {
        binary: BinaryFrames::Ignore,
        ..quiet()
    })
    .await;
    client.send(Message::binary(&b"{}"[..])).await.unwrap();
    client.send(Message::text("[]")).await.unwrap();
    assert_eq!(text(&mut server).await, "[]");
}

/// Checklist 130.
#[tokio::test]
async fn fragments_are_one_message_and_pings_between_them_are_answered() {
    let (mut server, mut client) = pair(quiet()).await;
    let frame =
        |text: &'static str, code, last| Message::Frame(Frame::message(text, OpCode::Data(code), last));
    client.send(frame("{\"a\"", Data::Text, false)).await.unwrap();
    client
        .send(Message::Ping(Bytes::from_static(b"hi")))
        .await
        .unwrap();
    client.send(frame(":1}", Data::Continue, true)).await.unwrap();
    assert_eq!(text(&mut server).await, "{\"a\":1}");
    assert_eq!(
        client.next().await.unwrap().unwrap(),
        Message::Pong(Bytes::from_static(b"hi"))
    );
}

/// Checklist 130.
#[tokio::test]
async fn a_close_frame_is_the_end_of_input() {
    let (mut server, mut client) = pair(quiet()).await;
    client.send(Message::text("1")).await.unwrap();
    client.close(None).await.unwrap();
    assert_eq!(text(&mut server).await, "1");
    assert!(server.next().await.is_none());
    assert_eq!(server.reader.close_reason(), None);
}

#[tokio::test]
async fn the_reason_of_the_other_side_can_be_read() {
    let (mut server, mut client) = pair(quiet()).await;
    let frame = CloseFrame {
        code: CloseCode::Restart,
        reason: "back soon".into(),
    };
    client.close(Some(frame)).await.unwrap();
    assert!(server.next().await.is_none());
    let reason = CloseReason::new(CloseReason::RESTART, "back soon");
    assert_eq!(server.reader.close_reason(), Some(reason));
}

#[tokio::test]
async fn a_dropped_connection_is_the_end_of_input() {
    let (mut server, client) = pair(quiet()).await;
    drop(client);
    assert!(server.next().await.is_none());
}

/// Checklist 130.
#[tokio::test(start_paused = true)]
async fn an_oversize_message_closes_with_1009_even_while_it_is_still_arriving() {
    let (mut server, mut client) = pair(quiet()).await;
    let sending = tokio::spawn(async move {
        // Larger than the pipe: the rest of it arrives after the refusal.
        client.send(Message::text("x".repeat(200_000))).await.unwrap();
        let close = client.next().await.unwrap().unwrap();
        let Message::Close(Some(frame)) = close else {
            panic!("{close:?}")
        };
        frame.code
    });
    assert!(matches!(
        server.next().await,
        Some(Err(FramingError::WebSocketTooLarge { limit: 65536 }))
    ));
    assert!(server.next().await.is_none());
    server.close(&CloseReason::default()).await.unwrap();
    assert_eq!(sending.await.unwrap(), CloseCode::Size);
}

#[tokio::test]
async fn a_close_carries_code_and_reason() {
    let (mut server, mut client) = pair(quiet()).await;
    let closing = tokio::spawn(async move {
        server
            .close(&CloseReason::new(CloseReason::TRY_AGAIN, "too far behind"))
            .await
            .unwrap();
    });
    let Message::Close(Some(frame)) = client.next().await.unwrap().unwrap() else {
        panic!("no close frame")
    };
    assert_eq!(
        (u16::from(frame.code), frame.reason.as_str()),
        (1013, "too far behind")
    );
    assert!(client.next().await.is_none());
    drop(client);
    timeout(Duration::from_secs(5), closing).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_close_does_not_wait_for_a_far_end_that_stays() {
    let (mut server, client) = pair(quiet()).await;
    let start = Instant::now();
    server.close(&CloseReason::default()).await.unwrap();
    assert!(start.elapsed() <= Duration::from_millis(1100));
    drop(client);
}

#[tokio::test]
async fn a_long_reason_is_cut_at_a_character() {
    let (mut server, mut client) = pair(quiet()).await;
    tokio::join!(
        async {
            let reason = CloseReason::new(CloseReason::POLICY, "ü".repeat(100));
            server.close(&reason).await.unwrap();
        },
        async {
            let Message::Close(Some(frame)) = client.next().await.unwrap().unwrap() else {
                panic!("no close")
            };
            assert_eq!(frame.reason.as_str(), "ü".repeat(61));
            drop(client);
        }
    );
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_ping_closes_the_connection() {
    let keep_alive = KeepAlive {
        interval: Duration::from_secs(30),
        timeout: Duration::from_secs(10),
    };
    let (mut server, mut client) = pair(WebSocketOptions {
        keep_alive: Some(keep_alive),
        ..quiet()
    })
    .await;
    let start = Instant::now();
    assert!(matches!(
        server.next().await,
        Some(Err(FramingError::KeepAlive(_)))
    ));
    assert_eq!(start.elapsed().as_secs(), 40);
    assert!(server.next().await.is_none());
    server.close(&CloseReason::default()).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::Ping(Bytes::new()));
    let Message::Close(Some(frame)) = client.next().await.unwrap().unwrap() else {
        panic!("no close frame")
    };
    assert_eq!(u16::from(frame.code), 1011);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays_connected() {
    let (mut server, mut client) = pair(WebSocketOptions::default()).await;
    let answering = tokio::spawn(async move {
        let mut pings = 0;
        let start = Instant::now();
        while start.elapsed() < Duration::from_mins(5) {
            if let Ok(Some(Ok(Message::Ping(_)))) = timeout(Duration::from_secs(31), client.next()).await {
                pings += 1;
            }
            // Answers are written with the next read or flush.
            client.flush().await.unwrap();
        }
        client.close(None).await.unwrap();
        pings
    });
    assert!(server.next().await.is_none());
    assert!(answering.await.unwrap() >= 9);
}

/// A ping that falls due while a flush waits must not steal that flush's wake-up.
#[tokio::test(start_paused = true)]
async fn a_ping_during_a_blocked_flush_loses_neither() {
    let (
        Transport {
            mut reader,
            mut writer,
        },
        mut client,
    ) = pair(WebSocketOptions::default()).await;
    let big = Bytes::from("y".repeat(300_000));
    writer.feed(big).unwrap();
    let writing = tokio::spawn(async move {
        std::future::poll_fn(|cx| writer.poll_flush(cx)).await.unwrap();
        writer
    });
    let reading =
        tokio::spawn(async move { std::future::poll_fn(|cx| reader.poll_frame(cx)).await.is_none() });
    tokio::time::sleep(Duration::from_secs(35)).await;
    // It gets through between the fragments of the message.
    assert_eq!(client.next().await.unwrap().unwrap(), Message::Ping(Bytes::new()));
    let Message::Text(text) = client.next().await.unwrap().unwrap() else {
        panic!("no text")
    };
    assert_eq!(text.len(), 300_000);
    client.close(None).await.unwrap();
    writing.await.unwrap();
    assert!(reading.await.unwrap());
}

#[tokio::test]
async fn text_that_is_not_utf8_is_a_protocol_error_and_the_end() {
    let (near, mut far) = duplex(1 << 12);
    let server = WebSocketStream::from_raw_socket(near, Role::Server, None).await;
    let mut server = Transport::websocket(server, quiet());
    // A masked text frame with a zero mask and the single byte FF.
    far.write_all(&[0x81, 0x81, 0, 0, 0, 0, 0xff]).await.unwrap();
    assert!(matches!(
        server.next().await,
        Some(Err(FramingError::WebSocket(_)))
    ));
    assert!(server.next().await.is_none());
    let closing = tokio::spawn(async move { server.close(&CloseReason::default()).await.unwrap() });
    let mut head = [0; 4];
    far.read_exact(&mut head).await.unwrap();
    assert_eq!((head[0], u16::from_be_bytes([head[2], head[3]])), (0x88, 1007));
    drop(far);
    closing.await.unwrap();
}

/// One frame, larger than the pipe, read a little at a time.
#[tokio::test]
async fn a_counted_websocket_tells_of_every_byte_that_leaves() {
    let (near, mut far) = duplex(1 << 12);
    let server = WebSocketStream::from_raw_socket(Counted::new(near), Role::Server, None).await;
    let mut writer = Transport::counted_websocket(server, quiet()).writer;
    writer.feed(Bytes::from(vec![b'x'; 100_000])).unwrap();
    let mut left = vec![0; 4096];
    let mut before = 0;
    for _ in 0..10 {
        let flushed = std::future::poll_fn(|cx| Poll::Ready(writer.poll_flush(cx))).await;
        assert!(flushed.is_pending());
        assert!(writer.bytes_written() > before, "{before}");
        before = writer.bytes_written();
        far.read_exact(&mut left).await.unwrap();
    }
    assert!(before < 100_000);
}

/// A byte stream that moves a little per second, each way by itself.
struct Slow {
    inner: DuplexStream,
    read: Throttle,
    write: Throttle,
}

struct Throttle {
    bytes: usize,
    ready: std::pin::Pin<Box<tokio::time::Sleep>>,
}

impl Throttle {
    fn new(bytes: usize) -> Self {
        Self {
            bytes,
            ready: Box::pin(tokio::time::sleep(Duration::from_secs(1))),
        }
    }

    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<usize> {
        use std::future::Future;
        std::task::ready!(self.ready.as_mut().poll(cx));
        Poll::Ready(self.bytes)
    }

    fn moved(&mut self) {
        self.ready.as_mut().reset(Instant::now() + Duration::from_secs(1));
    }
}

impl Slow {
    fn new(inner: DuplexStream, bytes_a_second: usize) -> Self {
        Self {
            inner,
            read: Throttle::new(bytes_a_second),
            write: Throttle::new(bytes_a_second),
        }
    }
}

impl tokio::io::AsyncRead for Slow {
    fn poll_read(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let most = std::task::ready!(self.read.poll(cx));
        let mut some = buf.take(most);
        std::task::ready!(std::pin::Pin::new(&mut self.inner).poll_read(cx, &mut some))?;
        let read = some.filled().len();
        buf.advance(read);
        self.read.moved();
        Poll::Ready(Ok(()))
    }
}

impl tokio::io::AsyncWrite for Slow {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let most = std::task::ready!(self.write.poll(cx)).min(bytes.len());
        let written = std::task::ready!(std::pin::Pin::new(&mut self.inner).poll_write(cx, &bytes[..most]))?;
        self.write.moved();
        Poll::Ready(Ok(written))
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        std::pin::Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A server with pings and bytes counted, as the listener has them, and a client that moves this much per second.
async fn slow_pair(bytes_a_second: usize) -> (Transport, WebSocketStream<Slow>) {
    let (near, far) = duplex(1 << 16);
    let config = websocket_config(8 << 20);
    let near = WebSocketStream::from_raw_socket(Counted::new(near), Role::Server, Some(config)).await;
    let far = WebSocketStream::from_raw_socket(Slow::new(far, bytes_a_second), Role::Client, None).await;
    (
        Transport::counted_websocket(near, WebSocketOptions::default()),
        far,
    )
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_a_large_answer_slowly_is_not_given_up() {
    let (
        Transport {
            mut reader,
            mut writer,
        },
        mut client,
    ) = slow_pair(16 << 10).await;
    let answer = "a".repeat(4 << 20);
    writer.feed(answer.clone().into()).unwrap();
    let reading = tokio::spawn(async move { std::future::poll_fn(|cx| reader.poll_frame(cx)).await });
    let writing = tokio::spawn(async move {
        std::future::poll_fn(|cx| writer.poll_flush(cx)).await.unwrap();
        writer
    });
    let start = Instant::now();
    let mut pings = 0;
    loop {
        match client.next().await.unwrap().unwrap() {
            Message::Ping(_) => pings += 1,
            Message::Text(text) => {
                assert!(text.as_str() == answer);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    // Long enough for several pings, which came through between the fragments.
    assert!(start.elapsed() > Duration::from_secs(200));
    assert!(pings > 1, "{pings}");
    assert!(!reading.is_finished());
    drop(client);
    assert!(reading.await.unwrap().is_none());
    drop(writing.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_one_large_frame_slowly_is_not_given_up() {
    let (mut server, mut client) = slow_pair(16 << 10).await;
    let sending = tokio::spawn(async move {
        client.send(Message::text("q".repeat(4 << 20))).await.unwrap();
        client
    });
    assert_eq!(text(&mut server).await.len(), 4 << 20);
    drop(sending.await.unwrap());
}

/// What is on its way may stand before the ping; what stands still after that is gone.
#[tokio::test(start_paused = true)]
async fn a_client_that_stops_in_the_middle_is_given_up() {
    let (mut server, mut client) = slow_pair(16 << 10).await;
    let start = Instant::now();
    // A frame of 100,000 bytes of which a part arrives.
    let head = [0x81, 0xff, 0, 0, 0, 0, 0, 1, 0x86, 0xa0, 0, 0, 0, 0];
    client.get_mut().inner.write_all(&head).await.unwrap();
    client.get_mut().inner.write_all(&[b'x'; 5000]).await.unwrap();
    assert!(matches!(
        server.next().await,
        Some(Err(FramingError::KeepAlive(_)))
    ));
    assert_eq!(start.elapsed().as_secs(), 40);
}

/// Fragments end between characters, arrive as one message, and never fill the buffer of the stream.
#[tokio::test]
async fn a_large_message_leaves_in_fragments_that_are_text_by_themselves() {
    let (near, mut far) = duplex(1 << 12);
    let near = WebSocketStream::from_raw_socket(near, Role::Server, Some(websocket_config(1 << 16))).await;
    let mut writer = Transport::websocket(near, quiet()).writer;
    let message = format!("a{}", "\u{20ac}".repeat(100_000));
    writer.feed(message.clone().into()).unwrap();
    writer.feed("{}".into()).unwrap();
    let writing = tokio::spawn(async move {
        std::future::poll_fn(|cx| writer.poll_flush(cx)).await.unwrap();
    });
    let mut whole = String::new();
    let mut codes = Vec::new();
    loop {
        let code = far.read_u8().await.unwrap();
        let length = match far.read_u8().await.unwrap() {
            126 => u64::from(far.read_u16().await.unwrap()),
            127 => far.read_u64().await.unwrap(),
            short => u64::from(short),
        };
        assert!(length <= 1 << 16, "{length}");
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        far.read_exact(&mut payload).await.unwrap();
        let payload = String::from_utf8(payload).unwrap();
        codes.push(code);
        if payload == "{}" {
            break;
        }
        whole += &payload;
    }
    assert!(whole == message);
    writing.await.unwrap();
    // Text, continuations, the last of them final; then the next message.
    assert_eq!(codes, [0x01, 0x00, 0x00, 0x00, 0x80, 0x81]);
}
