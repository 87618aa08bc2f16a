//! Approvals: each client that may answer is asked once, and the first answer ends the question for the others.

use std::time::{Duration, Instant};

use bobbin_model::Decision;
use bobbin_session::{Lifetime, Start};

use crate::support::{PATIENCE, eventually, server, start};

#[tokio::test]
async fn an_approval_is_asked_of_each_subscriber_once_and_settled_by_the_first_answer() {
    let server = server().await;
    let (mut one, two, other) = (server.client("one"), server.client("two"), server.client("other"));
    let thread = server.thread().await;
    one.subscribe(&thread);
    two.subscribe(&thread);
    start(&thread, "ask boil").await;
    one.until("approvalOpened").await;
    eventually("both are asked", || {
        one.plain.asked() == 1 && two.plain.asked() == 1
    })
    .await;
    // A client that subscribes again is not asked again.
    one.subscribe(&thread);
    one.session.ask_again(thread.id());
    two.plain.decide(Decision::Accept);
    one.until("turnEnded").await;
    eventually("the other question is taken back", || one.plain.settled() == 1).await;
    assert_eq!(
        (one.plain.asked(), two.plain.asked(), two.plain.settled()),
        (1, 1, 0)
    );
    assert_eq!(other.plain.asked(), 0, "it follows nothing");
    assert_eq!(server.engine.effects(), ["boil"]);
    server.threads.stop().await;
}

#[tokio::test]
async fn a_client_that_comes_later_is_asked_what_is_open() {
    let server = server().await;
    let mut first = server.client("first");
    let thread = server.thread().await;
    first.subscribe(&thread);
    let turn = start(&thread, "ask boil").await;
    first.until("approvalOpened").await;
    let left = first.finish().await;
    assert!(
        left.iter().all(|line| !line.ends_with("turnEnded")),
        "the Turn waits on: {left:?}"
    );
    // A client follows another's Turn without its questions, and history asks nothing.
    let onlooker = server.client("onlooker");
    onlooker.subscribe_with(
        &thread,
        Start::At(turn.seq),
        Lifetime::OthersTurnEnds(turn.turn.id),
    );
    let mut later = server.client("later");
    later.subscribe_with(&thread, Start::Replay(turn.seq), Lifetime::Unsubscribed);
    eventually("the new client is asked", || later.plain.asked() == 1).await;
    later.plain.decide(Decision::Decline);
    later.until("turnEnded").await;
    assert_eq!((later.plain.asked(), onlooker.plain.asked()), (1, 0));
    assert!(server.engine.effects().is_empty());
    server.threads.stop().await;
}

/// A client that leaves a Thread may still answer its questions, whatever happens in other Threads.
#[tokio::test]
async fn a_client_that_has_left_may_still_answer() {
    let server = server().await;
    let mut client = server.client("one");
    let (left, stays) = (server.thread().await, server.thread().await);
    for thread in [&left, &stays] {
        client.subscribe(thread);
        start(thread, "ask boil").await;
        client.until("approvalOpened").await;
    }
    eventually("both are asked", || client.plain.asked() == 2).await;
    client.session.unsubscribe(left.id());
    // News of a third Thread settles nothing.
    let third = server.thread().await;
    start(&third, "plan Tea").await;
    client.until("planUpdated").await;
    assert_eq!(client.plain.settled(), 0);
    client.plain.decide(Decision::Accept);
    eventually("both are answered", || server.engine.effects().len() == 2).await;
    assert_eq!(client.plain.settled(), 0);
    server.threads.stop().await;
}

/// A question is taken back when another client answers it, also in a Thread that the client has left.
#[tokio::test]
async fn an_answer_elsewhere_takes_the_question_back_where_a_client_has_left() {
    let server = server().await;
    let (mut one, two) = (server.client("one"), server.client("two"));
    let thread = server.thread().await;
    one.subscribe(&thread);
    two.subscribe(&thread);
    start(&thread, "ask boil").await;
    one.until("approvalOpened").await;
    eventually("both are asked", || one.plain.asked() + two.plain.asked() == 2).await;
    one.session.unsubscribe(thread.id());
    two.plain.decide(Decision::Accept);
    eventually("the question is taken back", || one.plain.settled() == 1).await;
    server.threads.stop().await;
}

/// A client that started a Turn is asked even if it follows the Turn as another's too.
#[tokio::test]
async fn who_started_a_turn_is_asked_though_it_follows_it_twice() {
    let server = server().await;
    let client = server.client("own");
    let thread = server.thread().await;
    let turn = start(&thread, "wait\nask boil").await;
    for lifetime in [
        Lifetime::TurnEnds(turn.turn.id),
        Lifetime::OthersTurnEnds(turn.turn.id),
    ] {
        client.subscribe_with(&thread, Start::At(turn.seq), lifetime);
    }
    server.engine.release();
    eventually("it is asked", || client.plain.asked() == 1).await;
    client.plain.decide(Decision::Accept);
    eventually("it has answered", || server.engine.effects() == ["boil"]).await;
    server.threads.stop().await;
}

/// A client whose answer could not be stored is asked again, after a while.
#[tokio::test]
async fn an_answer_that_could_not_be_stored_is_asked_for_again() {
    let server = server().await;
    let mut client = server.client("one");
    let thread = server.thread().await;
    client.subscribe(&thread);
    start(&thread, "ask boil").await;
    client.until("approvalOpened").await;
    eventually("it is asked", || client.plain.asked() == 1).await;
    server
        .meddle(
            "CREATE TRIGGER trouble BEFORE INSERT ON event WHEN NEW.kind LIKE 'approval%' \
             BEGIN SELECT RAISE(ABORT, 'no room'); END",
        )
        .await;
    client.plain.decide(Decision::Accept);
    let begin = Instant::now();
    client.until("turnRecovered").await;
    // Not at once: a client that answers by itself would do so all the time.
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert_eq!(client.plain.asked(), 1);
    }
    tokio::time::pause();
    while client.plain.asked() < 2 {
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
        assert!(begin.elapsed() < PATIENCE, "it is asked again");
    }
    tokio::time::resume();
    assert!(server.engine.effects().is_empty());
    server.meddle("DROP TRIGGER trouble").await;
    tokio::time::pause();
    while server.engine.effects() != ["boil"] {
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
        assert!(begin.elapsed() < PATIENCE, "the answer counts");
    }
    tokio::time::resume();
    server.threads.stop().await;
}
