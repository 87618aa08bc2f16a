//! A file is replaced or changed only when the conversation has its present content.

use bobbin_agent_api::model::ModelEvent;
use bobbin_model::ContextWindow;
use bobbin_testkit::TestWorkspace;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, results, say};

fn write(id: &str, content: &str) -> Script {
    Script::Reply(call(
        id,
        "WriteFile",
        &json!({ "path": "notes", "content": content }),
    ))
}

fn edit(id: &str, old: &str, new: &str) -> Script {
    let arguments = json!({ "path": "./notes", "oldText": old, "newText": new });
    Script::Reply(call(id, "EditFile", &arguments))
}

fn read(id: &str) -> Vec<ModelEvent> {
    call(id, "ReadFile", &json!({ "path": "notes" }))
}

#[tokio::test]
async fn an_existing_file_is_read_before_it_is_changed() {
    let workspace = TestWorkspace::default();
    let path = workspace.path().join("notes");
    std::fs::write(&path, "tea\n").unwrap();
    let model = Scripted::new([
        write("1", "gone"),
        edit("2", "tea", "gone"),
        Script::Reply(read("3")),
        edit("4", "tea", "coffee"),
        write("5", "water\n"),
        say("done"),
    ]);
    let bench = Bench::open(&workspace, model, built_in()).await;
    bench.run("go").await;
    let turn = bench.last_turn().await;
    let results = results(&turn);
    for (text, success) in &results[..2] {
        assert!(
            !success && text.starts_with("you have not read notes in this conversation"),
            "{text}"
        );
    }
    assert!(results[2..].iter().all(|(_, success)| *success), "{results:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "water\n");
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_file_that_changed_since_is_read_again() {
    let workspace = TestWorkspace::default();
    let path = workspace.path().join("notes");
    std::fs::write(&path, "tea\n").unwrap();
    let model = Scripted::new([
        Script::Reply(read("1")),
        say("read"),
        write("2", "mine\n"),
        Script::Reply(read("3")),
        write("4", "mine\n"),
        say("done"),
    ]);
    let bench = Bench::open(&workspace, model, built_in()).await;
    bench.run("read").await;
    std::fs::write(&path, "the user's\n").unwrap();
    bench.run("write").await;
    let turn = bench.last_turn().await;
    let results = results(&turn);
    assert!(
        results[0]
            .0
            .starts_with("notes has changed since you last read it; nothing was done."),
        "{results:?}"
    );
    assert!(results[2].1, "{results:?}");
    bench.threads.stop().await;
}

#[tokio::test]
async fn what_was_read_is_known_after_a_compaction_and_a_restart() {
    let workspace = TestWorkspace::default();
    std::fs::write(workspace.path().join("notes"), "tea leaf\n".repeat(1_000)).unwrap();
    let window = Some(ContextWindow {
        tokens: 12_000,
        compact_at: 10_500,
    });
    let long = "tea ".repeat(9_000);
    let script = [
        Script::Reply(read("1")),
        say(&long),
        say("They read notes."),
        say("Yes."),
    ];
    let bench = Bench::open(&workspace, Scripted::with_window(script, window), built_in()).await;
    bench.run("read").await;
    bench.run("more").await;
    let model = Scripted::with_window([write("2", "water\n"), say("done")], window);
    let again = bench.reopen(&workspace, model.clone(), built_in()).await;
    again.run("write").await;
    let first = format!("{:?}", model.asked()[0]);
    assert!(
        first.contains("They read notes.") && !first.contains("tea leaf"),
        "{first}"
    );
    assert!(results(&again.last_turn().await)[0].1);
    again.threads.stop().await;
}
