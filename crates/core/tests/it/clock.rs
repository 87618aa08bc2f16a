//! A machine whose clock is set, hours forward and back, while Threads run.

use std::sync::Arc;

use bobbin_core::Command;
use bobbin_model::{Decision, Event};
use bobbin_store::ListFilter;
use bobbin_testkit::{ScriptEngine, TestWorkspace};

use crate::support::{LogReader, answer, decide, kind_of, new_thread, opened, read, recorded, start};

const HOUR: i64 = 3_600_000;

#[tokio::test]
async fn numbers_rise_and_no_turn_ends_before_it_began_whatever_the_clock_does() {
    let workspace = TestWorkspace::default();
    let engine = ScriptEngine::default();
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let mut reader = LogReader::at(&thread, thread.log().visible().next());
    let mut last = None;
    for jump in [-5 * HOUR, 7 * HOUR, -26 * HOUR, HOUR] {
        start(&thread, "say a\nwait\nsay b").await;
        let mut frames = reader.until_event("itemCompleted").await;
        workspace.clock.advance(jump);
        engine.release();
        frames.extend(reader.until_event("turnEnded").await);
        for frame in &frames {
            assert!(last < Some(frame.seq), "{} after {last:?}", frame.seq);
            last = Some(frame.seq);
        }
        let recorded: Vec<_> = frames
            .iter()
            .filter(|frame| kind_of(frame) != "notice")
            .map(|frame| frame.at)
            .collect();
        assert!(
            recorded.is_sorted(),
            "within a turn time does not go back: {recorded:?}"
        );
    }
    let turns = threads
        .turns_of(&read(&thread).await, None, 9, usize::MAX)
        .await
        .unwrap()
        .0;
    assert_eq!(turns.len(), 4);
    for turn in turns {
        assert!(turn.completed_at >= Some(turn.started_at), "{turn:?}");
        assert!(
            turn.items
                .iter()
                .all(|item| item.completed_at >= Some(item.created_at))
        );
    }
    threads.stop().await;
}

#[tokio::test]
async fn a_clock_that_was_set_back_does_not_hide_a_thread_or_name_one_twice() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let mut ids = Vec::new();
    for jump in [0, -5 * HOUR, 10 * HOUR, -5 * HOUR, -1] {
        workspace.clock.advance(jump);
        ids.push(new_thread(&threads).await.id().clone());
    }
    let filter = ListFilter {
        workspace_path: threads.settings().workspace.to_string_lossy().into_owned(),
        ..ListFilter::default()
    };
    // Reads page after page, as clients do: each Thread comes once, in a stable order.
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = threads
            .list(ListFilter {
                after: after.clone(),
                limit: Some(2),
                ..filter.clone()
            })
            .await
            .unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.header.last_active_at, last.header.id.clone()));
        seen.extend(page.into_iter().map(|thread| thread.header.id));
    }
    let (mut want, mut got) = (ids.clone(), seen.clone());
    want.sort();
    got.sort();
    assert_eq!(got, want);
    want.dedup();
    assert_eq!(want.len(), ids.len());
    threads.stop().await;
}

/// An Approval waits by the wall clock, the only clock that runs while no process does.
#[tokio::test]
async fn an_approval_outlasts_a_clock_set_back_and_ends_with_one_set_beyond_its_time() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(ScriptEngine::default())).await;
    let thread = new_thread(&threads).await;
    let begun = start(&thread, "ask boil\nask cool").await;
    let mut reader = LogReader::at(&thread, begun.seq);
    let first = opened(&reader.until_event("approvalOpened").await);
    workspace.clock.advance(-30 * HOUR);
    // A change makes the owner check its deadlines.
    answer(&thread, |reply| Command::Rename {
        display_name: "back".into(),
        reply,
    })
    .await
    .unwrap();
    assert_eq!(read(&thread).await.state.approvals().len(), 1);
    decide(&thread, &first, Decision::Accept).await;
    let second = opened(&reader.until_event("approvalOpened").await);
    assert!(second.expires_at >= first.expires_at);
    workspace.clock.advance(60 * HOUR);
    assert!(threads.clock().now() > second.expires_at);
    answer(&thread, |reply| Command::Rename {
        display_name: "forward".into(),
        reply,
    })
    .await
    .unwrap();
    let frames = reader.until_event("turnEnded").await;
    let in_time = |frame: &bobbin_core::Frame| {
        matches!(recorded(frame), Some(Event::ApprovalResolved { approval, decision, .. })
            if *approval == second.id && *decision == Decision::Decline)
    };
    assert!(
        frames.iter().any(|frame| in_time(frame)),
        "nobody answered it in time"
    );
    threads.stop().await;
}
