//! Threads that are longer than what a model is given of them: nothing is lost without a summary or a word.

use bobbin_agent::{AgentEngine, AgentSettings};
use bobbin_agent_api::model::Message;
use bobbin_model::{Compaction, ContextWindow, InputPart, ItemBody, ThreadConfig, Turn, TurnStatus};
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, figures, say, text};

/// A window of which not much is needed to fill it; 256 KiB of earlier Turns are read.
const SMALL: Option<ContextWindow> = Some(ContextWindow {
    tokens: 9_000,
    compact_at: 8_000,
});
/// A larger one: 400 KB are read.
const LARGE: Option<ContextWindow> = Some(ContextWindow {
    tokens: 100_000,
    compact_at: 90_000,
});
/// What stands in front of a conversation whose beginning is not there.
const GAP: &str = "An older part of the conversation is left out here";

fn compactions(turn: &Turn) -> Vec<&Compaction> {
    let found = turn.items.iter().filter_map(|item| match &item.body {
        ItemBody::Compaction(done) => Some(&**done),
        _ => None,
    });
    found.collect()
}

fn says_that_something_is_left_out(turn: &Turn) -> bool {
    let is_note = |item: &bobbin_model::Item| matches!(&item.body, ItemBody::Error { code, fatal: false, .. } if code == "history_left_out");
    turn.items.iter().any(is_note)
}

fn said(messages: &[Message]) -> String {
    let one = |message: &Message| match message {
        Message::User { parts } => parts.iter().map(InputPart::display).collect(),
        Message::Agent { text, .. } | Message::Result { text, .. } => text.clone(),
    };
    messages.iter().map(|message| one(message) + "\n").collect()
}

/// 120 KB of a word, and a call, in a window that is full then or not.
fn writes(id: &str, word: &str, context: u64) -> Script {
    let mut events = vec![text(&format!("{word} ").repeat(120_000 / (word.len() + 1)))];
    events.extend(call(id, "FindFiles", &json!({})));
    Script::Counted(events, figures(context, 10, context, None))
}

fn answer(said: &str, context: u64) -> Script {
    Script::Counted(vec![text(said)], figures(context, 10, context, None))
}

async fn without_compaction(workspace: &TestWorkspace, model: std::sync::Arc<Scripted>) -> Bench {
    let settings = AgentSettings {
        compaction: false,
        ..AgentSettings::default()
    };
    let engine = AgentEngine::new(model, built_in()).with_settings(settings);
    Bench::open_engine(workspace, engine, ThreadConfig::default()).await
}

#[tokio::test]
async fn a_turn_that_was_summed_up_twice_is_remembered_by_the_next() {
    let workspace = TestWorkspace::default();
    let model = Scripted::with_window(
        [
            writes("1", "oolong", 1_000),
            writes("2", "sencha", 95_000),
            answer("They drank oolong.", 500),
            writes("3", "matcha", 95_000),
            answer("They drank oolong and sencha.", 500),
            writes("4", "assam", 1_000),
            answer("Enough tea.", 2_000),
            answer("Four kinds.", 2_100),
        ],
        LARGE,
    );
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("Drink all the tea there is.").await;
    let turn = bench.last_turn().await;
    assert_eq!(
        (turn.status, compactions(&turn).len()),
        (TurnStatus::Completed, 2)
    );
    bench.run("How many kinds?").await;
    let turn = bench.last_turn().await;
    assert_eq!(turn.status, TurnStatus::Completed);
    assert!(compactions(&turn).is_empty() && !says_that_something_is_left_out(&turn));
    let asked = said(model.asked().last().unwrap());
    for there in [
        "They drank oolong and sencha.",
        "Drink all the tea there is.",
        "matcha",
        "assam",
        "Enough tea.",
        "How many kinds?",
    ] {
        assert!(asked.contains(there), "{there}");
    }
    assert!(!asked.contains("oolong oolong") && !asked.contains("sencha sencha") && !asked.contains(GAP));
    bench.threads.stop().await;
}

#[tokio::test]
async fn more_turns_than_a_model_is_given_are_summed_up() {
    const GIVEN: usize = 200;
    let workspace = TestWorkspace::default();
    let mut script: Vec<Script> = (0..=GIVEN).map(|turn| say(&format!("Answer {turn}."))).collect();
    script.extend([say("They counted."), say("On."), say("And on.")]);
    let model = Scripted::with_turns(script, SMALL, 200);
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    for turn in 0..=GIVEN {
        bench.run(&format!("Question {turn}?")).await;
    }
    // The last of them was given all those before it.
    let asked = said(model.asked().last().unwrap());
    assert!(asked.contains("Question 0?") && asked.contains("Answer 199."));
    bench.run("And now?").await;
    let turn = bench.last_turn().await;
    assert_eq!(compactions(&turn)[0].summary, "They counted.");
    assert!(!says_that_something_is_left_out(&turn));
    let asked = model.asked();
    let summed_up = said(&asked[GIVEN + 1]);
    assert!(
        summed_up.contains("Question 0?") && summed_up.contains("Answer 100."),
        "{summed_up}"
    );
    let given = said(&asked[GIVEN + 2]);
    assert!(
        given.contains("They counted.") && given.contains("Answer 200.") && !given.contains("Answer 100.")
    );
    // What is kept is not so much that the next Turn would have to sum up again.
    bench.run("And then?").await;
    let given = said(model.asked().last().unwrap());
    assert!(given.contains("They counted.") && given.contains("Answer 200.") && given.contains("On."));
    bench.threads.stop().await;
}

#[tokio::test]
async fn without_compaction_the_beginning_is_missed_with_a_word_and_an_old_summary_is_found() {
    let workspace = TestWorkspace::default();
    let long = "tea ".repeat(2_000);
    let script = [
        answer(&long, 8_100),
        answer("They talk about tea.", 500),
        answer("Green.", 800),
    ];
    let bench = Bench::open(&workspace, Scripted::with_window(script, SMALL), built_in()).await;
    bench.run("Tell me of tea.").await;
    bench.run("Which colour?").await;
    assert_eq!(compactions(&bench.last_turn().await).len(), 1);
    bench.threads.stop().await;

    // The settings were changed, and many Turns follow.
    let model = Scripted::with_window((0..11).map(|turn| answer(&format!("Answer {turn}."), 900)), SMALL);
    let settings = AgentSettings {
        compaction: false,
        ..AgentSettings::default()
    };
    let engine = AgentEngine::new(model.clone(), built_in()).with_settings(settings);
    let bench = bench.reopen_engine(&workspace, engine).await;
    for turn in 0..11 {
        bench.run(&format!("Question {turn}?")).await;
        // Once: as long as the model is given the Turn that told it.
        assert_eq!(
            says_that_something_is_left_out(&bench.last_turn().await),
            turn == 8
        );
    }
    let given = said(model.asked().last().unwrap());
    assert!(
        given.contains("They talk about tea.") && given.contains(GAP),
        "{given}"
    );
    assert!(given.contains("Answer 2.") && given.contains("Answer 9.") && !given.contains("Which colour?"));
    bench.threads.stop().await;
}

#[tokio::test]
async fn of_one_turn_that_is_too_long_the_end_is_given() {
    let workspace = TestWorkspace::default();
    let model = Scripted::with_window(
        [
            writes("1", "oolong", 1_000),
            writes("2", "sencha", 1_000),
            writes("3", "matcha", 1_000),
            answer("Enough tea.", 1_000),
            answer("Three kinds.", 1_000),
        ],
        SMALL,
    );
    let bench = without_compaction(&workspace, model.clone()).await;
    bench.run("Drink all the tea there is.").await;
    bench.run("How many kinds?").await;
    assert!(says_that_something_is_left_out(&bench.last_turn().await));
    let asked = model.asked();
    let given = said(asked.last().unwrap());
    assert!(
        given.contains(GAP) && given.contains("Drink all the tea there is.") && given.contains("Enough tea.")
    );
    assert!(given.contains("matcha") && given.contains("sencha") && !given.contains("oolong"));
    // No result stands without its call.
    assert!(matches!(&asked.last().unwrap()[1], Message::Agent { calls, .. } if calls.len() == 1));
    bench.threads.stop().await;
}

/// What is kept of a Thread between its Turns says the same as its record: Turns taken out are gone, however many, and all
/// that stand are there.
#[tokio::test]
async fn what_is_kept_between_turns_follows_what_is_taken_out() {
    let workspace = TestWorkspace::default();
    let model = Scripted::with_turns((0..60).map(|turn| say(&format!("Answer {turn}."))), SMALL, 200);
    let bench = Bench::open(&workspace, model.clone(), ToolSet::default()).await;
    let mut stand: Vec<usize> = Vec::new();
    let mut asked = 0;
    for (turns, taken_out) in [(1, 1), (3, 0), (20, 1), (1, 2), (2, 18), (1, 0), (20, 20), (3, 0)] {
        for _ in 0..turns {
            bench.run(&format!("Question {asked}?")).await;
            stand.push(asked);
            let expected: String = stand.iter().fold(String::new(), |all, turn| match turn {
                turn if *turn == asked => format!("{all}Question {turn}?\n"),
                turn => format!("{all}Question {turn}?\nAnswer {turn}.\n"),
            });
            assert_eq!(said(model.asked().last().unwrap()), expected);
            asked += 1;
        }
        if taken_out > 0 {
            bench.roll_back(taken_out).await;
            stand.truncate(stand.len() - taken_out as usize);
        }
    }
    bench.threads.stop().await;
}

/// Ten Turns that were never compacted, where a summary reads six.
#[tokio::test]
async fn what_a_summary_cannot_read_is_told_once() {
    let workspace = TestWorkspace::default();
    let settings = AgentSettings {
        compaction: false,
        ..AgentSettings::default()
    };
    let model = Scripted::with_turns((0..10).map(|turn| say(&format!("Answer {turn}."))), SMALL, 3);
    let engine = AgentEngine::new(model, ToolSet::default()).with_settings(settings);
    let bench = Bench::open_engine(&workspace, engine, ThreadConfig::default()).await;
    for turn in 0..10 {
        bench.run(&format!("Question {turn}?")).await;
    }
    bench.threads.stop().await;

    let script = [say("They counted to nine."), say("On."), say("And on.")];
    let model = Scripted::with_turns(script, SMALL, 3);
    let engine = AgentEngine::new(model.clone(), ToolSet::default());
    let bench = bench.reopen_engine(&workspace, engine).await;
    bench.run("And now?").await;
    let turn = bench.last_turn().await;
    assert_eq!(compactions(&turn).len(), 1);
    assert!(says_that_something_is_left_out(&turn));
    let summed_up = said(&model.asked()[0]);
    assert!(
        summed_up.contains("Answer 4.") && !summed_up.contains("Question 3?"),
        "{summed_up}"
    );
    bench.run("And then?").await;
    assert!(!says_that_something_is_left_out(&bench.last_turn().await));
    bench.threads.stop().await;
}
