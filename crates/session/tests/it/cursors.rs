//! A client is sent every frame once, in order, whatever it follows and however slowly it reads.

use std::sync::Arc;

use bobbin_core::{Frame, FrameBody, View};
use bobbin_model::{Event, Seq, UnixMillis};
use bobbin_session::{Lifetime, Start};

use crate::support::{PATIENCE, enqueue, server, start};

/// Returns the number at the start of a line.
fn seq(line: &str) -> u64 {
    let number = line.trim_start_matches('*').split(' ').next();
    number
        .and_then(|number| number.parse().ok())
        .expect("a line begins with its number")
}

/// Returns the streamed text of lines; each piece starts where the one before it ended.
fn text(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        if let Some((offset, piece)) = line.split_once(" +").and_then(|(_, rest)| rest.split_once(' ')) {
            assert_eq!(offset, text.len().to_string(), "{line}");
            text.push_str(piece);
        }
    }
    text
}

fn goes_up(lines: &[String]) -> bool {
    lines.windows(2).all(|pair| seq(&pair[0]) < seq(&pair[1]))
}

#[tokio::test]
async fn a_subscriber_is_sent_every_event_once_and_others_only_news() {
    let server = server().await;
    let (mut one, other) = (server.client("one"), server.client("other"));
    let thread = server.thread().await;
    one.until("*1 threadStarted").await;
    one.subscribe(&thread);
    start(&thread, "stream 20\nplan Tea").await;
    let lines = one.until("turnEnded").await;
    assert!(goes_up(&lines), "{lines:?}");
    assert!(
        lines.iter().all(|line| !line.starts_with('*')),
        "news of its own Thread: {lines:?}"
    );
    let numbers: String = (0..20).map(|n| n.to_string() + " ").collect();
    assert_eq!(text(&lines), numbers);
    assert_eq!(
        lines.iter().filter(|line| line.ends_with("planUpdated")).count(),
        1
    );

    assert!(one.session.is_subscribed(thread.id()));
    one.session.unsubscribe(thread.id());
    assert!(!one.session.is_subscribed(thread.id()));
    start(&thread, "say more\nplan Milk").await;
    let lines = one.until("planUpdated").await;
    assert!(lines.iter().all(|line| line.starts_with('*')), "{lines:?}");
    let lines = other.finish().await;
    let news: Vec<_> = lines
        .iter()
        .map(|line| line.split(' ').next_back().unwrap_or_default())
        .collect();
    assert_eq!(news, ["threadStarted", "planUpdated", "planUpdated"], "{lines:?}");
    server.threads.stop().await;
}

/// A broadcast is in two logs, the workspace's first. A client that unsubscribes in between gets it too.
#[tokio::test]
async fn a_client_that_unsubscribes_while_a_broadcast_is_shown_gets_it() {
    let server = server().await;
    let mut client = server.client("one");
    let thread = server.thread().await;
    client.until("threadStarted").await;
    client.subscribe(&thread);
    let log = thread.log();
    let frame = Arc::new(Frame::new(
        thread.id().clone(),
        log.visible().next(),
        UnixMillis(0),
        FrameBody::Recorded(Arc::new(Event::ThreadDeleted)),
        View::None,
        0,
    ));
    let everyone = server.threads.broadcasts().log();
    everyone.append(|_| frame.clone());
    everyone.show(everyone.appended());
    let other = server.thread().await;
    client.until("threadStarted").await;
    client.session.unsubscribe(thread.id());
    log.append(|_| frame.clone());
    log.show(log.appended());
    start(&other, "plan Tea").await;
    let lines = client.until("planUpdated").await;
    let deleted = lines
        .iter()
        .filter(|line| line.ends_with("threadDeleted"))
        .count();
    assert_eq!(deleted, 1, "{lines:?}");
    server.threads.stop().await;
}

/// A client that reads late gets its text joined and whole; other clients do not wait for it.
#[tokio::test]
async fn a_client_that_does_not_read_costs_another_nothing_and_misses_nothing() {
    const PIECES: usize = 3000;
    let server = server().await;
    let (mut quick, mut stalled) = (server.client("quick"), server.client("stalled"));
    let thread = server.thread().await;
    quick.subscribe(&thread);
    stalled.subscribe(&thread);
    start(&thread, &format!("stream {PIECES}")).await;
    let read = quick.until("turnEnded").await;
    let pieces = |lines: &[String]| lines.iter().filter(|line| line.contains(" +")).count();
    // It has everything before the other has read a line.
    let late = stalled.until("turnEnded").await;
    assert_eq!(text(&read), text(&late));
    assert!(text(&late).ends_with(&format!("{} ", PIECES - 1)));
    assert!(goes_up(&late), "{late:?}");
    assert!(pieces(&late) < PIECES, "{} pieces", pieces(&late));
    server.threads.stop().await;
}

#[tokio::test]
async fn a_cursor_of_a_turn_ends_with_the_turn_and_a_promised_one_with_its_number() {
    let server = server().await;
    let (mut own, mut promised) = (server.client("own"), server.client("promised"));
    let thread = server.thread().await;
    let first = start(&thread, "wait\nsay tea").await;
    own.subscribe_with(&thread, Start::At(first.seq), Lifetime::TurnEnds(first.turn.id));
    promised.subscribe_with(&thread, Start::At(first.seq), Lifetime::Seq(first.seq));
    server.engine.release();
    let lines = own.until("turnEnded").await;
    assert!(lines.contains(&format!("{} turnStarted", first.seq)), "{lines:?}");
    promised.until("turnStarted").await;
    start(&thread, "say more\nplan Tea").await;
    for client in [&mut own, &mut promised] {
        let lines = client.until("planUpdated").await;
        assert!(lines.iter().all(|line| line.starts_with('*')), "{lines:?}");
    }
    server.threads.stop().await;
}

/// A client that says where it stopped is sent exactly what it missed, then that it has caught up, then what happens.
#[tokio::test]
async fn a_client_that_comes_back_is_sent_what_it_missed_then_synced() {
    let server = server().await;
    let mut client = server.client("back");
    let thread = server.thread().await;
    let first = start(&thread, "say tea").await;
    client.subscribe_with(&thread, Start::At(first.seq), Lifetime::Unsubscribed);
    let lines = client.until("turnEnded").await;
    let recorded = |lines: &[String]| -> Vec<String> {
        lines
            .iter()
            .filter(|line| !line.contains(" +") && !line.starts_with('*'))
            .cloned()
            .collect()
    };
    let all = recorded(&lines);
    for (n, line) in all.iter().enumerate() {
        let mut again = server.client("again");
        again.subscribe_with(
            &thread,
            Start::After(Seq(seq(line)).next(), 0),
            Lifetime::Unsubscribed,
        );
        let lines = again.until("synced").await;
        assert_eq!(recorded(&lines[..lines.len() - 1]), all[n + 1..], "after {line}");
    }
    server.threads.stop().await;
}

/// A client that resumes within a frame is not sent a message twice.
#[tokio::test]
async fn a_client_that_has_the_first_message_of_an_event_is_sent_what_follows_it() {
    let server = server().await;
    let mut client = server.client("back");
    let thread = server.thread().await;
    let first = start(&thread, "say tea").await;
    client.subscribe_with(&thread, Start::At(first.seq), Lifetime::Unsubscribed);
    let lines = client.until("turnEnded").await;
    let begin = lines.iter().find(|line| line.ends_with("turnStarted")).unwrap();
    for (messages, sent) in [(0, true), (1, false)] {
        let mut again = server.client("again");
        let start = Start::After(Seq(seq(begin)), messages);
        again.subscribe_with(&thread, start, Lifetime::Unsubscribed);
        let lines = again.until("synced").await;
        assert_eq!(lines.contains(begin), sent, "{messages}: {lines:?}");
    }
    server.threads.stop().await;
}

/// A subscriber that asks for history gets it although its cursor is past it, but no old broadcasts.
#[tokio::test]
async fn a_subscriber_can_have_the_past_again() {
    let server = server().await;
    let mut client = server.client("one");
    let thread = server.thread().await;
    client.subscribe(&thread);
    let first = start(&thread, "say tea\nplan Tea").await;
    let lines = client.until("turnEnded").await;
    client.subscribe_with(&thread, Start::Replay(first.seq), Lifetime::Unsubscribed);
    let again = client.until("turnEnded").await;
    let events = |lines: &[String]| -> Vec<String> {
        let recorded = lines
            .iter()
            .filter(|line| !line.contains(" +") && !line.starts_with('*'));
        recorded
            .filter(|line| !line.ends_with("planUpdated"))
            .cloned()
            .collect()
    };
    assert_eq!(events(&again), events(&lines));
    assert!(lines.iter().any(|line| line.ends_with("planUpdated")));
    assert!(
        !again.iter().any(|line| line.ends_with("planUpdated")),
        "{again:?}"
    );
    server.threads.stop().await;
}

/// A client that started a Turn also follows the queued Turns that come directly after it.
#[tokio::test]
async fn a_cursor_of_a_turn_goes_on_with_the_queue() {
    let server = server().await;
    let mut client = server.client("own");
    let thread = server.thread().await;
    let first = start(&thread, "wait\nsay tea").await;
    let lifetime = Lifetime::TurnEnds(first.turn.id);
    client.subscribe_with(&thread, Start::At(first.seq), lifetime);
    enqueue(&thread, "say milk").await;
    server.engine.release();
    client.until("turnEnded").await;
    let lines = client.until("turnEnded").await;
    assert_eq!(text(&lines), "milk");
    server.threads.stop().await;
}

/// A request about an event of a Thread reaches the client after the event.
#[tokio::test]
async fn a_client_has_been_sent_all_that_was_visible_when_somebody_waits_for_that() {
    let server = server().await;
    let mut client = server.client("one");
    let thread = server.thread().await;
    client.subscribe(&thread);
    start(&thread, "stream 2000").await;
    let mut lines = Vec::new();
    while !lines
        .last()
        .is_some_and(|line: &String| line.ends_with("turnEnded"))
    {
        let visible = thread.log().visible();
        tokio::time::timeout(PATIENCE, client.session.flushed(thread.id()))
            .await
            .expect("it has been sent");
        lines.extend(client.sent());
        let sent = lines
            .iter()
            .filter(|line| !line.starts_with('*'))
            .map(|line| seq(line));
        assert!(
            sent.max().unwrap_or_default() + 3 >= visible.0,
            "{visible} is missing: {lines:?}"
        );
        tokio::task::yield_now().await;
    }
    assert_eq!(text(&lines).split(' ').count(), 2001);
    server.threads.stop().await;
}

#[tokio::test]
async fn a_session_ends_with_its_connection_and_with_the_core() {
    let server = server().await;
    let (gone, stays) = (server.client("gone"), server.client("stays"));
    let thread = server.thread().await;
    gone.subscribe(&thread);
    stays.subscribe(&thread);
    assert_eq!(thread.log().watchers(), 2);
    gone.finish().await;
    assert_eq!(thread.log().watchers(), 1);
    // The end of the core ends every session.
    server.threads.stop().await;
    let ended = tokio::time::timeout(PATIENCE, stays.peer.closed()).await;
    assert!(ended.is_ok());
    assert_eq!(thread.log().watchers(), 0);
}
