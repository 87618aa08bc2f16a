//! The effect of answers, and the clients that are asked.

use std::sync::Arc;
use std::time::Duration;

use bobbin_core::Command;
use bobbin_core::engine::{Ask, Engine, EngineFailure, TurnContext};
use bobbin_model::state::StartTurn;
use bobbin_model::{ApprovalKind, Decision, Event, Outcome, Scope, Seq, TurnFeatures};
use bobbin_testkit::{ScriptEngine, TestWorkspace};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::support::{LogReader, answer, decide, new_thread, opened, prompt, read, recorded, start};

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

/// Asks for one call about the place of the moment.
#[derive(Clone, Default)]
struct AsksWhere(Arc<Mutex<&'static str>>);

impl Engine for AsksWhere {
    fn run(&self, turn: TurnContext) -> BoxFuture<'static, Result<(), EngineFailure>> {
        let place = *self.0.lock();
        async move {
            let ask = Ask {
                call_id: "call_1".to_owned(),
                scope: Scope::new(ApprovalKind::Shell, "make", place),
                reason: "A command runs.".to_owned(),
            };
            assert!(turn.ask(ask).await?.approves());
            Ok(())
        }
        .boxed()
    }
}

#[tokio::test]
async fn a_question_about_another_place_takes_the_place_of_the_one_before_the_restart() {
    let (workspace, engine) = (TestWorkspace::default(), AsksWhere::default());
    *engine.0.lock() = "/one/tea";
    let threads = workspace.open(Arc::new(engine.clone())).await;
    let thread = new_thread(&threads).await;
    let turn = start(&thread, "make").await;
    let mut reader = LogReader::at(&thread, turn.seq);
    reader.until_event("approvalOpened").await;
    let (id, mut before) = (thread.id().clone(), threads);
    // There and back: an answer that nobody gave does not count either.
    for place in ["/other/tea", "/one/tea"] {
        before.stop().await;
        *engine.0.lock() = place;
        let threads = workspace.open(Arc::new(engine.clone())).await;
        let thread = threads.thread(&id).await.unwrap();
        let asks = async {
            loop {
                let state = read(&thread).await.state;
                let targets: Vec<_> = state.approvals().iter().map(|open| &*open.scope.target).collect();
                if targets == [place] {
                    break;
                }
                assert_eq!(targets.len(), 1, "one question at a time");
                tokio::task::yield_now().await;
            }
        };
        let asks = tokio::time::timeout(Duration::from_secs(20), asks).await;
        asks.expect("a question about the place");
        before = threads;
    }
    let thread = before.thread(&id).await.unwrap();
    let snapshot = read(&thread).await;
    let mut reader = LogReader::at(&thread, Seq(snapshot.at.0 + 1));
    decide(&thread, &snapshot.state.approvals()[0], Decision::Accept).await;
    let ended = reader.until_event("turnEnded").await;
    let ended = recorded(ended.last().unwrap()).unwrap().clone();
    assert!(
        matches!(
            &ended,
            Event::TurnEnded {
                outcome: Outcome::Completed,
                ..
            }
        ),
        "{ended:?}"
    );
    before.stop().await;
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
