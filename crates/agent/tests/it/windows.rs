//! Results of calls beside the model's window.

use bobbin_agent_api::model::{Message, ModelEvent};
use bobbin_model::{ContextWindow, TurnStatus};
use bobbin_testkit::TestWorkspace;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, say};

fn result_bytes(messages: &[Message]) -> Vec<usize> {
    let results = messages.iter().filter_map(|message| match message {
        Message::Result { text, .. } => Some(text.len()),
        _ => None,
    });
    results.collect()
}

fn read(id: &str) -> Vec<ModelEvent> {
    call(id, "ReadFile", &json!({ "path": "big.txt" }))
}

#[tokio::test]
async fn a_large_file_is_read_in_a_small_window_and_the_turn_goes_on() {
    let workspace = TestWorkspace::default();
    std::fs::write(
        workspace.path().join("big.txt"),
        "a line of the file\n".repeat(80_000),
    )
    .unwrap();
    let all: Vec<ModelEvent> = ["a", "b", "c", "d"].into_iter().flat_map(read).collect();
    let model = Scripted::with_window(
        [
            Script::Reply(read("1")),
            Script::Reply(all),
            say("Read."),
            say("Yes."),
        ],
        Some(ContextWindow::of(32_768, None)),
    );
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("Read it.").await;
    let turn = bench.last_turn().await;
    assert_eq!((turn.status, turn.error), (TurnStatus::Completed, None));
    bench.run("And?").await;
    assert_eq!(bench.last_turn().await.status, TurnStatus::Completed);
    let asked = model.asked();
    // One result has at most an eighth of the window, four together at most a quarter.
    let one = result_bytes(&asked[1]);
    assert!((14_000..=14_746).contains(&one[0]), "{one:?}");
    let four = &result_bytes(&asked[2])[1..];
    assert!(
        four.len() == 4 && four.iter().all(|bytes| (6_500..=7_373).contains(bytes)),
        "{four:?}"
    );
    let told = format!("{:?}", asked[1]);
    assert!(told.contains("[the file goes on at offset "), "{told}");
    // The next Turn begins with exactly what the model had.
    assert_eq!(asked[3][..asked[2].len()], asked[2][..]);
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_model_that_refuses_a_request_gets_its_results_cut() {
    let workspace = TestWorkspace::default();
    std::fs::write(
        workspace.path().join("big.txt"),
        "a line of the file\n".repeat(80_000),
    )
    .unwrap();
    let model = Scripted::with_window(
        [Script::Reply(read("1")), Script::TooLong, say("Read.")],
        Some(ContextWindow::of(32_768, None)),
    );
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("Read it.").await;
    assert_eq!(bench.last_turn().await.status, TurnStatus::Completed);
    let asked = model.asked();
    let (first, second) = (result_bytes(&asked[1])[0], result_bytes(&asked[2])[0]);
    assert!(second <= first / 2, "{first} {second}");
    assert!(format!("{:?}", asked[2]).contains("are left out here to fit your context window"));
    bench.threads.stop().await;
}
