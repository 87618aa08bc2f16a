//! The asynchronous shell: dropped reads, read errors, write failures.

use std::future::poll_fn;
use std::io::ErrorKind;

use bobbin_framing::{CloseReason, ContentLengthDecoder, FrameReader, Limits, StreamReader, Transport};
use tokio::io::{AsyncReadExt, duplex};

use crate::support::{Script, Step};

async fn next(reader: &mut impl FrameReader) -> Option<Result<String, String>> {
    let item = poll_fn(|cx| reader.poll_frame(cx)).await?;
    Some(
        item.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|error| error.to_string()),
    )
}

/// Checklist 117: one byte at a time, with the read dropped after each.
#[tokio::test]
async fn a_dropped_read_goes_on_where_it_was() {
    let mut steps = Vec::new();
    for byte in b"Content-Length: 4\r\n\r\ntrueContent-Length: 2\r\n\r\n{}" {
        steps.push(Step::Wait);
        steps.push(Step::Bytes(vec![*byte]));
    }
    let mut reader = StreamReader::new(Script::new(steps), ContentLengthDecoder::new(Limits::default()));
    let mut got = Vec::new();
    loop {
        let ready = tokio::select! {
            biased;
            item = next(&mut reader) => Some(item),
            () = std::future::ready(()) => None,
        };
        match ready {
            None => {}
            Some(None) => break,
            Some(Some(item)) => got.push(item.unwrap()),
        }
    }
    assert_eq!(got, ["true", "{}"]);
}

/// Checklist 126.
#[tokio::test]
async fn a_passing_read_error_is_one_item_and_reading_goes_on() {
    let steps = [
        Step::Bytes(b"Content-Length: 2\r\n".to_vec()),
        Step::Fail(ErrorKind::TimedOut),
        Step::Fail(ErrorKind::Interrupted),
        Step::Bytes(b"\r\n{}".to_vec()),
    ];
    let mut reader = StreamReader::new(Script::new(steps), ContentLengthDecoder::new(Limits::default()));
    assert_eq!(next(&mut reader).await, Some(Err("stream failed".to_owned())));
    assert_eq!(next(&mut reader).await, Some(Ok("{}".to_owned())));
    assert_eq!(next(&mut reader).await, None);
    assert_eq!(reader.bytes_read(), 23);
}

#[tokio::test]
async fn a_reset_connection_is_one_error_and_the_end() {
    let steps = [
        Step::Fail(ErrorKind::ConnectionReset),
        Step::Bytes(b"never seen".to_vec()),
    ];
    let mut reader = StreamReader::new(Script::new(steps), ContentLengthDecoder::new(Limits::default()));
    assert!(next(&mut reader).await.is_some_and(|item| item.is_err()));
    assert_eq!(next(&mut reader).await, None);
}

#[tokio::test]
async fn a_batch_is_written_whole_and_closed_behind() {
    let (near, mut far) = duplex(16);
    let (read, write) = tokio::io::split(near);
    let mut transport = Transport::lines(read, write, Limits::default());
    let reading = tokio::spawn(async move {
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        text
    });
    for number in 0..10 {
        transport
            .writer
            .feed(format!("{{\"number\":{number}}}").into())
            .unwrap();
    }
    poll_fn(|cx| transport.writer.poll_flush(cx)).await.unwrap();
    transport.close(&CloseReason::default()).await.unwrap();
    let text = reading.await.unwrap();
    assert_eq!(text.lines().count(), 10);
    assert_eq!(transport.writer.bytes_written(), text.len() as u64);
}

#[tokio::test]
async fn a_write_to_a_gone_far_end_fails() {
    let (near, far) = duplex(16);
    drop(far);
    let (read, write) = tokio::io::split(near);
    let mut transport = Transport::content_length(read, write, Limits::default());
    assert!(transport.send("{}".into()).await.is_err());
}
