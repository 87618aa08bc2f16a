//! Commands about the Thread and its queue as rows: from this state, this command gives exactly these events, or
//! this refusal.

use std::sync::Arc;

use super::lines::table;
use super::scenes::{cancelling, client_keeps_history, full, guided, kettle, queued, subagent, with};
use super::*;
use crate::{EdgeStatus, GivenMessage};

fn q(id: &str) -> QueuedInputId {
    QueuedInputId::new(id)
}

fn nothing() -> StartTurn {
    StartTurn {
        input: Vec::new(),
        ..wish("")
    }
}

fn guide(state: &ThreadState, id: &str, turn: u32, replaces: Option<&str>) -> Result<Vec<Event>, Refusal> {
    state.decide_guidance(q(id), wish(id), TurnId(turn), replaces.map(q).as_ref(), LATER)
}

fn after(state: &ThreadState, input: StartTurn) -> Result<Vec<Event>, Refusal> {
    let messages: Arc<[_]> = Arc::new([GivenMessage::User { text: "hi".into() }]);
    state.decide_start_turn_after(messages, input, LATER)
}

#[test]
fn turns_start_as_the_table_says() {
    table! {
        thread(), |s| s.decide_start_turn(wish("Boil\n water"), LATER) => [
            "turnStarted turn_001 item_001[@2000] Normal Boil\n water channel=cli approvals=true from=-",
            "itemAdded item_001[@2000] Normal Boil\n water",
            "threadRenamed Boil water",
        ];
        thread(), |s| s.decide_start_turn(nothing(), LATER) => ["no: Invalid"];
        thread(), |s| after(s, wish("go")) => ["no: Invalid"];
        with(thread(), ThreadStatus::Paused), |s| s.decide_start_turn(wish("go"), LATER) => [
            "no: ThreadNotActive",
        ];
        running("one"), |s| s.decide_start_turn(wish("go"), LATER) => ["no: TurnInProgress"];
        client_keeps_history(), |s| s.decide_start_turn(wish("go"), LATER) => ["no: Invalid"];
        client_keeps_history(), |s| s.decide_enqueue(q("x"), wish("go"), LATER) => ["no: Invalid"];
        client_keeps_history(), |s| after(s, nothing()) => ["no: Invalid"];
        client_keeps_history(), |s| after(s, wish("go")) => [
            "turnStarted turn_001 item_001[@2000] Normal go channel=cli approvals=true from=-",
            "historyGiven turn_001 1 1",
            "itemAdded item_001[@2000] Normal go",
            "threadRenamed go",
        ];
    }
}

#[test]
fn the_queue_changes_as_the_table_says() {
    table! {
        thread(), |s| s.decide_enqueue(q("x"), wish("go"), LATER) => [r#"queueChanged x="go""#];
        thread(), |s| s.decide_enqueue(q("x"), nothing(), LATER) => ["no: Invalid"];
        full(), |s| s.decide_enqueue(q("x"), wish("go"), LATER) => ["no: QueueFull"];
        running("one"), |s| s.decide_enqueue_next(q("x"), wish("go"), LATER) => [
            r#"queueChanged x>@turn_001="go""#,
        ];
        queued(), |s| s.decide_unqueue(&q("a")) => [r#"queueChanged b>="b""#];
        queued(), |s| s.decide_unqueue(&q("x")) => ["no: QueuedInputNotFound"];
        // The first entry has its Turn; after a bad end only the one that follows any end.
        queued(), |s| s.decide_start_queued(LATER) => [
            "turnStarted turn_001 item_001[@2000] Queued a channel=cli approvals=true from=a",
            "itemAdded item_001[@2000] Queued a",
            r#"queueChanged b>="b""#,
        ];
        queued(), |s| s.decide_start_following(LATER) => [
            "turnStarted turn_001 item_001[@2000] Queued b channel=cli approvals=true from=b",
            "itemAdded item_001[@2000] Queued b",
            r#"queueChanged a="a""#,
        ];
    }
    for status in [ThreadStatus::Paused, ThreadStatus::Archived] {
        let state = with(queued(), status);
        assert_eq!(state.decide_start_queued(LATER), None, "{status}");
        assert_eq!(state.decide_start_following(LATER), None, "{status}");
    }
    assert_eq!(thread().decide_start_queued(LATER), None);
    assert_eq!(guided().decide_start_queued(LATER), None);
}

#[test]
fn guidance_reaches_the_running_turn_as_the_table_says() {
    table! {
        running("one"), |s| guide(s, "x", 1, None) => [r#"queueChanged x!~@turn_001="x""#];
        running("one"), |s| guide(s, "x", 2, None) => ["no: NotNow"];
        thread(), |s| guide(s, "x", 1, None) => ["no: NotNow"];
        cancelling(), |s| guide(s, "x", 1, None) => ["no: NotNow"];
        guided(), |s| guide(s, "x", 1, Some("l")) => [
            r#"queueChanged q@turn_001="q" g!@turn_001="g" x!~@turn_001="l\nx""#,
        ];
        guided(), |s| s.decide_steer(&q("q"), "turn_001", None) => [
            r#"queueChanged q!@turn_001="q" g!@turn_001="g" l!~@turn_001="l""#,
        ];
        guided(), |s| s.decide_steer(&q("g"), "turn_001", None) => ["no: NotNow"];
        guided(), |s| s.decide_steer(&q("q"), "turn_002", None) => ["no: NotNow"];
        guided(), |s| s.decide_steer(&q("x"), "turn_001", None) => ["no: QueuedInputNotFound"];
        queued(), |s| s.decide_steer(&q("a"), "turn_001", None) => ["no: NotNow"];
        with(guided(), ThreadStatus::Archived), |s| s.decide_steer(&q("q"), "turn_001", None) => [
            "no: ThreadNotActive",
        ];
        guided(), |s| s.decide_guide(LATER) => [
            "itemAdded item_002[@2000] Guidance g",
            "itemAdded item_003[@2000] Guidance l",
            r#"queueChanged q@turn_001="q""#,
        ];
        queued(), |s| s.decide_guide(LATER) => [];
        // What came too late waits like the rest, or lapses.
        guided(), |s| s.decide_end_turn(Outcome::Completed, LATER) => [
            r#"queueChanged q@turn_001="q" g@turn_001="g""#,
            "turnEnded completed @2000 0",
        ];
    }
}

#[test]
fn a_thread_is_taken_up_and_its_edge_changes_as_the_table_says() {
    table! {
        with(thread(), ThreadStatus::Archived), |s| s.decide_resume("me", None) => ["no: ThreadNotActive"];
        with(thread(), ThreadStatus::Paused), |s| s.decide_resume("me", None) => [
            "threadStatusChanged paused active",
            "threadResumed me",
        ];
        thread(), |s| s.decide_resume("me", Some(Arc::default())) => ["threadResumed me"];
        thread(), |s| s.decide_resume("me", Some(Arc::new([kettle()]))) => [
            "toolsDeclared 1",
            "threadResumed me",
        ];
        thread(), |s| s.decide_edge(EdgeStatus::Closed, LATER) => ["no: Invalid"];
        subagent(EdgeStatus::Open), |s| s.decide_edge(EdgeStatus::Closed, LATER) => [
            "turnCancelling turn_001 Cancelled by request",
            "edgeChanged Closed",
        ];
        subagent(EdgeStatus::Closed), |s| s.decide_edge(EdgeStatus::Closed, LATER) => [
            "turnCancelling turn_001 Cancelled by request",
        ];
        subagent(EdgeStatus::Closed), |s| s.decide_edge(EdgeStatus::Open, LATER) => ["edgeChanged Open"];
        subagent(EdgeStatus::Open), |s| s.decide_edge(EdgeStatus::Open, LATER) => [];
        with(subagent(EdgeStatus::Closed), ThreadStatus::Archived), |s| s.decide_edge(EdgeStatus::Open, LATER) => [
            "no: ThreadNotActive",
        ];
        thread(), |s| s.decide_rename(" Tea ") => ["threadRenamed Tea"];
        queued(), |s| s.decide_rename(" Tea ") => [];
        thread(), |s| s.decide_rename(" ") => ["no: Invalid"];
    }
}
