//! Every stored event as a row: from this state, this payload changes these facts and no others.

use std::sync::Arc;

use super::scenes::{asking, call, cancelled, failed, guided, open, prose, queued, subagent, working};
use super::*;
use crate::{ContextNote, EdgeStatus, GivenMessage, ThreadConfig, TokenUsage};

/// Returns all facts of a state, one per line.
fn facts(state: &ThreadState) -> Vec<String> {
    let (header, runtime) = (&state.header, state.runtime());
    let mut facts = vec![
        format!("title {:?}", header.display_name),
        format!("status {}", header.status),
        format!("active at {}", header.last_active_at.0),
        format!("mode {:?}", header.config.as_ref().map(ThreadConfig::mode)),
        format!("labels {:?}", header.metadata),
        format!("turns {} {}", state.last_turn, state.turn_count),
        format!("plan {:?}", state.plan.as_ref().map(|plan| &plan.title)),
        format!("window {}/{}", state.context.tokens, state.context.window.tokens),
        format!(
            "waits {} {}",
            runtime.waiting_on_approval, runtime.waiting_on_plan_confirmation
        ),
        format!("grants {}", state.grants.len()),
        format!("tools {}", state.tools.len()),
        format!(
            "edge {:?}",
            state.edge.map(|edge| (edge.status, edge.updated_at.0))
        ),
    ];
    facts.extend(state.queue.iter().map(|entry| format!("queued {}", entry.id)));
    let Some(live) = &state.live else { return facts };
    let turn = &live.turn;
    facts.extend([
        format!(
            "turn {} {} from {}",
            turn.id,
            turn.status.as_str(),
            turn.started_at.0
        ),
        format!(
            "channel {:?} approvals={}",
            turn.origin_channel, live.features.approvals
        ),
        format!("usage {} cost {}", turn.usage.total(), live.turn.cost_micros),
        format!("stopped {:?}", live.cancelling),
        format!("compacting {}", live.compacting),
        format!("diff {:?}", live.diff.as_ref().map(|diff| &diff.diff)),
        format!(
            "history {:?}",
            live.history.as_ref().map(|messages| messages.len())
        ),
        format!("started {:?}", live.started_calls),
        format!("previews {:?}", live.previews.keys()),
    ]);
    facts.extend(
        turn.items
            .iter()
            .map(|item| format!("{} {:?}", item.id, item.status)),
    );
    facts.extend(live.approvals.iter().map(|open| format!("asks {}", open.id)));
    let decided = live.decided.iter();
    facts.extend(decided.map(|(call, (_, decision))| format!("decided {call} {decision}")));
    facts.extend(
        live.arguments
            .iter()
            .map(|(item, text)| format!("arguments {item} {text}")),
    );
    facts
}

/// Applies an event and compares the changed facts: `-` marks a removed fact, `+` a new one.
fn changes(mut state: ThreadState, event: &Event, expected: &[&str]) {
    let before = facts(&state);
    let ended = state.apply(event, LATER);
    let after = facts(&state);
    let gone = before.iter().filter(|fact| !after.contains(fact));
    let new = after.iter().filter(|fact| !before.contains(fact));
    let changed = gone
        .map(|fact| format!("-{fact}"))
        .chain(new.map(|fact| format!("+{fact}")));
    assert_eq!(changed.collect::<Vec<_>>(), expected, "{event:?}");
    assert_eq!(ended, None, "{event:?}");
}

/// Rows of `state, kind, members of the payload => [changed facts];`. `@` in a payload is Turn 1.
macro_rules! table {
    ($($state:expr, $kind:expr, $members:expr => [$($line:expr),* $(,)?];)*) => {
        $(changes($state, &stored($kind, $members), &[$($line),*]);)*
    };
}

fn stored(kind: &str, members: &str) -> Event {
    let members = members.replace('@', r#""turn":"turn_001""#);
    let members = members.replace(
        '#',
        r#""status":"completed","createdAt":2000,"completedAt":2000,"body":{"agentMessage":{"text":""}}"#,
    );
    let event: Event = serde_json::from_str(&format!(r#"{{"{kind}":{{{members}}}}}"#)).expect(&members);
    assert_eq!(event.kind(), kind);
    event
}

fn planning() -> ThreadState {
    let mut state = thread();
    play(&mut state, &thread().decide_mode(Mode::Plan));
    state.plan_pending = true;
    state
}

#[test]
fn events_about_the_thread_change_what_the_table_says() {
    let mut turns = planning();
    (turns.turn_count, turns.last_turn, turns.context.tokens) = (3, TurnId(3), 9);
    table! {
        thread(), "threadRenamed", r#""displayName":"Tea""# => ["-title None", "+title Some(\"Tea\")"];
        thread(), "threadStatusChanged", r#""previous":"active","new":"paused""# => ["-status active", "+status paused"];
        thread(), "threadLabelled", r#""name":"a","value":"b""# => ["-labels {}", "+labels {\"a\": \"b\"}"];
        thread(), "toolsDeclared", r#""tools":[{"name":"a","description":"","inputSchema":{}}]"# => ["-tools 0", "+tools 1"];
        thread(), "planUpdated", r#""plan":{"title":"Tea"}"# => ["-plan None", "+plan Some(\"Tea\")"];
        queued(), "queueChanged", r#""queue":[]"# => ["-queued a", "-queued b"];
        subagent(EdgeStatus::Open), "edgeChanged", r#""status":"closed""# => [
            "-edge Some((Open, 1000))",
            "+edge Some((Closed, 2000))",
        ];
        // A plan waits for confirmation in plan mode only.
        planning(), "threadConfigured", r#""config":{"mode":"plan"}"# => [];
        planning(), "threadConfigured", r#""config":{"mode":"agent"}"# => [
            "-mode Some(Plan)", "-waits false true", "+mode Some(Agent)", "+waits false false",
        ];
        // Rolling back Turns removes their share of the window, and a plan that waits.
        turns, "turnsRolledBack", r#""first":"turn_002","count":2"# => [
            "-turns turn_003 3", "-window 9/180000", "-waits false true",
            "+turns turn_003 1", "+window 0/180000", "+waits false false",
        ];
        working(), "threadResumed", r#""by":"me""# => [];
        working(), "turnRecovered", r#"@,"reason":"""# => [];
        working(), "turnReverted", r#"@,"files":[]"# => [];
    }
    changes(working(), &Event::ThreadDeleted, &[]);
}

#[test]
fn events_about_the_open_turn_change_what_the_table_says() {
    // An Item replaces the one with its number; streamed argument text is not needed once the whole call is there.
    let mut calling = open(running("one"), call("Exec", None));
    calling.push_text(ItemId(2), DeltaChannel::ToolArguments, "{");
    table! {
        working(), "turnCancelling", r#"@,"reason":"enough""# => ["-stopped None", "+stopped Some(\"enough\")"];
        working(), "callStarted", r#"@,"callId":"c""# => ["-started {}", "+started {\"c\"}"];
        working(), "callPreviewed", r#"@,"callId":"c","preview":{"path":"/a","diff":"","additions":0,"deletions":0}"# => [
            "-previews []", "+previews [\"c\"]",
        ];
        working(), "diffUpdated", r#"@,"diff":{"diff":"d","files":[]}"# => ["-diff None", "+diff Some(\"d\")"];
        working(), "itemAdded", r#"@,"item":{"id":"item_007",#}"# => ["+item_007 Completed"];
        calling, "itemCompleted", r#"@,"item":{"id":"item_002",#}"# => [
            "-item_002 Started", "-arguments item_002 {", "+item_002 Completed",
        ];
        // The usage of a subagent counts here; its window is its own. Older events do not name the window.
        working(), "usageAdded", r#"@,"usage":{"inputTokens":4,"outputTokens":1},"contextTokens":9"# => [
            "-window 0/180000", "-usage 7 cost 0", "+window 9/180000", "+usage 12 cost 0",
        ];
        working(), "usageAdded", r#"@,"usage":{"inputTokens":4,"outputTokens":1},"contextTokens":9,
            "contextWindow":{"tokens":100,"compactAt":90},"costMicros":6"# => [
            "-window 0/180000", "-usage 7 cost 0", "+window 9/100", "+usage 12 cost 6",
        ];
        working(), "subAgentUsed", r#"@,"child":"t","usage":{"inputTokens":4,"outputTokens":1},"costMicros":6"# => [
            "-usage 7 cost 0", "+usage 12 cost 6",
        ];
        // A title is written after its Turn: another one may run by then.
        working(), "helperUsed", r#"@,"usage":{"inputTokens":4,"outputTokens":1},"costMicros":6"# => [];
        working(), "helperUsed", r#""turn":"turn_009","usage":{"inputTokens":4,"outputTokens":1},"costMicros":6"# => [];
    }
    let messages: Arc<[_]> = Arc::new([GivenMessage::User { text: "hi".into() }]);
    let (turn, count) = (TurnId(1), 1);
    let given = Event::HistoryGiven {
        turn,
        count,
        messages,
    };
    changes(working(), &given, &["-history None", "+history Some(1)"]);
}

#[test]
fn notes_about_the_window_change_what_the_table_says() {
    use ContextNote::{CompactFailed, CompactSkipped, Compacted, Compacting, Error, Warning};
    let ends = ["-compacting true", "+compacting false"];
    let all = ["-window 0/180000", ends[0], "+window 7/100", ends[1]];
    let table: [(ContextNote, &[&str], &[&str]); 6] = [
        (Compacted, &all, &[all[0], all[2]]),
        (CompactSkipped, &ends, &[]),
        (CompactFailed, &ends, &[]),
        (Compacting, &[], &["-compacting false", "+compacting true"]),
        (Warning, &[], &[]),
        (Error, &[], &[]),
    ];
    for (note, while_compacting, otherwise) in table {
        let note = serde_json::to_string(&note).unwrap();
        let window = r#""tokens":7,"window":{"tokens":100,"compactAt":90}"#;
        let event = stored(
            "contextNoted",
            &format!(r#"@,"note":{note},"message":"",{window}"#),
        );
        changes(working(), &event, while_compacting);
        changes(running("one"), &event, otherwise);
    }
}

#[test]
fn an_answer_is_remembered_as_the_table_says() {
    let event = |id: &str, decision: Decision| {
        let answer = format!(r#""approval":"{id}","decision":"{decision}","by":"timeout""#);
        stored(
            "approvalResolved",
            &format!(r#"@,{answer},"item":{{"id":"item_005",#}}"#),
        )
    };
    // An answer for ever is recorded by itself.
    for decision in [
        Decision::Accept,
        Decision::AcceptAlways,
        Decision::Decline,
        Decision::Cancel,
    ] {
        let decided = format!("+decided call_c {decision}");
        changes(
            asking(),
            &event("c", decision),
            &["-asks c", "+item_005 Completed", &decided],
        );
    }
    let decided = format!("+decided call_c {}", Decision::AcceptForSession);
    let lines = [
        "-grants 0",
        "-asks c",
        "+grants 1",
        "+item_005 Completed",
        &decided,
    ];
    changes(asking(), &event("c", Decision::AcceptForSession), &lines);
    changes(
        asking(),
        &event("x", Decision::AcceptAlways),
        &["+item_005 Completed"],
    );
    // After the last answer the Turn runs again.
    let mut last = asking();
    last.live.as_mut().unwrap().approvals.truncate(1);
    changes(
        last,
        &event("a", Decision::Decline),
        &[
            "-waits true false",
            "-turn turn_001 waitingApproval from 1000",
            "-asks a",
            "+waits false false",
            "+turn turn_001 running from 1000",
            "+item_005 Completed",
            "+decided call_a decline",
        ],
    );
}

#[test]
fn a_turn_starts_clean_and_takes_its_entry_from_the_queue() {
    let mut state = queued();
    state.plan_pending = true;
    let events = state.decide_start_queued(LATER).unwrap();
    state.apply(&events[0], LATER);
    assert_eq!(
        state
            .queue
            .iter()
            .map(|entry| entry.id.as_str())
            .collect::<Vec<_>>(),
        ["b"]
    );
    let clean = LiveTurn::new(TurnId(1), LATER, Some("cli".into()), request("").features);
    assert_eq!(state.live, Some(clean));
    assert_eq!(
        (state.turn_count, state.last_turn, state.plan_pending),
        (1, TurnId(1), false)
    );
    assert_eq!(state.header.last_active_at, LATER);
}

#[test]
fn the_end_of_a_turn_gives_the_turn_as_it_was() {
    let usage = TokenUsage::of(4, 1);
    for (outcome, error) in [
        (Outcome::Completed, None),
        (cancelled(), None),
        (failed(), Some("no")),
    ] {
        let mut state = guided();
        let items = state.live.as_ref().unwrap().turn.items.clone();
        let (turn, status, completed_at) = (TurnId(1), outcome.status(), UnixMillis(1_500));
        let event = Event::TurnEnded {
            turn,
            outcome,
            completed_at,
            usage,
            plan_pending: true,
        };
        let turn = state.apply(&event, LATER).unwrap();
        assert_eq!(
            (turn.id, turn.status, turn.items, turn.usage),
            (TurnId(1), status, items, usage)
        );
        assert_eq!(
            (turn.completed_at, turn.error.as_deref()),
            (Some(completed_at), error)
        );
        assert_eq!(
            (state.live, state.plan_pending, state.header.last_active_at),
            (None, true, LATER)
        );
    }
}

#[test]
fn streamed_text_stands_behind_what_was_there_while_its_item_is_open() {
    use DeltaChannel::{AgentMessage, CommandOutput, ToolArguments};
    let mut state = working();
    for (item, channel, offset) in [(2, AgentMessage, 3), (3, ToolArguments, 0), (4, CommandOutput, 3)] {
        assert_eq!(state.push_text(ItemId(item), channel, "éa"), Some(offset));
        assert_eq!(state.push_text(ItemId(item), channel, "b"), Some(offset + 3));
    }
    for (item, channel) in [
        (0, AgentMessage),
        (1, AgentMessage),
        (1, ToolArguments),
        (9, AgentMessage),
    ] {
        assert_eq!(state.push_text(ItemId(item), channel, "a"), None);
    }
    assert_eq!(thread().push_text(ItemId(1), AgentMessage, "a"), None);
    // Text read back from the store gives the same state.
    let mut restored = working();
    let live = restored.live.as_mut().unwrap();
    for item in [2, 3, 4] {
        live.restore_text(ItemId(item), "éab");
    }
    live.restore_text(ItemId(1), "a");
    assert_eq!(restored, state);
    // The same for an Item that had no text yet.
    let (mut restored, mut state) = (open(running("one"), prose()), open(running("one"), prose()));
    state.push_text(ItemId(2), AgentMessage, "a");
    restored.live.as_mut().unwrap().restore_text(ItemId(2), "a");
    assert_eq!(restored, state);
}
