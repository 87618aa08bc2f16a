//! Commands that are left in the background: their limits, input, output and end.

use std::time::Duration;

use bobbin_agent_api::Once;
use bobbin_agent_api::terminal::{TerminalError, Terminals as _, Wait};
use bobbin_model::{BackgroundReason, TerminalStatus, TurnId};
use bobbin_terminals::{Bounds, NotLeft};
use tokio::sync::oneshot;

use crate::support::{Place, ended, gone, left, lives, thread, typed, until};

#[tokio::test]
async fn a_command_that_is_left_goes_on_and_says_how_it_ended() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let begun = place
        .leave(&terminals, "echo begun; read -r word; echo $word; exit 3")
        .await;
    assert_eq!(
        (begun.status, begun.output.as_str()),
        (TerminalStatus::Running, "begun\n")
    );
    assert_eq!(begun.facts.reason, BackgroundReason::Requested);
    assert_eq!(
        (begun.facts.turn, begun.facts.call.as_str()),
        (TurnId(1), "call_1")
    );
    place.clock.advance(4100);
    typed(&terminals, &begun.facts.id, "on\n").await.unwrap();
    let end = ended(&terminals, &begun.facts.id).await;
    assert_eq!((end.status, end.exit_code), (TerminalStatus::Failed, Some(3)));
    assert_eq!((end.output.as_str(), end.wall_time_ms), ("begun\non\n", 4100));
    assert!(!end.truncated && end.output_chars == 9);
    let file = std::fs::read_to_string(&end.facts.output_path).unwrap();
    assert_eq!(file, "begun\non\n");
    terminals.end().await;
}

#[tokio::test]
async fn a_command_that_is_not_left_leaves_nothing_but_output_that_was_too_long() {
    let place = Place::new();
    let terminals = place.open(Bounds {
        tail_bytes: 16,
        ..Bounds::default()
    });
    let short = place.run(&terminals, "echo short").ended().await;
    assert_eq!(short.outcome.unwrap().output.text, "short\n");
    assert_eq!(short.output_path, None);
    let long = place.run(&terminals, "seq 100").ended().await;
    let path = long.output_path.unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 100);
    assert_eq!(terminals.list(None).await, []);
    terminals.end().await;
}

#[tokio::test]
async fn stopping_ends_the_whole_group_and_answers_when_it_is_gone() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let begun = place.leave(&terminals, "echo $$; sleep 600 & sleep 600").await;
    assert!(lives(&begun.output));
    let (reply, stopped) = oneshot::channel();
    terminals.stop(&begun.facts.id, Box::new(|end| drop(reply.send(end))));
    let end = stopped.await.unwrap().unwrap();
    assert_eq!((end.status, end.exit_code), (TerminalStatus::Killed, None));
    gone(&begun.output).await;
    let (reply, again) = oneshot::channel();
    terminals.stop(&begun.facts.id, Box::new(|end| drop(reply.send(end))));
    assert_eq!(again.await.unwrap(), Ok(end));
    terminals.end().await;
}

#[tokio::test]
async fn what_is_typed_under_a_name_is_typed_once() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let id = place.leave(&terminals, "echo begun; cat").await.facts.id.clone();
    let once = |text: &str| Some(Once::new("c-1", "terminal/write", text));
    let write = |input: &str, once| terminals.write(&id, input.to_owned(), Duration::ZERO, None, once);
    write("a\n", once("1")).await.unwrap();
    write("a\n", once("1")).await.unwrap();
    let reused = write("b\n", once("2")).await;
    assert_eq!(reused, Err(TerminalError::RequestIdReused("c-1".to_owned())));
    write("end\n", None).await.unwrap();
    let seen = until(&terminals, &id, |output| output.ends_with("end\n")).await;
    assert_eq!(seen.output, "begun\na\nend\n");
    terminals.end().await;
}

#[tokio::test]
async fn input_is_refused_with_words_where_it_cannot_arrive() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let refused = |result: Result<_, TerminalError>| {
        result
            .map(|_: bobbin_model::Terminal| ())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(typed(&terminals, "term_0", "x").await),
        "there is no terminal term_0"
    );
    let mut order = place.order("echo begun; sleep 600");
    order.typed = false;
    let mut running = terminals.run(place.spec(&order.command), order);
    running.output().await.unwrap();
    let deaf = left(&mut running).await.facts.id.clone();
    assert!(refused(typed(&terminals, &deaf, "x").await).contains("has no standard input"));
    assert!(refused(typed(&terminals, &deaf, "").await).contains("1 to 65536 bytes"));
    let busy = place
        .leave(&terminals, "echo begun; sleep 600")
        .await
        .facts
        .id
        .clone();
    let mut last = Ok(());
    for _ in 0..40 {
        last = typed(&terminals, &busy, &"x".repeat(60_000)).await.map(|_| ());
    }
    assert!(refused(last.map(|()| unreachable!())).contains("does not read what was typed"));
    let over = place.over(&terminals, "echo begun").await.facts.id.clone();
    assert!(refused(typed(&terminals, &over, "x").await).contains("has ended"));
    terminals.end().await;
}

#[tokio::test]
async fn there_are_no_more_than_there_may_be_and_the_next_one_goes_on_in_the_foreground() {
    let place = Place::new();
    let bounds = Bounds {
        per_thread: 1,
        in_all: 2,
        ..Bounds::default()
    };
    let terminals = place.open(bounds);
    place.leave(&terminals, "echo begun; sleep 600").await;
    assert_eq!(terminals.has_room(&thread("a")), Err(NotLeft::ThreadFull(1)));
    let mut second = place.run(&terminals, "echo begun; read -r word; echo $word; sleep 600");
    second.output().await.unwrap();
    let refused = second.leave(BackgroundReason::TimeLimit).await;
    assert_eq!(refused, Err(NotLeft::ThreadFull(1)));
    second.stop();
    // The shell may get to its echo before it is ended.
    let said = second.ended().await.outcome.unwrap().output.text;
    assert_eq!(said.trim_end(), "begun");
    let mut other = place.order("echo begun; sleep 600");
    other.origin.thread = thread("b");
    let mut running = terminals.run(place.spec(&other.command), other);
    running.output().await.unwrap();
    left(&mut running).await;
    assert_eq!(terminals.has_room(&thread("c")), Err(NotLeft::Full(2)));
    terminals.end().await;
}

#[tokio::test]
async fn a_terminal_that_nobody_has_to_do_with_is_ended_after_half_an_hour() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let begun = place.leave(&terminals, "echo $$; sleep 100000").await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(1000)).await;
    // A read starts the half hour again.
    let now = Wait::News(Duration::ZERO);
    terminals.read(&begun.facts.id, now, None).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1700)).await;
    assert!(lives(&begun.output));
    tokio::time::sleep(Duration::from_secs(200)).await;
    let end = terminals.list(None).await.remove(0);
    assert_eq!(end.status, TerminalStatus::TimedOut);
    tokio::time::resume();
    gone(&begun.output).await;
    terminals.end().await;
}

#[tokio::test]
async fn a_time_limit_holds_in_the_background_too() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let mut order = place.order("echo begun; sleep 100000");
    order.time_limit = Some(Duration::from_mins(10));
    let mut running = terminals.run(place.spec(&order.command), order);
    running.output().await.unwrap();
    left(&mut running).await;
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(590)).await;
    assert_eq!(terminals.list(None).await[0].status, TerminalStatus::Running);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(terminals.list(None).await[0].status, TerminalStatus::TimedOut);
    terminals.end().await;
}

#[tokio::test]
async fn a_read_waits_for_news_or_for_the_end() {
    let place = Place::new();
    let terminals = place.open(Bounds::default());
    let id = place.leave(&terminals, "echo begun; cat").await.facts.id.clone();
    let news = terminals.read(&id, Wait::News(Duration::from_secs(30)), Some(4));
    let typing = typed(&terminals, &id, "word\n");
    let (read, written) = tokio::join!(news, typing);
    written.unwrap();
    let read = read.unwrap();
    assert_eq!((read.output.as_str(), read.truncated), ("ord\n", true));
    terminals.end().await;
    let end = ended(&terminals, &id).await;
    assert_eq!(end.status, TerminalStatus::Killed, "it ends with the server");
}
