//! The rules as tables, and as a property: no sequence of commands leaves a Turn with an open Item.

mod apply_table;
mod lines;
mod scenes;
mod thread_table;
mod turn_table;

use proptest::prelude::*;

use super::*;
use crate::{
    ApprovalKind, Coverage, DecidedBy, Decision, DeltaChannel, Event, HistoryMode, Identity, InputPart, Mode,
    Outcome, QueuedInputId, Refusal, Scope, ThreadId, ThreadStatus,
};

const NOW: UnixMillis = UnixMillis(1_000);
const LATER: UnixMillis = UnixMillis(2_000);

fn thread() -> ThreadState {
    let request = NewThread {
        id: ThreadId::new("thread_20270104_q9w3k1"),
        identity: Identity {
            channel_name: "cli".into(),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: None,
    };
    let Ok(Event::ThreadStarted { thread }) = request.decide("/srv/tea", NOW) else {
        panic!("refused")
    };
    ThreadState::new(*thread)
}

fn play(state: &mut ThreadState, events: &[Event]) -> Option<Turn> {
    events
        .iter()
        .fold(None, |ended, event| state.apply(event, NOW).or(ended))
}

fn request(text: &str) -> StartTurn {
    StartTurn {
        client_message_id: None,
        trigger: None,
        input: vec![InputPart::Text { text: text.into() }],
        sender: None,
        channel: Some("cli".into()),
        features: TurnFeatures {
            approvals: true,
            ..TurnFeatures::default()
        },
    }
}

fn running(text: &str) -> ThreadState {
    let mut state = thread();
    let events = state.decide_start_turn(request(text), NOW).unwrap();
    play(&mut state, &events);
    state
}

fn end(state: &mut ThreadState) -> Option<Turn> {
    let events = state.decide_end_turn(Outcome::Completed, NOW);
    play(state, &events)
}

fn question(id: &str, operation: &str) -> Approval {
    Approval {
        id: ApprovalId::new(id),
        turn: TurnId(0),
        item: ItemId(0),
        call_id: "call_1".into(),
        scope: Scope::new(ApprovalKind::Shell, operation, "/srv/tea"),
        reason: String::new(),
        opened_at: NOW,
        expires_at: UnixMillis(2_000),
    }
}

#[test]
fn a_blank_channel_name_is_refused() {
    let request = NewThread {
        id: ThreadId::new("t"),
        identity: Identity {
            channel_name: " ".into(),
            ..Identity::default()
        },
        config: None,
        history_mode: HistoryMode::Server,
        display_name: None,
    };
    assert!(matches!(request.decide("/", NOW), Err(Refusal::Invalid(_))));
}

#[test]
fn status_changes_follow_the_table() {
    use StatusChange::{Archive, Pause, Unarchive};
    use ThreadStatus::{Active, Archived, Paused};
    let table = [
        (Active, Pause, Some(Paused)),
        (Active, Archive, Some(Archived)),
        (Active, Unarchive, None),
        (Paused, Pause, None),
        (Paused, Archive, Some(Archived)),
        (Paused, Unarchive, None),
        (Archived, Pause, None),
        (Archived, Archive, None),
        (Archived, Unarchive, Some(Active)),
    ];
    for (from, change, to) in table {
        let mut state = thread();
        state.header.status = from;
        let events = state.decide_status(change);
        let expected: Vec<_> = to
            .into_iter()
            .map(|new| Event::ThreadStatusChanged { previous: from, new })
            .collect();
        assert_eq!(events, expected, "{from} {change:?}");
    }
}

#[test]
fn only_an_active_idle_thread_takes_a_turn() {
    for status in [ThreadStatus::Paused, ThreadStatus::Archived] {
        let mut state = thread();
        state.header.status = status;
        let refusal = state.decide_start_turn(request("hi"), NOW).unwrap_err();
        assert!(matches!(refusal, Refusal::ThreadNotActive { .. }));
        let refusal = state
            .decide_enqueue(QueuedInputId::new("q"), request("hi"), NOW)
            .unwrap_err();
        assert!(matches!(refusal, Refusal::ThreadNotActive { .. }));
    }
    let refusal = running("hi")
        .decide_start_turn(request("again"), NOW)
        .unwrap_err();
    assert!(matches!(refusal, Refusal::TurnInProgress { turn: TurnId(1), .. }));
}

#[test]
fn resume_is_refused_for_archived_and_reactivates_paused() {
    let mut state = thread();
    state.header.status = ThreadStatus::Archived;
    assert!(state.decide_resume("me", None).is_err());
    state.header.status = ThreadStatus::Paused;
    assert_eq!(state.decide_resume("me", None).unwrap().len(), 2);
    state.header.status = ThreadStatus::Active;
    assert_eq!(
        state.decide_resume("me", None).unwrap(),
        [Event::ThreadResumed { by: "me".into() }]
    );
}

#[test]
fn first_message_names_the_thread_and_later_ones_do_not() {
    let mut state = running("Boil water");
    assert_eq!(state.header.display_name.as_deref(), Some("Boil water"));
    end(&mut state);
    let events = state.decide_start_turn(request("Cool it"), NOW).unwrap();
    assert_eq!(
        events.iter().map(Event::kind).collect::<Vec<_>>(),
        ["turnStarted", "itemAdded"]
    );
}

#[test]
fn interrupt_finds_the_turn_or_says_why_not() {
    let mut state = running("hi");
    assert_eq!(state.turn_to_interrupt("turn_001"), Ok(TurnId(1)));
    assert_eq!(state.turn_to_interrupt(""), Ok(TurnId(1)));
    assert!(matches!(
        state.turn_to_interrupt("turn_002"),
        Err(Refusal::TurnNotFound(_))
    ));
    assert!(matches!(
        state.turn_to_interrupt("nonsense"),
        Err(Refusal::TurnNotFound(_))
    ));
    end(&mut state);
    assert!(matches!(
        state.turn_to_interrupt("turn_001"),
        Err(Refusal::TurnNotRunning(_))
    ));
    assert!(matches!(
        state.turn_to_interrupt(""),
        Err(Refusal::TurnNotRunning(_))
    ));
}

#[test]
fn opening_reasoning_completes_the_open_message() {
    let mut state = running("hi");
    let (first, events) = state
        .decide_open_item(ItemBody::AgentMessage { text: String::new() }, NOW)
        .unwrap();
    play(&mut state, &events);
    assert_eq!(state.push_text(first, DeltaChannel::AgentMessage, "Hel"), Some(0));
    assert_eq!(state.push_text(first, DeltaChannel::AgentMessage, "lo"), Some(3));
    let (_, events) = state
        .decide_open_item(ItemBody::Reasoning { text: String::new() }, NOW)
        .unwrap();
    assert_eq!(
        events.iter().map(Event::kind).collect::<Vec<_>>(),
        ["itemCompleted", "itemStarted"]
    );
    play(&mut state, &events);
    let done = state.live.as_ref().unwrap().item(first).unwrap();
    assert_eq!(
        (done.status, done.body.text()),
        (ItemStatus::Completed, Some("Hello"))
    );
    assert_eq!(state.push_text(first, DeltaChannel::AgentMessage, "late"), None);
}

#[test]
fn the_result_of_a_call_settles_its_open_question_and_no_other() {
    let mut state = running("hi");
    for id in ["a", "b"] {
        let mut asked = question(id, "make");
        asked.call_id = format!("call_{id}");
        let events = state.decide_ask(asked).unwrap();
        play(&mut state, &events);
    }
    let result = ItemBody::ToolResult {
        call_id: "call_a".into(),
        result: "the file is gone".into(),
        success: false,
        refused: false,
        seen: Vec::new(),
        pictures: Vec::new(),
        change: None,
        tool_name: None,
    };
    let (_, events) = state.decide_add_item(result, NOW).unwrap();
    play(&mut state, &events);
    let [
        Event::ItemAdded { .. },
        Event::ApprovalResolved {
            approval, by, item, ..
        },
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!((approval.as_str(), by), ("a", &DecidedBy::CallEnded));
    assert_eq!(item.id.0 + 1, state.live.as_ref().unwrap().next_item().0);
    let open: Vec<_> = state.approvals().iter().map(|open| open.id.as_str()).collect();
    assert_eq!(open, ["b"]);
}

#[test]
fn an_answer_for_the_session_settles_the_same_scope_and_is_remembered() {
    let mut state = running("hi");
    let head = |id: &str, operation: &str| {
        let mut asked = question(id, operation);
        asked.scope.coverage = Coverage::Head("git diff".to_owned());
        asked
    };
    let mut under = question("c", "make");
    under.scope.conditions.push("without a sandbox".to_owned());
    let mut once = question("d", "git diff a");
    once.scope = once.scope.once();
    let asked = [
        head("a", "git diff a"),
        head("b", "git diff b"),
        under,
        once,
        question("e", "git diff c"),
        question("f", "make"),
    ];
    for asked in asked {
        let events = state.decide_ask(asked).unwrap();
        play(&mut state, &events);
    }
    assert!(state.runtime().waiting_on_approval);
    let by = DecidedBy::Client("one".into());
    let settled: Vec<usize> = ["b", "c", "d", "e", "f"]
        .map(|id| {
            let answer = state.decide_answer(&ApprovalId::new(id), Decision::AcceptForSession, &by, NOW);
            let events = answer.unwrap();
            play(&mut state, &events);
            events.len()
        })
        .into();
    assert_eq!(settled, [2, 1, 1, 1, 1]);
    assert!(!state.runtime().waiting_on_approval);
    let grants: Vec<&str> = state.grants.iter().map(String::as_str).collect();
    assert_eq!(
        grants,
        [
            "shell:git diff\0/srv/tea",
            "shell:git diff c\0/srv/tea",
            "shell:make\0/srv/tea",
            "shell:make\0/srv/tea\0without a sandbox",
        ]
    );
    let late = state.decide_answer(&ApprovalId::new("a"), Decision::Decline, &by, NOW);
    assert_eq!(late, Err(Refusal::ApprovalNotOpen(ApprovalId::new("a"))));
}

#[test]
fn an_answer_for_ever_covers_exactly_what_its_question_showed() {
    let mut state = running("hi");
    let head = |id: &str, operation: &str| {
        let mut asked = question(id, operation);
        asked.scope.coverage = Coverage::Head("git diff".to_owned());
        asked
    };
    let mut once = question("d", "git diff a");
    once.scope = once.scope.once();
    for asked in [
        head("a", "git diff a"),
        head("b", "git diff b"),
        head("c", "git diff a"),
        once,
    ] {
        let events = state.decide_ask(asked).unwrap();
        play(&mut state, &events);
    }
    let by = DecidedBy::Client("one".into());
    let answer = state.decide_answer(&ApprovalId::new("a"), Decision::AcceptAlways, &by, NOW);
    play(&mut state, &answer.unwrap());
    let open: Vec<&str> = state.approvals().iter().map(|open| open.id.as_str()).collect();
    assert_eq!(open, ["b", "d"]);
    assert!(state.grants.is_empty(), "{:?}", state.grants);
}

#[test]
fn no_more_than_256_answers_for_the_session_are_kept() {
    let mut state = running("clean up");
    let by = DecidedBy::Client("one".into());
    for n in 0..300 {
        let asked = question(&format!("approval_{n}"), &format!("rm {n}"));
        let events = state.decide_ask(asked).unwrap();
        play(&mut state, &events);
        let id = ApprovalId::new(format!("approval_{n}"));
        let answer = state.decide_answer(&id, Decision::AcceptForSession, &by, NOW);
        play(&mut state, &answer.unwrap());
    }
    assert_eq!(state.grants.len(), 256);
}

#[test]
fn every_start_after_a_crash_counts() {
    let mut state = running("hi");
    let turn = state.last_turn;
    let crashes = [true, false, true].map(|crashed| {
        state.apply(
            &Event::TurnRecovered {
                turn,
                crashed,
                reason: String::new(),
            },
            NOW,
        );
        state.live.as_ref().unwrap().crashes
    });
    assert_eq!(crashes, [1, 1, 2]);
}

#[test]
fn an_orderly_stop_takes_back_the_start_that_follows_it() {
    let mut state = running("hi");
    let turn = state.last_turn;
    let recovered = Event::TurnRecovered {
        turn,
        crashed: true,
        reason: String::new(),
    };
    let left = Event::TurnLeftOpen { turn };
    let events = [&recovered, &left, &recovered, &recovered];
    let crashes = events.map(|event| {
        state.apply(event, NOW);
        state.live.as_ref().unwrap().crashes
    });
    assert_eq!(crashes, [1, -1, 0, 1]);
}

#[test]
fn the_end_of_a_turn_completes_items_and_cancels_approvals() {
    let mut state = running("hi");
    let (_, events) = state
        .decide_open_item(ItemBody::AgentMessage { text: String::new() }, NOW)
        .unwrap();
    play(&mut state, &events);
    let events = state.decide_ask(question("a", "rm -r /")).unwrap();
    play(&mut state, &events);
    let events = state.decide_end_turn(
        Outcome::Cancelled {
            reason: "Cancelled by request".into(),
        },
        NOW,
    );
    let kinds: Vec<_> = events.iter().map(Event::kind).collect();
    assert_eq!(kinds, ["approvalResolved", "itemCompleted", "turnEnded"]);
    let turn = play(&mut state, &events).unwrap();
    assert!(turn.items.iter().all(|item| item.status == ItemStatus::Completed));
    assert_eq!(state.runtime(), crate::Runtime::default());
}

#[test]
fn a_call_that_is_cut_off_keeps_the_arguments_that_were_shown() {
    let table = [
        ("{\"path\":\"a\",", None, Some("{\"path\":\"a\",")),
        (" {\"path\":\"a\"}", Some("{\"path\":\"a\"}"), None),
        ("", None, None),
    ];
    for (text, whole, part) in table {
        let mut state = running("hi");
        let call = ItemBody::ToolCall {
            tool_name: "ReadFile".into(),
            call_id: "call_1".into(),
            arguments: None,
            arguments_text: None,
            kept: None,
        };
        let (id, events) = state.decide_open_item(call, NOW).unwrap();
        play(&mut state, &events);
        if !text.is_empty() {
            state.push_text(id, crate::DeltaChannel::ToolArguments, text);
        }
        let reason = "Cancelled by request".into();
        let events = state.decide_end_turn(Outcome::Cancelled { reason }, NOW);
        let turn = play(&mut state, &events).unwrap();
        let Some(ItemBody::ToolCall {
            arguments,
            arguments_text,
            ..
        }) = turn.items.last().map(|item| &item.body)
        else {
            panic!("{turn:?}")
        };
        assert_eq!(arguments.as_ref().map(crate::Json::get), whole);
        assert_eq!(arguments_text.as_deref(), part);
    }
}

#[test]
fn queue_is_first_in_first_out_and_starts_only_when_idle() {
    let mut state = running("one");
    for id in ["a", "b"] {
        let events = state
            .decide_enqueue(QueuedInputId::new(id), request(id), NOW)
            .unwrap();
        play(&mut state, &events);
    }
    assert_eq!(state.decide_start_queued(NOW), None);
    end(&mut state);
    let events = state.decide_start_queued(NOW).unwrap();
    play(&mut state, &events);
    assert_eq!(state.queue.len(), 1);
    assert_eq!(state.live_turn(), Some(TurnId(2)));
    let gone = state.decide_change_queue(&QueueChange::Remove(QueuedInputId::new("a")));
    assert_eq!(gone, Err(Refusal::QueuedInputNotFound(QueuedInputId::new("a"))));
    assert!(
        state
            .decide_change_queue(&QueueChange::Remove(QueuedInputId::new("b")))
            .is_ok()
    );
}

#[test]
fn an_input_that_follows_any_end_goes_before_those_that_wait_for_a_good_one() {
    let mut state = running("one");
    let id = QueuedInputId::new;
    let events = state.decide_enqueue(id("a"), request("a"), NOW).unwrap();
    play(&mut state, &events);
    assert_eq!(state.decide_start_following(NOW), None);
    for name in ["b", "c"] {
        let events = state.decide_enqueue_next(id(name), request(name), NOW).unwrap();
        play(&mut state, &events);
    }
    assert_eq!(state.decide_start_following(NOW), None, "a Turn runs");
    end(&mut state);
    let events = state.decide_start_following(NOW).unwrap();
    play(&mut state, &events);
    let left: Vec<_> = state.queue.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(left, ["a", "c"]);
}

#[test]
fn a_queued_turn_has_the_channel_and_the_abilities_of_who_queued_it() {
    let mut state = running("one");
    for (id, approvals) in [("a", true), ("b", false)] {
        let mut request = request(id);
        request.channel = Some(format!("channel of {id}"));
        request.features.approvals = approvals;
        let events = state
            .decide_enqueue(QueuedInputId::new(id), request, NOW)
            .unwrap();
        play(&mut state, &events);
    }
    for (id, approvals) in [("a", true), ("b", false)] {
        end(&mut state);
        let events = state.decide_start_queued(NOW).unwrap();
        play(&mut state, &events);
        let live = state.live.as_ref().unwrap();
        assert_eq!(live.features.approvals, approvals);
        assert_eq!(live.turn.origin_channel, Some(format!("channel of {id}")));
    }
}

#[test]
fn guidance_becomes_an_item_of_the_running_turn() {
    let mut state = running("one");
    for id in ["a", "b", "c"] {
        let events = state.decide_enqueue(QueuedInputId::new(id), request(id), NOW);
        play(&mut state, &events.unwrap());
    }
    let id = QueuedInputId::new;
    let table = [
        (id("x"), "turn_001", "does not exist"),
        (id("b"), "turn_002", "turn_001 is running, not 'turn_002'"),
    ];
    for (entry, turn, told) in table {
        let refused = state.decide_steer(&entry, turn, None).unwrap_err().to_string();
        assert!(refused.contains(told), "{refused}");
    }
    let sender = crate::Sender {
        sender_id: "u-4".into(),
        sender_name: "Noor".into(),
        sender_role: None,
        group_id: None,
    };
    let events = state.decide_steer(&id("b"), "turn_001", Some(sender.clone()));
    play(&mut state, &events.unwrap());
    let again = state.decide_steer(&id("b"), "turn_001", None);
    assert!(matches!(again, Err(Refusal::NotNow(_))));

    let events = state.decide_guide(NOW);
    play(&mut state, &events);
    let left: Vec<_> = state.queue.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(left, ["a", "c"]);
    let item = &state.live.as_ref().unwrap().turn.items[1];
    let ItemBody::UserMessage(said) = &item.body else {
        panic!("{item:?}")
    };
    assert_eq!(
        (&*said.text(), said.delivery),
        ("b", crate::DeliveryMode::Guidance)
    );
    assert_eq!(said.sender.as_ref(), Some(&sender));
    assert_eq!(state.decide_guide(NOW), []);
}

#[test]
fn guidance_that_comes_too_late_waits_like_the_rest_of_the_queue() {
    let mut state = running("one");
    let id = QueuedInputId::new("a");
    let events = state.decide_enqueue(id.clone(), request("a"), NOW).unwrap();
    play(&mut state, &events);
    let events = state.decide_steer(&id, "turn_001", None).unwrap();
    play(&mut state, &events);
    end(&mut state);
    assert_eq!(state.queue[0].status, crate::QueueStatus::Queued);
    let late = state.decide_steer(&id, "turn_001", None);
    assert!(matches!(late, Err(Refusal::NotNow(_))));
    assert!(state.decide_start_queued(NOW).is_some());
}

#[test]
fn turns_are_rolled_back_only_when_nothing_runs_and_there_are_so_many() {
    let mut state = running("one");
    let told = |state: &ThreadState, count| state.check_rollback(count).unwrap_err().to_string();
    assert!(told(&state, 1).contains("turn_001 is still in progress; cancel it"));
    end(&mut state);
    assert!(told(&state, 0).contains("no such turn"));
    assert!(told(&state, 2).contains("are 1 turns"));
    assert_eq!(state.check_rollback(1), Ok(()));
    let event = Event::TurnsRolledBack {
        first: TurnId(1),
        count: 1,
    };
    play(&mut state, &[event]);
    assert_eq!((state.turn_count, state.last_turn), (0, TurnId(1)));
    let events = state.decide_status(crate::state::StatusChange::Archive);
    play(&mut state, &events);
    assert!(told(&state, 1).contains("archived"));
}

/// 02 §2.6: outside plan mode there is nothing to confirm.
#[test]
fn leaving_plan_mode_ends_the_wait_for_a_confirmation() {
    let mut state = running("one");
    end(&mut state);
    state.plan_pending = true;
    let plan = state.decide_mode(crate::Mode::Plan);
    play(&mut state, &plan);
    assert!(state.runtime().waiting_on_plan_confirmation);
    let agent = state.decide_mode(crate::Mode::Agent);
    play(&mut state, &agent);
    assert!(!state.runtime().waiting_on_plan_confirmation);
}

#[test]
fn a_queue_and_a_title_have_their_limits_in_bytes() {
    let mut state = running("one");
    let long = "x".repeat(super::MAX_QUEUED_BYTES);
    let id = QueuedInputId::new("a");
    let events = state.decide_enqueue(id.clone(), request(&long), NOW).unwrap();
    play(&mut state, &events);
    let full = state.decide_enqueue(id, request("x"), NOW).unwrap_err();
    assert!(matches!(full, Refusal::QueueFull(_)));
    let title = "x".repeat(super::MAX_DISPLAY_NAME);
    assert!(state.decide_rename(&title).is_ok());
    let long = state.decide_rename(&(title + "x")).unwrap_err();
    assert!(matches!(long, Refusal::Invalid(_)));
}

#[test]
fn mode_keeps_the_rest_of_the_configuration() {
    let mut state = thread();
    let config: crate::ThreadConfig =
        serde_json::from_str(r#"{"model":"brew-large","toolProfile":"x"}"#).unwrap();
    let events = state.decide_configure(config);
    play(&mut state, &events);
    let events = state.decide_mode(Mode::Plan);
    play(&mut state, &events);
    let config = state.header.config.clone().unwrap();
    assert_eq!(config.model.as_deref(), Some("brew-large"));
    assert_eq!(config.extra["toolProfile"], "x");
    assert_eq!(config.mode, Some(Mode::Plan));
    assert_eq!(state.decide_mode(Mode::Plan), []);
}

#[test]
fn no_configuration_changes_the_worktree() {
    let mut state = thread();
    let config = |id: &str| crate::ThreadConfig {
        worktree: Some(Box::new(crate::Worktree {
            id: id.to_owned(),
            source_thread_id: String::new(),
            workspace_path: String::new(),
            source_workspace_path: String::new(),
            path: String::new(),
            branch_name: String::new(),
            base_ref: String::new(),
            base_head: String::new(),
            head: String::new(),
            created_at: String::new(),
            dirty_handoff: None,
        })),
        ..crate::ThreadConfig::default()
    };
    state.header.config = Some(config("own"));
    for other in [config("other"), crate::ThreadConfig::default()] {
        let events = state.decide_configure(other);
        play(&mut state, &events);
        assert_eq!(state.header.config, Some(config("own")));
    }
    state.header.config = None;
    let events = state.decide_configure(config("other"));
    play(&mut state, &events);
    assert_eq!(state.header.config, Some(crate::ThreadConfig::default()));
}

/// Returns the events of the `step`-th kind of command; `n` makes its ids.
fn any_command(state: &ThreadState, step: u8, n: usize) -> Vec<Event> {
    let text = String::new;
    let next = state.live.as_ref().map_or(1, |live| live.next_item().0);
    let oldest = state.approvals().first().map(|open| open.id.clone());
    let answered = |decision| {
        let id = oldest.unwrap_or_else(|| ApprovalId::new("none"));
        state.decide_answer(&id, decision, &DecidedBy::Policy, NOW)
    };
    let opened = |body| state.decide_open_item(body, NOW).map(|(_, events)| events);
    let error = ItemBody::Error {
        message: text(),
        code: text(),
        fatal: false,
    };
    match step {
        0 => opened(ItemBody::AgentMessage { text: text() }).unwrap_or_default(),
        1 => opened(ItemBody::Reasoning { text: text() }).unwrap_or_default(),
        2 => state
            .decide_ask(question(&n.to_string(), "ls"))
            .unwrap_or_default(),
        3 => state
            .decide_ask(question(&n.to_string(), &n.to_string()))
            .unwrap_or_default(),
        4 => answered(Decision::AcceptForSession).unwrap_or_default(),
        5 => answered(Decision::Decline).unwrap_or_default(),
        6 => state.decide_complete_item(ItemId(next - 1), None, NOW),
        7 => state
            .decide_add_item(error, NOW)
            .map(|(_, events)| events)
            .unwrap_or_default(),
        8 => state.decide_close_questions(NOW),
        _ => state.decide_cancel("enough", NOW),
    }
}

proptest! {
    /// Whatever an engine and its clients do, a Turn waits while a question is open and only then; it ends with every
    /// Item final, each question settled once, and Items numbered without a gap; and replaying the events gives
    /// the same state.
    #[test]
    fn any_sequence_of_commands_ends_in_a_clean_turn(steps in proptest::collection::vec(0u8..10, 0..40)) {
        let mut state = running("go");
        let mut copy = state.clone();
        let mut history = Vec::new();
        for (n, step) in steps.into_iter().enumerate() {
            let events = any_command(&state, step, n);
            play(&mut state, &events);
            history.extend(events);
            let waits = !state.approvals().is_empty();
            prop_assert_eq!(state.runtime().waiting_on_approval, waits);
            let status = state.live.as_ref().map(|live| live.turn.status);
            prop_assert_eq!(status == Some(TurnStatus::WaitingApproval), waits);
        }
        play(&mut copy, &history);
        prop_assert_eq!(&copy, &state);
        let events = state.decide_end_turn(Outcome::Completed, NOW);
        let turn = play(&mut state, &events).unwrap();
        prop_assert!(turn.items.iter().all(|item| item.status == ItemStatus::Completed));
        prop_assert!(turn.items.iter().zip(1..).all(|(item, n)| item.id == ItemId(n)));
        prop_assert!(state.live.is_none());
        history.extend(events);
        let (mut asked, mut settled) = (BTreeSet::new(), BTreeSet::new());
        for event in &history {
            match event {
                Event::ApprovalOpened { approval, .. } => prop_assert!(asked.insert(&approval.id)),
                Event::ApprovalResolved { approval, .. } => {
                    prop_assert!(asked.contains(approval) && settled.insert(approval), "{approval}");
                }
                _ => {}
            }
        }
        prop_assert_eq!(asked, settled);
    }
}

#[test]
fn labels_are_set_and_taken_away_within_bounds() {
    let mut state = thread();
    let set = |state: &ThreadState, name: &str, value: Option<&str>| state.decide_label(name, value);
    for event in set(&state, "tea", Some("hot")).unwrap() {
        state.apply(&event, UnixMillis(1));
    }
    assert_eq!(state.header.metadata["tea"], "hot");
    assert_eq!(
        set(&state, "tea", Some("hot")),
        Ok(Vec::new()),
        "no change, no event"
    );
    assert_eq!(set(&state, "milk", None), Ok(Vec::new()));
    let long = "x".repeat(super::MAX_LABEL);
    assert!(matches!(
        set(&state, "long", Some(&long)),
        Err(Refusal::Invalid(_))
    ));
    for number in 1..super::MAX_LABELS {
        for event in set(&state, &number.to_string(), Some("")).unwrap() {
            state.apply(&event, UnixMillis(1));
        }
    }
    assert!(matches!(set(&state, "more", Some("")), Err(Refusal::NotNow(_))));
    for event in set(&state, "tea", None).unwrap() {
        state.apply(&event, UnixMillis(1));
    }
    assert!(!state.header.metadata.contains_key("tea"));
}

#[test]
fn an_answer_about_programs_covers_them_and_no_line_without_the_sandbox() {
    let scope = |line: &str, coverage: Coverage| Scope {
        coverage,
        ..Scope::new(crate::ApprovalKind::Shell, line, "/w")
    };
    let programs = || Coverage::Programs("pytest".to_owned());
    let (one, two) = (
        scope("pytest a", programs()),
        scope("pytest b | tail", programs()),
    );
    let unconfined = scope("pytest b | tail", Coverage::Exact);
    for decision in [Decision::AcceptForSession, Decision::AcceptAlways] {
        assert!(one.settles(decision, &two));
        assert!(!one.settles(decision, &unconfined));
        assert!(!one.settles(decision, &scope("x", Coverage::Programs("make".to_owned()))));
    }
    assert_eq!(one.session_key(), "shell:pytest");
    assert_eq!(one.standing_key().as_deref(), Some("shell:pytest"));
    assert_eq!(one.standing(), two.standing());
    // An answer of an earlier version about this very line counts, too.
    assert!(two.standings().contains(&unconfined.standing()));
}
