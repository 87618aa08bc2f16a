//! Titles that a model writes after the first Turn of a Thread.

use std::sync::Arc;

use bobbin_agent::{AgentEngine, Titles};
use bobbin_agent_api::model::{ModelEvent, ModelUsage};
use bobbin_core::{Command, Snapshot};
use bobbin_model::TokenUsage;
use bobbin_testkit::TestWorkspace;
use bobbin_tools::ToolSet;

use crate::support::{Bench, Script, Scripted, answer, say};

async fn bench(workspace: &TestWorkspace, model: &Arc<Scripted>) -> (Bench, Arc<Titles>) {
    let titles = Titles::new(model.clone(), None);
    let engine = AgentEngine::new(model.clone(), ToolSet::default()).with_titles(Some(titles.clone()));
    (Bench::unnamed(workspace, engine).await, titles)
}

#[tokio::test]
async fn the_first_turn_gets_a_title_and_later_ones_do_not() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([say("Leaves."), say("\"Tea and leaves.\"\n"), say("Yes.")]);
    let (bench, titles) = bench(&workspace, &model).await;
    bench.run("What is tea made of?").await;
    let title = |now: &Snapshot| now.state.header.display_name.clone().unwrap_or_default();
    bench.until(|now| title(now) == "Tea and leaves").await;
    bench.run("Is it?").await;
    titles.close().await;
    assert_eq!(title(&bench.snapshot().await), "Tea and leaves");
    assert_eq!(model.asked().len(), 3);
}

#[tokio::test]
async fn a_title_counts_in_what_the_thread_has_used() {
    let workspace = TestWorkspace::default();
    let usage = |cost_micros| ModelUsage {
        tokens: TokenUsage::of(10, 2),
        context_tokens: 10,
        cost_micros: Some(cost_micros),
    };
    let said = |text: &str, cost| Script::Counted(vec![ModelEvent::Text(text.to_owned())], usage(cost));
    let model = Scripted::new([said("Leaves.", 300), said("Tea", 7)]);
    let (bench, titles) = bench(&workspace, &model).await;
    bench.run("What is tea made of?").await;
    bench
        .until(|now| now.state.header.display_name.as_deref() == Some("Tea"))
        .await;
    titles.close().await;
    let snapshot = bench.snapshot().await;
    let spent = bench.threads.spent(&snapshot).await.unwrap();
    assert_eq!((spent.tokens, spent.cost_micros), (24, 307));
}

#[tokio::test]
async fn a_users_own_name_wins() {
    let workspace = TestWorkspace::default();
    let model = Scripted::new([say("Leaves."), say("Something else")]);
    let (bench, titles) = bench(&workspace, &model).await;
    let mut log = bench.start("What is tea made of?").await;
    answer(&bench.thread, |reply| Command::Rename {
        display_name: "Mine".into(),
        reply,
    })
    .await;
    log.end().await;
    bench.until(|_| model.asked().len() == 2).await;
    titles.close().await;
    let header = bench.snapshot().await.state.header.clone();
    assert_eq!(header.display_name.as_deref(), Some("Mine"));
}
