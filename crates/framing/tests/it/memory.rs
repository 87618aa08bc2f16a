//! The memory pair.

use std::time::Duration;

use bobbin_framing::{CloseReason, FramingError, Transport};
use tokio::time::timeout;

#[tokio::test]
async fn frames_pass_both_ways_in_order() {
    let (mut near, mut far) = Transport::memory_pair();
    for text in ["1", "2", "3"] {
        near.send(text.into()).await.unwrap();
    }
    far.send("back".into()).await.unwrap();
    for text in ["1", "2", "3"] {
        assert_eq!(far.next().await.unwrap().unwrap(), text);
    }
    assert_eq!(near.next().await.unwrap().unwrap(), "back");
    assert_eq!((near.writer.bytes_written(), near.reader.bytes_read()), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn a_writer_waits_for_a_far_end_that_does_not_read() {
    let (mut near, mut far) = Transport::memory_pair();
    let filling = async {
        for _ in 0..1000 {
            near.send("frame".into()).await.unwrap();
        }
    };
    let mut filling = Box::pin(filling);
    assert!(timeout(Duration::from_secs(1), &mut filling).await.is_err());
    let reading = async {
        for _ in 0..1000 {
            far.next().await.unwrap().unwrap();
        }
    };
    tokio::join!(filling, reading);
}

#[tokio::test]
async fn what_was_sent_before_the_close_still_arrives() {
    let (mut near, mut far) = Transport::memory_pair();
    near.send("last".into()).await.unwrap();
    near.close(&CloseReason::default()).await.unwrap();
    assert_eq!(far.next().await.unwrap().unwrap(), "last");
    assert!(far.next().await.is_none());
}

#[tokio::test]
async fn a_gone_far_end_is_the_end_of_input_and_breaks_writes() {
    let (mut near, far) = Transport::memory_pair();
    drop(far);
    assert!(near.next().await.is_none());
    assert!(matches!(near.send("x".into()).await, Err(FramingError::Closed)));
}
