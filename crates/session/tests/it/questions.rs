//! Approvals: everybody who may answer is asked once, and the first answer ends the question for the others.

use bobbin_model::Decision;
use bobbin_session::{Lifetime, Start};

use crate::support::{eventually, server, start};

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
    // Subscribing again asks nobody twice.
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
    server.hub.stop().await;
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
    // A Turn of others is followed without its questions; history asks nothing by itself.
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
    server.hub.stop().await;
}
