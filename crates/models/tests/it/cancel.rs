//! Interrupting a Turn closes the connection to the provider.

use std::time::Instant;

use bobbin_model::{ItemBody, TurnStatus};
use bobbin_testkit::{ModelServer, Part, Reply, Script, TestWorkspace};

use crate::support::{Bench, WIRES};

#[tokio::test]
async fn an_interrupt_closes_the_connection_and_keeps_what_was_shown() {
    for wire in WIRES {
        let reply = Reply::of([Part::Text("Half of".into()), Part::Stall]);
        let server = ModelServer::start(Script::of([reply])).await.unwrap();
        let workspace = TestWorkspace::default();
        let bench = Bench::of(&workspace, wire, &server).await;
        bench.start("hello").await;
        server.until_asked(1).await;
        loop {
            let now = bench.snapshot().await;
            let items = &now.state.live.as_ref().unwrap().turn.items;
            if items
                .iter()
                .any(|item| matches!(&item.body, ItemBody::AgentMessage { text } if text == "Half of"))
            {
                break;
            }
            tokio::task::yield_now().await;
        }
        let began = Instant::now();
        bench.interrupt().await;
        server.until_abandoned(1).await;
        let turn = bench.end().await;
        assert!(began.elapsed().as_millis() < 1000, "{:?}", began.elapsed());
        assert_eq!(turn.status, TurnStatus::Cancelled, "{wire:?}");
        assert!(
            matches!(&turn.items.last().unwrap().body, ItemBody::AgentMessage { text } if text == "Half of")
        );
    }
}

#[tokio::test]
async fn an_interrupt_before_the_first_byte_closes_the_connection() {
    let reply = Reply::of([Part::Stall]);
    let server = ModelServer::start(Script::of([reply])).await.unwrap();
    let workspace = TestWorkspace::default();
    let bench = Bench::of(&workspace, WIRES[0], &server).await;
    bench.start("hello").await;
    server.until_asked(1).await;
    bench.interrupt().await;
    server.until_abandoned(1).await;
    assert_eq!(bench.end().await.status, TurnStatus::Cancelled);
}
