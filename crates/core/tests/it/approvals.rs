//! The effect of answers, and the clients that are asked.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::Command;
use bobbin_core::engine::{Ask, Engine, EngineFailure, TurnContext};
use bobbin_model::state::StartTurn;
use bobbin_model::{ApprovalKind, Decision, Scope, TurnFeatures};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::support::{LogReader, answer, decide, new_thread, opened, prompt, read, start};

/// Asks twice for one call, about two paths.
struct AsksTwice;

impl Engine for AsksTwice {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        async move {
            for place in ["/srv/tea", "/srv/tea", "/etc"] {
                let ask = Ask {
                    call_id: "call_1".to_owned(),
                    scope: Scope::new(ApprovalKind::File, "write", place),
                    reason: "A file is written.".to_owned(),
                };
                turn.ask(ask).await?;
            }
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn an_answer_counts_for_what_was_asked_and_for_nothing_else_of_the_call() {
    let workspace = TestWorkspace::default();
    let threads = workspace.open(Arc::new(AsksTwice)).await;
    let thread = new_thread(&threads).await;
    let turn = start(&thread, "write").await;
    let mut reader = LogReader::at(&thread, turn.seq);
    for place in ["/srv/tea", "/etc"] {
        let asked = opened(&reader.until_event("approvalOpened").await);
        assert_eq!(asked.scope.target, place);
        decide(&thread, &asked, Decision::Accept).await;
    }
    reader.until_event("turnEnded").await;
    threads.stop().await;
}

/// A subagent's question reaches the clients that follow the root of its tree. Without such a client it is declined at once.
#[tokio::test]
async fn a_subagent_asks_where_somebody_follows_the_thread_at_the_top() {
    for somebody in [true, false] {
        let (workspace, engine) = (TestWorkspace::default(), ScriptEngine::default());
        let threads = workspace.open(Arc::new(engine.clone())).await;
        let thread = new_thread(&threads).await;
        if somebody {
            thread.add_approver();
        }
        let request = StartTurn {
            client_message_id: None,
            features: TurnFeatures::default(),
            ..prompt("spawn Kettle ask boil\njoin")
        };
        let turn = answer(&thread, |reply| Command::StartTurn { request, reply }).await;
        let mut reader = LogReader::at(&thread, turn.unwrap().seq);
        if somebody {
            let asking = async {
                loop {
                    if let Some(open) = threads.questions_of_descendants(thread.id()).await.pop() {
                        return open;
                    }
                    tokio::task::yield_now().await;
                }
            };
            let (child, asked) = tokio::time::timeout(Duration::from_secs(20), asking)
                .await
                .unwrap();
            decide(&child, &asked, Decision::Accept).await;
        }
        reader.until_event("turnEnded").await;
        let expected: &[&str] = if somebody { &["boil"] } else { &[] };
        assert_eq!(engine.effects(), expected);
        assert!(read(&thread).await.state.approvals().is_empty());
        threads.stop().await;
    }
}
