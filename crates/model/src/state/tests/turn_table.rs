//! Commands about the open Turn as rows: its Items, its Approvals, its end.

use super::lines::{line, table};
use super::scenes::{asking, call, cancelled, cancelling, command, failed, open, prose, result, working};
use super::*;

fn answer(state: &ThreadState, id: &str, decision: Decision) -> Result<Vec<Event>, Refusal> {
    let by = DecidedBy::Client("me".into());
    state.decide_answer(&ApprovalId::new(id), decision, &by, LATER)
}

#[test]
fn approvals_are_settled_as_the_table_says() {
    const A: &str = r#"approvalResolved a accept by Client("me"), item_005[@2000] answers a accept true"#;
    table! {
        running("one"), |s| s.decide_ask(question("a", "ls")) => [
            "approvalOpened item_002[@1000] asks a ls turn_001/item_002 a",
        ];
        asking(), |s| answer(s, "a", Decision::Accept) => [A];
        asking(), |s| answer(s, "b", Decision::Decline) => [
            r#"approvalResolved b decline by Client("me"), item_005[@2000] answers b decline false"#,
        ];
        asking(), |s| answer(s, "c", Decision::Cancel) => [
            r#"approvalResolved c cancel by Client("me"), item_005[@2000] answers c cancel false"#,
        ];
        // That answer accepts the other Approvals of the same scope; no client answered them.
        asking(), |s| answer(s, "b", Decision::AcceptForSession) => [
            r#"approvalResolved a accept by SameScope(ApprovalId("b")), item_005[@2000] answers a accept true"#,
            r#"approvalResolved b acceptForSession by Client("me"), item_006[@2000] answers b acceptForSession true"#,
        ];
        asking(), |s| answer(s, "a", Decision::AcceptAlways) => [
            r#"approvalResolved a acceptAlways by Client("me"), item_005[@2000] answers a acceptAlways true"#,
            r#"approvalResolved b accept by SameScope(ApprovalId("a")), item_006[@2000] answers b accept true"#,
        ];
        asking(), |s| answer(s, "x", Decision::Accept) => ["no: ApprovalNotOpen"];
        thread(), |s| answer(s, "a", Decision::Accept) => ["no: ApprovalNotOpen"];
        running("one"), |s| s.decide_cancel("enough", LATER) => ["turnCancelling turn_001 enough"];
        cancelling(), |s| s.decide_cancel("again", LATER) => [];
        thread(), |s| s.decide_cancel("enough", LATER) => [];
    }
    let none = thread();
    assert_eq!(none.decide_ask(question("a", "ls")), None);
}

/// The record of the stop comes before the end of the Turn's Approvals, and each Approval ends once.
#[test]
fn stopping_or_ending_a_turn_cancels_its_questions() {
    const CLOSED: [&str; 3] = [
        "approvalResolved a cancel by Interrupt, item_005[@2000] answers a cancel false",
        "approvalResolved b cancel by Interrupt, item_006[@2000] answers b cancel false",
        "approvalResolved c cancel by Interrupt, item_007[@2000] answers c cancel false",
    ];
    let [a, b, c] = CLOSED;
    let lines = |events: Vec<Event>| events.iter().map(line).collect::<Vec<_>>();
    assert_eq!(lines(asking().decide_close_questions(LATER)), CLOSED);
    assert_eq!(
        lines(asking().decide_cancel("enough", LATER)),
        ["turnCancelling turn_001 enough", a, b, c]
    );
    let end = "turnEnded cancelled @2000 0";
    assert_eq!(
        lines(asking().decide_end_turn(cancelled(), LATER)),
        [a, b, c, end]
    );
}

#[test]
fn items_open_and_complete_as_the_table_says() {
    table! {
        running("one"), |s| s.decide_open_item(prose(), LATER) => ["itemStarted item_002[open] text \"\""];
        running("one"), |s| s.decide_add_item(result(true), LATER) => ["itemAdded item_002[@2000] text \"\""];
        // Prose ends where other prose or the result of a call begins, and nowhere else.
        working(), |s| s.decide_open_item(prose(), LATER) => [
            r#"itemCompleted item_002[@2000] text "Hel""#,
            r#"itemStarted item_007[open] text """#,
        ];
        working(), |s| s.decide_add_item(result(true), LATER) => [
            r#"itemCompleted item_002[@2000] text "Hel""#,
            r#"itemAdded item_007[@2000] text """#,
        ];
        working(), |s| s.decide_open_item(command(), LATER) => ["itemStarted item_007[open] InProgress"];
        working(), |s| s.decide_add_item(prose(), LATER) => ["itemAdded item_007[@2000] text \"\""];
        working(), |s| s.decide_complete_item(ItemId(2), None, LATER) => [
            r#"itemCompleted item_002[@2000] text "Hel""#,
        ];
        working(), |s| s.decide_complete_item(ItemId(2), Some(result(true)), LATER) => [
            r#"itemCompleted item_002[@2000] text """#,
        ];
        working(), |s| s.decide_complete_item(ItemId(1), None, LATER) => [];
        working(), |s| s.decide_complete_item(ItemId(9), None, LATER) => [];
        working(), |s| s.decide_complete_item(ItemId(0), None, LATER) => [];
        thread(), |s| s.decide_complete_item(ItemId(1), None, LATER) => [];
        thread(), |s| s.decide_open_item(prose(), LATER) => [];
        thread(), |s| s.decide_add_item(prose(), LATER) => [];
        thread(), |s| s.decide_end_turn(Outcome::Completed, LATER) => [];
    }
}

/// Text stays as it came. A command and a call say that they did not end well, and whether a client stopped them.
#[test]
fn what_is_open_at_the_end_of_a_turn_says_how_it_ended() {
    table! {
        working(), |s| s.decide_end_turn(cancelled(), LATER) => [
            r#"itemCompleted item_002[@2000] text "Hel""#,
            "itemCompleted item_003[@2000] call_1 None None",
            "itemCompleted item_004[@2000] Cancelled hot",
            "itemCompleted item_005[@2000] Cancelled Some(false) cancelled",
            r#"itemCompleted item_006[@2000] dyntool_1 Some((false, "Cancelled"))"#,
            "contextNoted CompactFailed",
            "turnEnded cancelled @2000 7",
        ];
        working(), |s| s.decide_end_turn(failed(), LATER) => [
            r#"itemCompleted item_002[@2000] text "Hel""#,
            "itemCompleted item_003[@2000] call_1 None None",
            "itemCompleted item_004[@2000] Failed hot",
            "itemCompleted item_005[@2000] Failed Some(false) the turn failed",
            r#"itemCompleted item_006[@2000] dyntool_1 Some((false, "Cancelled"))"#,
            "contextNoted CompactFailed",
            "turnEnded failed @2000 7",
        ];
    }
}

/// 02 §2.6: a plan waits for confirmation only after a Turn in plan mode that ended well and whose last call made
/// the plan.
#[test]
fn a_plan_waits_for_a_word_as_the_table_says() {
    const PLAN: &str = crate::plan::CREATE_PLAN;
    let table = [
        (Some(Mode::Plan), PLAN, Some(true), Outcome::Completed, true),
        (Some(Mode::Plan), PLAN, Some(false), Outcome::Completed, false),
        (Some(Mode::Plan), PLAN, None, Outcome::Completed, false),
        (
            Some(Mode::Plan),
            "ReadFile",
            Some(true),
            Outcome::Completed,
            false,
        ),
        (Some(Mode::Plan), PLAN, Some(true), cancelled(), false),
        (Some(Mode::Plan), PLAN, Some(true), failed(), false),
        (Some(Mode::Agent), PLAN, Some(true), Outcome::Completed, false),
        (None, PLAN, Some(true), Outcome::Completed, false),
    ];
    for row in table {
        let (mode, tool, success, outcome, waits) = row.clone();
        let mut state = open(running("one"), call(tool, Some("{}")));
        for event in mode.map(|mode| state.decide_mode(mode)).unwrap_or_default() {
            state.apply(&event, NOW);
        }
        if let Some((_, events)) = success.and_then(|success| state.decide_add_item(result(success), NOW)) {
            play(&mut state, &events);
        }
        let events = state.decide_end_turn(outcome, LATER);
        play(&mut state, &events);
        assert_eq!(state.runtime().waiting_on_plan_confirmation, waits, "{row:?}");
    }
}

#[test]
fn calls_without_a_result_are_pending_whoever_runs_them() {
    let pending = |state: &ThreadState| {
        let live = state.live.as_ref().unwrap();
        let calls = live
            .pending_calls()
            .map(|(call, item)| format!("{call} {}", item.id));
        calls.collect::<Vec<_>>()
    };
    let mut state = working();
    assert_eq!(pending(&state), ["call_1 item_003", "dyntool_1 item_006"]);
    let (_, events) = state.decide_add_item(result(false), LATER).unwrap();
    play(&mut state, &events);
    assert_eq!(pending(&state), ["dyntool_1 item_006"]);
    let events = state.decide_end_turn(cancelled(), LATER);
    events
        .iter()
        .take(events.len() - 1)
        .for_each(|event| drop(state.apply(event, LATER)));
    assert_eq!(pending(&state), [""; 0]);
}
