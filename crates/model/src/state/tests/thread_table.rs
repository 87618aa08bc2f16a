//! Commands about the Thread and its queue as rows: from this state, this command gives exactly these events, or
//! this refusal.

use std::sync::Arc;

use super::lines::table;
use super::scenes::{cancelling, client_keeps_history, full, guided, kettle, queued, subagent, with};
use super::*;
use crate::{EdgeStatus, GivenMessage};
use QueueChange::{Guide, Remove, Reorder, TakeBack};

fn q(id: &str) -> QueuedInputId {
    QueuedInputId::new(id)
}

fn nothing() -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input: Vec::new(),
        ..request("")
    }
}

fn guide(state: &ThreadState, id: &str, turn: u32, replaces: Option<&str>) -> Result<Vec<Event>, Refusal> {
    state.decide_guidance(q(id), request(id), TurnId(turn), replaces.map(q).as_ref(), LATER)
}

fn after(state: &ThreadState, input: StartTurn) -> Result<Vec<Event>, Refusal> {
    let messages: Arc<[_]> = Arc::new([GivenMessage::User { text: "hi".into() }]);
    state.decide_start_turn_after(messages, input, LATER)
}

#[test]
fn turns_start_as_the_table_says() {
    table! {
        thread(), |s| s.decide_start_turn(request("Boil\n water"), LATER) => [
            "turnStarted turn_001 item_001[@2000] Normal Boil\n water channel=cli approvals=true from=-",
            "itemAdded item_001[@2000] Normal Boil\n water",
            "threadRenamed Boil water",
        ];
        thread(), |s| s.decide_start_turn(nothing(), LATER) => ["no: Invalid"];
        thread(), |s| after(s, request("go")) => ["no: Invalid"];
        with(thread(), ThreadStatus::Paused), |s| s.decide_start_turn(request("go"), LATER) => [
            "no: ThreadNotActive",
        ];
        running("one"), |s| s.decide_start_turn(request("go"), LATER) => ["no: TurnInProgress"];
        client_keeps_history(), |s| s.decide_start_turn(request("go"), LATER) => ["no: Invalid"];
        client_keeps_history(), |s| s.decide_enqueue(q("x"), request("go"), LATER) => ["no: Invalid"];
        client_keeps_history(), |s| after(s, nothing()) => ["no: Invalid"];
        client_keeps_history(), |s| after(s, request("go")) => [
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
        thread(), |s| s.decide_enqueue(q("x"), request("go"), LATER) => [r#"queueChanged x="go""#];
        thread(), |s| s.decide_enqueue(q("x"), nothing(), LATER) => ["no: Invalid"];
        full(), |s| s.decide_enqueue(q("x"), request("go"), LATER) => ["no: QueueFull"];
        running("one"), |s| s.decide_enqueue_next(q("x"), request("go"), LATER) => [
            r#"queueChanged x>@turn_001="go""#,
        ];
        queued(), |s| s.decide_change_queue(&Remove(q("a"))) => [r#"queueChanged b>="b""#];
        queued(), |s| s.decide_change_queue(&Remove(q("x"))) => ["no: QueuedInputNotFound"];
        queued(), |s| s.decide_change_queue(&Reorder(vec![q("b"), q("a")])) => [r#"queueChanged b>="b" a="a""#];
        queued(), |s| s.decide_change_queue(&Reorder(vec![q("a"), q("b")])) => [];
        queued(), |s| s.decide_change_queue(&Reorder(vec![q("b")])) => ["no: Invalid"];
        queued(), |s| s.decide_change_queue(&Reorder(vec![q("b"), q("b")])) => ["no: Invalid"];
        queued(), |s| s.decide_change_queue(&Reorder(vec![q("b"), q("x")])) => ["no: Invalid"];
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
        guided(), |s| guide(s, "x", 1, Some("q")) => [
            r#"queueChanged g!@turn_001="g" l!~@turn_001="l" x!~@turn_001="q\nx""#,
        ];
        guided(), |s| s.decide_change_queue(&Guide { id: q("q"), expected: "turn_001".into() }) => [
            r#"queueChanged q!@turn_001="q" g!@turn_001="g" l!~@turn_001="l""#,
        ];
        guided(), |s| s.decide_change_queue(&Guide { id: q("g"), expected: "turn_001".into() }) => [];
        guided(), |s| s.decide_change_queue(&Guide { id: q("q"), expected: "turn_002".into() }) => ["no: NotNow"];
        guided(), |s| s.decide_change_queue(&Guide { id: q("x"), expected: "turn_001".into() }) => [
            "no: QueuedInputNotFound",
        ];
        guided(), |s| s.decide_change_queue(&TakeBack { id: q("l"), expected: "turn_001".into() }) => [
            r#"queueChanged q@turn_001="q" g!@turn_001="g" l@turn_001="l""#,
        ];
        guided(), |s| s.decide_change_queue(&TakeBack { id: q("l"), expected: "turn_002".into() }) => ["no: NotNow"];
        guided(), |s| s.decide_change_queue(&TakeBack { id: q("q"), expected: "turn_002".into() }) => [];
        running("one"), |s| s.decide_steer_input(q("x"), "turn_001", request("x"), LATER) => [
            r#"queueChanged x!@turn_001="x""#,
        ];
        running("one"), |s| s.decide_steer_input(q("x"), "turn_002", request("x"), LATER) => ["no: NotNow"];
        cancelling(), |s| s.decide_steer_input(q("x"), "turn_001", request("x"), LATER) => ["no: NotNow"];
        thread(), |s| s.decide_steer_input(q("x"), "turn_001", request("x"), LATER) => ["no: NotNow"];
        running("one"), |s| s.decide_steer_input(q("x"), "turn_001", nothing(), LATER) => ["no: Invalid"];
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
        // Guidance that came too late waits like other entries, or lapses.
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

fn labels(count: usize) -> ThreadState {
    let mut state = thread();
    state.header.metadata = (0..count).map(|n| (n.to_string(), String::new())).collect();
    state
}

#[test]
fn labels_and_titles_change_within_their_bounds() {
    table! {
        labels(0), |s| s.decide_label("tea", Some("hot")) => ["threadLabelled tea=hot"];
        labels(1), |s| s.decide_label("0", Some("hot")) => ["threadLabelled 0=hot"];
        labels(1), |s| s.decide_label("0", Some("")) => [];
        labels(1), |s| s.decide_label("0", None) => ["threadLabelled 0"];
        labels(1), |s| s.decide_label("tea", None) => [];
        labels(MAX_LABELS), |s| s.decide_label("tea", Some("")) => ["no: NotNow"];
        labels(MAX_LABELS), |s| s.decide_label("0", Some("hot")) => ["threadLabelled 0=hot"];
        labels(MAX_LABELS), |s| s.decide_label("0", None) => ["threadLabelled 0"];
        labels(MAX_LABELS - 1), |s| s.decide_label("tea", Some("")) => ["threadLabelled tea="];
        labels(0), |s| s.decide_label("tea", Some(&"x".repeat(MAX_LABEL - 2))) => ["no: Invalid"];
    }
    let longest = "x".repeat(MAX_LABEL - 3);
    assert_eq!(
        labels(0)
            .decide_label("tea", Some(&longest))
            .map(|events| events.len()),
        Ok(1)
    );
}

#[test]
fn a_new_thread_has_a_title_and_a_workspace_as_the_table_says() {
    let new = |title: Option<&str>, path: Option<&str>| NewThread {
        id: ThreadId::new("t"),
        identity: Identity {
            channel_name: "cli".into(),
            channel_context: Some("room".into()),
            workspace_path: path.map(str::to_owned),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: title.map(str::to_owned),
    };
    let longest = "x".repeat(MAX_DISPLAY_NAME);
    let table = [
        (Some(" Tea "), Some("/a"), Some("Tea"), "/a"),
        (Some(" "), Some(" "), None, "/srv"),
        (None, None, None, "/srv"),
        (Some(&*longest), None, Some(&*longest), "/srv"),
    ];
    for (title, path, expected, workspace) in table {
        let Ok(Event::ThreadStarted { thread }) = new(title, path).decide("/srv", NOW) else {
            panic!("{title:?} is refused")
        };
        assert_eq!(thread.display_name.as_deref(), expected);
        assert_eq!(thread.workspace_path, workspace);
        assert_eq!(thread.metadata["channelContext"], "room");
        assert_eq!(ThreadState::new(*thread).edge, None);
    }
    let refused = new(Some(&(longest + "x")), None).decide("/srv", NOW);
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
}

#[test]
fn a_subagent_is_put_away_with_the_thread_above() {
    let parent = ThreadId::new("top");
    let source = crate::SubAgentSource {
        parent: parent.clone(),
        parent_turn: TurnId(1),
        spawn_call: "call_1".into(),
        root: parent.clone(),
        depth: 1,
        nickname: None,
        role: None,
        profile: None,
    };
    let mut header = thread().header;
    assert_eq!(
        (thread().check_stands_alone(), header.root()),
        (Ok(()), &header.id)
    );
    header.source = crate::ThreadSource::SubAgent {
        sub_agent: Box::new(source),
    };
    let child = ThreadState::new(header);
    assert!(matches!(child.check_stands_alone(), Err(Refusal::Invalid(_))));
    assert_eq!(child.header.root(), &parent);
    assert_eq!(child.edge.map(|edge| edge.status), Some(EdgeStatus::Open));
}

#[test]
fn only_a_turn_that_there_was_is_undone_and_none_while_one_runs() {
    let mut state = thread();
    state.last_turn = TurnId(2);
    let table = [
        ("turn_000", false),
        ("turn_001", true),
        ("turn_002", true),
        ("turn_003", false),
        ("x", false),
    ];
    for (text, found) in table {
        let turn = state.turn_to_revert(text);
        let expected = text.parse().map_err(|_| ()).ok().filter(|_| found);
        assert_eq!(
            turn,
            expected.ok_or_else(|| Refusal::TurnNotFound(text.into())),
            "{text}"
        );
    }
    let busy = running("one").turn_to_revert("turn_001");
    assert!(matches!(busy, Err(Refusal::TurnInProgress { .. })));
}
