//! What a model is told before the conversation.

use bobbin_model::ThreadConfig;
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;
use serde_json::json;

use crate::support::{Bench, Script, Scripted, built_in, call, say};

#[tokio::test]
async fn a_project_speaks_to_the_model_and_a_turn_keeps_what_it_began_with() {
    let workspace = TestWorkspace::default();
    let guide = workspace.path().join("AGENTS.md");
    std::fs::write(&guide, "Use the small kettle.").unwrap();
    let write = json!({ "path": "AGENTS.md", "content": "Use the large kettle." });
    let mut calls = call("0", "ReadFile", &json!({ "path": "AGENTS.md" }));
    calls.extend(call("1", "WriteFile", &write));
    let model = Scripted::new([Script::Reply(calls), say("done"), say("done")]);
    let bench = Bench::open(&workspace, model.clone(), built_in()).await;
    bench.run("go").await;
    bench.run("again").await;
    let told = model.told();
    assert!(told[0].contains("<instructions file=\"AGENTS.md\">\nUse the small kettle.\n</instructions>"));
    assert_eq!(told[0], told[1]);
    assert!(told[2].contains("Use the large kettle."));
    bench.threads.stop().await;
}

#[tokio::test]
async fn a_thread_brings_instructions_of_its_own() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([say("done")]);
    let config: ThreadConfig =
        serde_json::from_value(json!({ "agentInstructions": "Answer in rhymes.", "mode": "plan" })).unwrap();
    let bench = Bench::open_with(&workspace, model.clone(), ToolSet::default(), config).await;
    bench.run("go").await;
    let told = model.told().remove(0);
    let root = workspace.path().canonicalize().unwrap();
    for part in [
        "Answer in rhymes.",
        "Mode: plan.",
        &format!("Workspace: {}\n", root.display()),
    ] {
        assert!(told.contains(part), "{told}");
    }
    bench.threads.stop().await;
}
