//! Conversations that get too long for their model.

use bobbin_agent::{AgentEngine, AgentSettings};
use bobbin_agent_api::model::{Message, ModelEvent};
use bobbin_model::{
    Compaction, CompactionTrigger, ContextNote, ContextWindow, Event, InputPart, ItemBody, ThreadConfig,
    Turn, TurnStatus,
};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, figures, message, recorded, say, text, words};

/// A window of which not much is needed to fill it.
const SMALL: Option<ContextWindow> = Some(ContextWindow {
    tokens: 9_000,
    compact_at: 8_000,
});

/// The input of `/compact`.
fn compact() -> Vec<InputPart> {
    vec![InputPart::CommandRef {
        name: "compact".into(),
        args_text: None,
        raw_text: Some("/compact".into()),
        expanded: Some("Compact the conversation.".into()),
    }]
}

#[tokio::test]
async fn a_user_can_have_the_conversation_compacted_at_any_time() {
    let workspace = TestWorkspace::default();
    let model = Scripted::with_window(
        [
            answer("Tea is a drink of leaves.", 500),
            answer("Hot.", 500),
            answer("They talk about tea.", 300),
            answer("Green.", 400),
        ],
        SMALL,
    );
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    bench.run(&"Tell me of tea. ".repeat(40)).await;
    bench.run("How is it drunk?").await;
    bench.run_parts(compact()).await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed, "{:?}", turn.error);
    let done = compactions(&turn)[0];
    assert_eq!(
        (done.trigger, done.summary.as_str()),
        (CompactionTrigger::Manual, "They talk about tea.")
    );
    bench.run("Which colour?").await;
    let last = model.asked().pop().unwrap();
    let all = format!("{last:?}");
    assert!(
        all.contains("They talk about tea.") && all.contains("Which colour?"),
        "{all}"
    );
    assert!(!all.contains("ompact the"), "{all}");
}

#[tokio::test]
async fn an_empty_conversation_is_not_compacted_and_the_user_reads_so() {
    let workspace = TestWorkspace::default();
    let bench = Bench::open(&workspace, Scripted::with_window([], SMALL), ToolSet::default()).await;
    bench.run_parts(compact()).await;
    let turn = bench.last_turn().await;
    assert_eq!(
        turn.status,
        TurnStatus::Completed,
        "a request that needs no work is no failure"
    );
    let Some(ItemBody::Error { message, fatal, .. }) = turn.items.last().map(|item| &item.body) else {
        panic!("{:?}", turn.items);
    };
    assert!(message.contains("nothing in the conversation") && !fatal);
}

fn answer(said: &str, context: u64) -> Script {
    Script::Counted(vec![text(said)], figures(context, 10, context, None))
}

fn compactions(turn: &Turn) -> Vec<&Compaction> {
    let found = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Compaction(done) => Some(&**done),
        _ => None,
    });
    found.collect()
}

fn user_text(message: &Message) -> String {
    match message {
        Message::User { parts } => parts.iter().map(InputPart::display).collect(),
        other => panic!("{other:?}"),
    }
}

fn notes(frames: &[std::sync::Arc<bobbin_core::Frame>]) -> Vec<ContextNote> {
    let notes = frames.iter().filter_map(|frame| match recorded(frame) {
        Some(Event::ContextNoted { note, .. }) => Some(*note),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn a_full_window_is_emptied_before_the_next_request_and_the_record_keeps_everything() {
    let workspace = TestWorkspace::default();
    let long = "tea ".repeat(2_000);
    let model = Scripted::with_window(
        [
            answer(&long, 2_500),
            answer("It is green.", 8_100),
            // The summary, then the answer.
            Script::Counted(
                vec![text("They talk about tea.")],
                figures(4_000, 20, 4_020, None),
            ),
            answer("Yes.", 900),
            answer("Still yes.", 950),
        ],
        SMALL,
    );
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    bench.run("Tell me of tea.").await;
    let frames = bench.run("Which colour?").await;
    assert_eq!(notes(&frames), [ContextNote::Error]);
    let frames = bench.run("Is that so?").await;
    assert_eq!(notes(&frames), [ContextNote::Compacting, ContextNote::Compacted]);
    let shown = words(&frames);
    assert!(shown.contains(&"=compaction".to_owned()), "{shown:?}");
    let turn = bench.last_turn().await;
    let done = compactions(&turn)[0];
    assert_eq!(
        (done.trigger, done.summary.as_str()),
        (CompactionTrigger::Auto, "They talk about tea.")
    );
    assert!(
        done.tokens_before >= 8_100 && done.tokens_after < 3_500,
        "{done:?}"
    );
    // The call that made the summary is billed with its Turn.
    assert_eq!(turn.usage.input_tokens, 4_900);

    let asked = model.asked();
    let summarized = user_text(&asked[2][0]);
    assert!(summarized.contains("[user]\nTell me of tea.") && summarized.contains("tea tea tea"));
    let first = user_text(&asked[3][0]);
    assert!(
        first.contains("<summary>\nThey talk about tea.\n</summary>"),
        "{first}"
    );
    let all = format!("{:?}", asked[3]);
    assert!(
        !all.contains("tea tea tea") && all.contains("Is that so?"),
        "{all}"
    );
    // It stays so in the next Turn, and clients are shown all of it.
    bench.run("Sure?").await;
    let all = format!("{:?}", model.asked()[4]);
    assert!(!all.contains("tea tea tea") && all.contains("They talk about tea.") && all.contains("Yes."));
    let snapshot = bench.snapshot().await;
    let turns = bench
        .threads
        .turns_of(&snapshot, None, usize::MAX, usize::MAX)
        .await
        .unwrap()
        .0;
    assert_eq!(turns.len(), 4);
    assert!(message(&turns[0]) == long);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_conversation_refused_as_too_long_is_summed_up_once_and_then_the_error_is_told() {
    for (second, status) in [
        (say("Green."), TurnStatus::Completed),
        (Script::TooLong, TurnStatus::Failed),
    ] {
        let workspace = TestWorkspace::default();
        let model = Scripted::with_window(
            [
                say(&"tea ".repeat(2_000)),
                Script::TooLong,
                say("About tea."),
                second,
            ],
            Some(ContextWindow::default()),
        );
        let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
        bench.run("Tell me of tea.").await;
        let frames = bench.run("Which colour?").await;
        assert_eq!(notes(&frames), [ContextNote::Compacting, ContextNote::Compacted]);
        let turn = bench.last_turn().await;
        assert_eq!(turn.status, status);
        assert_eq!(compactions(&turn)[0].trigger, CompactionTrigger::Reactive);
        if status == TurnStatus::Failed {
            assert_eq!(turn.error.as_deref(), Some("It is too long."));
        }
        assert_eq!(model.asked().len(), 4);
        bench.threads.stop().await;
    }
}

#[tokio::test]
async fn without_anything_to_leave_out_the_error_is_told_at_once() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([Script::TooLong]);
    let bench = Bench::open(&workspace, model, ToolSet::default()).await;
    let frames = bench.run("tea").await;
    assert_eq!(
        notes(&frames),
        [ContextNote::Compacting, ContextNote::CompactSkipped]
    );
    assert_eq!(bench.last_turn().await.error.as_deref(), Some("It is too long."));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_summary_that_fails_leaves_the_conversation_as_it_was() {
    let workspace = TestWorkspace::default();
    let long = "tea ".repeat(2_000);
    let model = Scripted::with_window(
        [answer(&long, 8_100), Script::Fail("No."), answer("Green.", 8_200)],
        SMALL,
    );
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    bench.run("Tell me of tea.").await;
    let frames = bench.run("Which colour?").await;
    assert_eq!(
        notes(&frames)[..2],
        [ContextNote::Compacting, ContextNote::CompactFailed]
    );
    let turn = bench.last_turn().await;
    assert_eq!((turn.status, message(&turn)), (TurnStatus::Completed, "Green."));
    assert_eq!(model.asked()[2].len(), 3);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_call_is_never_parted_from_its_result() {
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("a"), "leaf leaf\n".repeat(1_500)).unwrap();
    let read = |id: &str, context| {
        Script::Counted(
            call(id, "ReadFile", &json!({ "path": "a" })),
            figures(context, 10, context, None),
        )
    };
    let model = Scripted::with_window(
        [
            read("1", 500),
            read("2", 7_500),
            answer("They read a twice.", 1_000),
            answer("Done.", 5_000),
        ],
        SMALL,
    );
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("Read a, then again.").await;
    let turn = bench.last_turn().await;
    assert_eq!(
        (turn.status, compactions(&turn).len()),
        (TurnStatus::Completed, 1)
    );
    assert_eq!(compactions(&turn)[0].cleared_results, 1);
    let asked = model.asked();
    let last = asked.last().unwrap();
    assert_eq!(last.len(), 3, "{last:?}");
    // The request that the Turn began with is there word for word, the newest call with its result.
    assert!(user_text(&last[0]).ends_with("Read a, then again."));
    let Message::Agent { calls, .. } = &last[1] else {
        panic!("{last:?}")
    };
    let Message::Result { call_id, .. } = &last[2] else {
        panic!("{last:?}")
    };
    assert_eq!((calls.len(), &calls[0].id), (1, call_id));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_turn_taken_out_takes_its_summary_with_it() {
    let workspace = TestWorkspace::default();
    let long = "tea ".repeat(2_000);
    let model = Scripted::with_window(
        [
            answer(&long, 8_100),
            answer("About tea.", 500),
            answer("Green.", 800),
            answer("Black.", 3_000),
        ],
        SMALL,
    );
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    bench.run("Tell me of tea.").await;
    bench.run("Which colour?").await;
    assert_eq!(compactions(&bench.last_turn().await).len(), 1);
    bench.roll_back(1).await;
    bench.run("Which taste?").await;
    let asked = model.asked();
    let all = format!("{:?}", asked.last().unwrap());
    assert!(
        all.contains("tea tea tea") && !all.contains("About tea."),
        "{all}"
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_server_that_stops_while_it_sums_up_begins_again_and_says_so() {
    let workspace = TestWorkspace::default();
    let long = "tea ".repeat(2_000);
    let first = Scripted::with_window([answer(&long, 8_100), Script::Hang(vec![text("About")])], SMALL);
    let bench = Bench::open(&workspace, first.clone(), ToolSet::default()).await;
    bench.run("Tell me of tea.").await;
    bench.start("Which colour?").await;
    bench
        .until(|now| first.asked().len() == 2 && now.state.live.as_ref().unwrap().compacting)
        .await;

    let model = Scripted::with_window([answer("About tea.", 500), answer("Green.", 800)], SMALL);
    let second = bench.reopen(&workspace, model.clone(), ToolSet::default()).await;
    let mut log = second.log();
    let frames = log.end().await;
    assert_eq!(
        notes(&frames),
        [
            ContextNote::CompactFailed,
            ContextNote::Compacting,
            ContextNote::Compacted
        ]
    );
    let turn = second.last_turn().await;
    assert_eq!((message(&turn), compactions(&turn).len()), ("Green.", 1));
    assert_eq!(turn.usage.input_tokens, 1_300);
    second.threads.stop().await;
}

#[tokio::test]
async fn an_interrupt_ends_a_compaction_and_its_end_is_told() {
    let workspace = TestWorkspace::default();
    let long = "tea ".repeat(2_000);
    let model = Scripted::with_window([answer(&long, 8_100), Script::Hang(Vec::new())], SMALL);
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    bench.run("Tell me of tea.").await;
    let mut log = bench.start("Which colour?").await;
    bench.until(|_| model.asked().len() == 2).await;
    bench.interrupt().await;
    let frames = log.end().await;
    assert_eq!(
        notes(&frames),
        [ContextNote::Compacting, ContextNote::CompactFailed]
    );
    bench.threads.stop().await;
}

#[tokio::test]
async fn compaction_can_be_switched_off() {
    let workspace = TestWorkspace::default();
    let model = Scripted::with_window([answer(&"tea ".repeat(2_000), 8_100), Script::TooLong], SMALL);
    let settings = AgentSettings {
        compaction: false,
        ..AgentSettings::default()
    };
    let engine = AgentEngine::new(model, ToolSet::default()).with_settings(settings);
    let bench = Bench::open_engine(&workspace, engine, ThreadConfig::default()).await;
    bench.run("Tell me of tea.").await;
    let frames = bench.run("Which colour?").await;
    assert_eq!(notes(&frames), []);
    assert_eq!(bench.last_turn().await.error.as_deref(), Some("It is too long."));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_note_in_front_of_a_refusal_does_not_keep_the_conversation_from_being_summed_up() {
    let workspace = TestWorkspace::default();
    let note = ModelEvent::Note {
        code: "tools_left_out",
        text: "Some tools are left out.".to_owned(),
    };
    let model = Scripted::with_window(
        [
            say(&"tea ".repeat(2_000)),
            Script::TooLongBehind(vec![note]),
            say("About tea."),
            say("Green."),
        ],
        Some(ContextWindow::default()),
    );
    let bench = Bench::open(&workspace, model, ToolSet::default()).await;
    bench.run("Tell me of tea.").await;
    bench.run("Which colour?").await;
    let turn = bench.last_turn().await;
    assert_eq!((turn.status, message(&turn)), (TurnStatus::Completed, "Green."));
    assert_eq!(compactions(&turn)[0].trigger, CompactionTrigger::Reactive);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_summary_that_was_cut_is_asked_for_again_and_says_so_if_it_is_cut_again() {
    let cut = |text: &'static str| Script::Cut(text);
    let long = "word ".repeat(10_000);
    for (summaries, told) in [
        (
            vec![cut("Half of"), answer("Tea, in short.", 500)],
            "Tea, in short.",
        ),
        (
            vec![cut("Half of"), cut("Half again")],
            "Half again\n\n[This summary was cut",
        ),
        (
            vec![cut("Half of"), Script::Fail("No.")],
            "Half of\n\n[This summary was cut",
        ),
        // Longer than what is kept of one.
        (
            vec![answer(&long, 500), answer("Tea, in short.", 500)],
            "Tea, in short.",
        ),
    ] {
        let workspace = TestWorkspace::default();
        let mut script = vec![answer(&"tea ".repeat(2_000), 8_100)];
        script.extend(summaries);
        script.push(answer("Green.", 800));
        let model = Scripted::with_window(script, SMALL);
        let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
        bench.run("Tell me of tea.").await;
        bench.run("Which colour?").await;
        let turn = bench.last_turn().await;
        assert_eq!((turn.status, message(&turn)), (TurnStatus::Completed, "Green."));
        let summary = &compactions(&turn)[0].summary;
        assert!(summary.starts_with(told), "{summary}");
        let asked = model.asked();
        assert!(user_text(&asked[2][0]).contains("at most 500 words") && asked.len() == 4);
        bench.threads.stop().await;
    }
}
