//! The context window of a conversation before its first request to a model.

use std::sync::Arc;

use bobbin_core::Command;
use bobbin_core::engine::{Engine, EngineFailure, TurnContext};
use bobbin_model::{ContextWindow, ThreadConfig};
use bobbin_testkit::TestWorkspace;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::support::{answer, new_thread, read};

/// Knows the windows of two models, and runs neither.
struct TwoSizes;

impl Engine for TwoSizes {
    fn run(&self, _turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        std::future::ready(Ok(())).boxed()
    }

    fn window(&self, model: Option<&str>) -> Option<ContextWindow> {
        let tokens = if model == Some("large") { 1_000_000 } else { 32_768 };
        Some(ContextWindow::of(tokens, None))
    }
}

/// 02 §2.7.
#[tokio::test]
async fn a_thread_begins_with_the_window_of_its_model_and_has_another_with_another_model() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(TwoSizes)).await;
    let thread = new_thread(&threads).await;
    let small = ContextWindow::of(32_768, None);
    assert_eq!(read(&thread).await.state.context.window, small);
    let config = ThreadConfig {
        model: Some("large".to_owned()),
        ..ThreadConfig::default()
    };
    answer(&thread, |reply| Command::Configure { config, reply })
        .await
        .unwrap();
    let large = ContextWindow::of(1_000_000, None);
    assert_eq!(read(&thread).await.state.context.window, large);
    threads.stop().await;
    // It is on record, whoever asks later.
    let threads = workspace.open(Arc::new(TwoSizes)).await;
    let again = threads.thread(thread.id()).await.unwrap();
    assert_eq!(read(&again).await.state.context.window, large);
    threads.stop().await;
}
