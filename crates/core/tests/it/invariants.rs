//! The invariants of the core, each with its test.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{LogReader, answer, decide, kind_of, new_thread, opened, read, recorded, start};
use bobbin_core::{Backlog, Command, FrameBody, Limits};
use bobbin_model::{Decision, Event, ItemBody, Outcome, TurnId, TurnStatus};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use tokio::sync::oneshot;

/// Invariant 1: no gap, no repeat, and after a restart, numbers continue after all that were shown.
#[tokio::test]
async fn numbers_have_no_gap_and_go_on_above_what_was_shown() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "stream 500\nwait").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    let mut frames = reader.until_event("itemCompleted").await;
    engine.release();
    frames.extend(reader.until_event("turnEnded").await);
    let seqs: Vec<u64> = frames.iter().map(|frame| frame.seq.0).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    let shown = thread.log().visible();
    let id = thread.id().clone();
    drop((thread, reader));
    threads.stop().await;

    let threads = workspace.open(Arc::new(engine)).await;
    let thread = threads.thread(&id).await.unwrap();
    assert!(start(&thread, "say hi").await.seq > shown);
    threads.stop().await;
}

/// Invariants 2 and 3: when a command is answered, its events are not visible yet; once they are visible, they are on disk.
#[tokio::test]
async fn an_answer_comes_before_its_events_and_events_after_their_commit() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let thread = new_thread(&threads).await;
    for round in 0..50 {
        let (tx, rx) = oneshot::channel();
        let log = thread.log().clone();
        let request = crate::support::prompt("say hi");
        let reply = Box::new(move |started: Result<bobbin_core::StartedTurn, _>| {
            let seq = started.expect("it starts").seq;
            tx.send((seq, log.visible(), log.appended()))
                .expect("the test waits");
        });
        thread.send(Command::StartTurn { request, reply }).await;
        let (seq, visible, appended) = rx.await.unwrap();
        assert!(
            visible < seq && seq <= appended,
            "round {round}: {visible} {seq} {appended}"
        );
        let mut reader = LogReader::at(&thread, seq);
        let frames = reader.until_event("turnEnded").await;
        let stored = threads.backlog(&thread, seq, |_, _| Some(0)).await.unwrap();
        let Backlog::Frames { frames: stored, .. } = stored else {
            panic!("too far")
        };
        let shown: Vec<_> = frames.iter().filter_map(|frame| recorded(frame)).collect();
        let kept: Vec<_> = stored.iter().filter_map(|frame| recorded(frame)).collect();
        assert_eq!(kept[..shown.len()], shown);
    }
    threads.stop().await;
}

/// Invariant 5: a call has its effect only after its intent is committed, and a refused call has none.
#[tokio::test]
async fn a_call_has_its_effect_after_its_intent_is_recorded() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    for (decision, effects) in [(Decision::Accept, 1), (Decision::Decline, 1)] {
        let begun = start(&thread, "ask boil").await;
        let mut reader = LogReader::at(&thread, begun.seq);
        let approval = opened(&reader.until_event("approvalOpened").await);
        assert_eq!(
            read(&thread).await.state.live.as_ref().unwrap().turn.status,
            TurnStatus::WaitingApproval
        );
        decide(&thread, &approval, decision).await;
        let frames = reader.until_event("turnEnded").await;
        let started = frames.iter().any(|frame| kind_of(frame) == "callStarted");
        assert_eq!(started, decision == Decision::Accept);
        assert_eq!(engine.effects().len(), effects);
    }
    threads.stop().await;
}

#[tokio::test]
async fn accept_for_session_covers_the_thread_and_not_others() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "ask boil\nask boil").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    let approval = opened(&reader.until_event("approvalOpened").await);
    decide(&thread, &approval, Decision::AcceptForSession).await;
    let frames = reader.until_event("turnEnded").await;
    assert!(
        frames.iter().all(|frame| kind_of(frame) != "approvalOpened"),
        "asked again"
    );
    assert_eq!(engine.effects(), ["boil", "boil"]);
    let other = new_thread(&threads).await;
    let begun = start(&other, "ask boil").await;
    LogReader::at(&other, begun.seq)
        .until_event("approvalOpened")
        .await;
    threads.stop().await;
}

#[tokio::test]
async fn cancel_as_an_answer_ends_the_turn() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "ask boil").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    let approval = opened(&reader.until_event("approvalOpened").await);
    decide(&thread, &approval, Decision::Cancel).await;
    let frames = reader.until_event("turnEnded").await;
    let Some(Event::TurnEnded { outcome, .. }) = recorded(frames.last().unwrap()) else {
        panic!()
    };
    assert!(matches!(outcome, Outcome::Cancelled { .. }));
    assert_eq!(engine.effects(), Vec::<String>::new());
    threads.stop().await;
}

#[tokio::test]
async fn an_approval_that_nobody_answers_is_declined_with_an_error_item() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let wait = Duration::from_millis(50);
    let threads = workspace
        .open_with(Arc::new(engine), |settings| settings.approval_max_wait = wait)
        .await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "ask boil").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    reader.until_event("approvalOpened").await;
    workspace.clock.advance(50);
    let frames = reader.until_event("turnEnded").await;
    let timed_out = frames.iter().any(|frame| {
        matches!(recorded(frame), Some(Event::ItemAdded { item, .. })
            if matches!(&item.body, ItemBody::Error { code, .. } if code == "approval_timeout"))
    });
    assert!(timed_out);
    threads.stop().await;
}

#[tokio::test]
async fn an_approval_outlives_the_server_and_its_answer_goes_on_with_the_turn() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "ask boil\nsay done").await;
    let approval = opened(
        &LogReader::at(&thread, begun.seq)
            .until_event("approvalOpened")
            .await,
    );
    // The server is not stopped, so that nothing more is written, as after a crash.
    let id = thread.id().clone();

    let second = workspace.open(Arc::new(engine.clone())).await;
    let thread = second.thread(&id).await.unwrap();
    let open = read(&thread).await;
    assert_eq!(open.state.approvals(), std::slice::from_ref(&approval));
    decide(&thread, &approval, Decision::Accept).await;
    let first = thread.log().first();
    LogReader::at(&thread, first).until_event("turnEnded").await;
    assert_eq!(engine.effects(), ["boil"]);
    let done = read(&thread).await;
    let turns = second
        .turns_of(&done, None, usize::MAX, usize::MAX)
        .await
        .unwrap()
        .0;
    assert_eq!((turns.len(), turns[0].status), (1, TurnStatus::Completed));
    second.stop().await;
}

#[tokio::test]
async fn interrupt_completes_what_was_shown_and_ends_the_turn() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "say one two\nhang").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    reader.until_event("itemCompleted").await;
    answer(&thread, |reply| Command::Interrupt {
        turn: String::new(),
        reply,
    })
    .await
    .unwrap();
    reader.until_event("turnEnded").await;
    let turns = threads
        .turns_of(&read(&thread).await, None, usize::MAX, usize::MAX)
        .await
        .unwrap()
        .0;
    assert_eq!(turns[0].status, TurnStatus::Cancelled);
    assert_eq!(turns[0].items.last().unwrap().body.text(), Some("one two"));
    threads.stop().await;
}

#[tokio::test]
async fn a_panicking_engine_fails_its_turn_and_nothing_else() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "say one\npanic on purpose").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    let frames = reader.until_event("turnEnded").await;
    let Some(Event::TurnEnded { outcome, .. }) = recorded(frames.last().unwrap()) else {
        panic!()
    };
    assert!(matches!(outcome, Outcome::Failed { error } if !error.contains("on purpose")));
    start(&thread, "say two").await;
    reader.until_event("turnEnded").await;
    threads.stop().await;
}

#[tokio::test]
async fn queued_inputs_follow_a_good_turn_and_wait_after_a_bad_one() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "wait").await;
    for text in ["fail badly", "say later"] {
        let request = crate::support::prompt(text);
        let queued = answer(&thread, |reply| Command::Enqueue { request, reply });
        assert_eq!(queued.await.unwrap().started, None);
    }
    engine.release();
    let mut reader = LogReader::at(&thread, begun.seq);
    reader.until_event("turnEnded").await;
    let second = reader.until_event("turnEnded").await;
    assert!(
        second
            .iter()
            .any(|frame| matches!(recorded(frame), Some(Event::TurnStarted { turn: TurnId(2), .. })))
    );
    let after = read(&thread).await;
    assert_eq!((after.state.queue.len(), after.state.live_turn()), (1, None));
    threads.stop().await;
}

#[tokio::test]
async fn a_reader_that_fell_out_of_memory_gets_events_from_the_store_and_open_text_in_one_piece() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let small = Limits {
        entries: 8,
        bytes: 1 << 20,
    };
    let threads = workspace
        .open_with(Arc::new(engine.clone()), |settings| settings.log = small)
        .await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "say before\nstream 300\nwait").await;
    // Waits until the engine has streamed everything and waits itself.
    let text = (0..300).fold(String::new(), |text, n| text + &n.to_string() + " ");
    loop {
        let live = read(&thread).await.state.live.clone().unwrap();
        if live.turn.items.last().unwrap().body.text() == Some(text.as_str()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let Backlog::Frames { frames, next } = threads.backlog(&thread, begun.seq, |_, _| Some(0)).await.unwrap()
    else {
        panic!("too far");
    };
    let seqs: Vec<_> = frames.iter().map(|frame| (frame.seq.0, kind_of(frame))).collect();
    assert!(seqs.is_sorted_by_key(|(seq, _)| *seq), "{seqs:?}");
    assert_eq!(kind_of(&frames[0]), "turnStarted");
    // The runtime status is never stored and comes last.
    assert_eq!(frames.last().map(|frame| kind_of(frame)), Some("notice"));
    assert!(next > begun.seq);
    let whole = frames.iter().any(|frame| match &frame.body {
        FrameBody::Recorded(event) => {
            matches!(&**event, Event::ItemCompleted { item, .. } if item.body.text() == Some(text.as_str()))
        }
        FrameBody::Delta(delta) => *delta.text == text,
        FrameBody::Ephemeral(_) => false,
    });
    assert!(whole);
    engine.release();
    threads.stop().await;
}

#[tokio::test]
async fn deleting_ends_the_turn_and_the_thread_is_gone_everywhere() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let thread = new_thread(&threads).await;
    start(&thread, "hang").await;
    answer(&thread, |reply| Command::Delete { reply }).await.unwrap();
    let id = thread.id().clone();
    drop(thread);
    let gone = threads.thread(&id).await.unwrap_err();
    assert!(matches!(
        gone,
        bobbin_core::CoreError::Refused(bobbin_model::Refusal::ThreadNotFound(_))
    ));
    threads.stop().await;
}

#[tokio::test]
async fn a_thread_that_nobody_uses_is_unloaded_and_loads_again_as_it_was() {
    let workspace = TestWorkspace::default();
    let brief = Duration::from_millis(20);
    let threads = workspace
        .open_with(Arc::new(ScriptEngine::default()), |settings| {
            settings.unload_after = brief;
        })
        .await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "say hi").await;
    LogReader::at(&thread, begun.seq).until_event("turnEnded").await;
    let before = read(&thread).await;
    let id = thread.id().clone();
    drop(thread);
    while threads.stats().live_threads > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let thread = threads.thread(&id).await.unwrap();
    assert_eq!(read(&thread).await.state, before.state);
    threads.stop().await;
}

#[tokio::test]
async fn a_stop_leaves_turns_and_questions_open() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let asking = new_thread(&threads).await;
    let started = start(&asking, "ask boil").await;
    LogReader::at(&asking, started.seq)
        .until_event("approvalOpened")
        .await;
    let hanging = new_thread(&threads).await;
    start(&hanging, "hang").await;
    let (asks, hangs) = (asking.id().clone(), hanging.id().clone());
    let question = read(&asking).await.state.approvals()[0].clone();
    let left = threads.stop().await;
    assert_eq!((left.turns, left.questions), (2, 1));
    for _ in 0..3 {
        // Orderly stops never count as crashes.
        let threads = workspace.open(Arc::new(engine.clone())).await;
        threads.recover().await.unwrap();
        let live = read(&threads.thread(&asks).await.unwrap())
            .await
            .state
            .live
            .clone()
            .unwrap();
        assert_eq!(live.approvals[0].id, question.id);
        let live = read(&threads.thread(&hangs).await.unwrap())
            .await
            .state
            .live
            .clone()
            .unwrap();
        assert_eq!(live.turn.status, TurnStatus::Running);
        assert_eq!(threads.stop().await.turns, 2);
    }
    let threads = workspace.open(Arc::new(engine)).await;
    let thread = threads.thread(&asks).await.unwrap();
    let first = thread.log().first();
    decide(&thread, &question, Decision::Accept).await;
    LogReader::at(&thread, first).until_event("turnEnded").await;
    threads.stop().await;
}
